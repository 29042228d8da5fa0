//! The parts of one program, and the order of its stages: tokens, sent rows, rows of experts, returned rows, and tokens again.

use crate::draw::{once_in, one_of};
use crate::nest::{Call, Nest, Space};
use crate::tensor::{Element, Origin, Rows, Tensor, Weights, WeightsKind};
use fastrand::Rng;
use std::fmt::Write as _;

/// The const parameters of the separate taskflow, which are a number of iterations and widths of tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Generics {
    /// It has no const parameters.
    None,
    /// Its call states the values of all const parameters.
    Written,
    /// The widths are inferred from the tensors that its call passes.
    Left,
}

/// The parts of a program.
pub(crate) struct Layer {
    pub(crate) experts: usize,
    pub(crate) top_k: usize,
    pub(crate) tokens: usize,
    pub(crate) chunks: Option<usize>,
    /// Whether the kernel makes its route.
    pub(crate) makes_route: bool,
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) weights: Vec<Weights>,
    /// The text of all tasks.
    pub(crate) tasks: String,
    /// The statements before the route that the kernel makes.
    pub(crate) early: Vec<Nest>,
    pub(crate) nests: Vec<Nest>,
    /// The range of nests that are in a separate taskflow.
    pub(crate) part: Option<std::ops::Range<usize>>,
    /// The const parameters of that taskflow.
    pub(crate) generics: Generics,
}

impl Layer {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let experts = one_of(rng, &[2, 4, 6, 8, 12]);
        let chunks = once_in(rng, 4).then(|| rng.usize(2..=4));
        let mut layer = Self {
            experts,
            top_k: rng.usize(1..=experts.min(4)),
            tokens: rng.usize(1..=40),
            chunks,
            makes_route: chunks.is_none() && once_in(rng, 4),
            tensors: Vec::new(),
            weights: Vec::new(),
            tasks: String::new(),
            early: Vec::new(),
            nests: Vec::new(),
            part: None,
            generics: Generics::None,
        };
        for _ in 0..rng.usize(1..=2) {
            let (element, columns) = (Element::any(rng), columns(rng));
            layer.tensor(Rows::Tokens, element, columns, Origin::Given);
        }
        for _ in 0..rng.usize(..3) {
            layer.of_tokens(rng);
        }
        layer.send(rng);
        let from = layer.nests.len();
        for _ in 0..rng.usize(1..=5) {
            layer.of_rows(rng);
        }
        if once_in(rng, 4) && layer.nests.len() > from {
            layer.part = Some(from..rng.usize(from + 1..=layer.nests.len()));
            layer.generics = one_of(rng, &[Generics::None, Generics::Written, Generics::Left]);
        }
        layer.give_back(rng);
        layer.use_all(rng);
        layer
    }

    /// Whether a tensor of received rows can be a parameter.
    pub(crate) fn rows_can_be_parameters(&self) -> bool {
        self.chunks.is_none() && !self.makes_route
    }

    pub(crate) fn tensor(&mut self, rows: Rows, element: Element, columns: usize, origin: Origin) -> usize {
        let name = format!("t{}", self.tensors.len());
        self.tensors.push(Tensor { name, rows, element, columns, origin, read: false });
        self.tensors.len() - 1
    }

    pub(crate) fn weights(&mut self, kind: WeightsKind, element: Element, rows: usize, columns: usize) -> String {
        let name = format!("w{}", self.weights.len());
        self.weights.push(Weights { name: name.clone(), element, rows, columns, kind });
        name
    }

    pub(crate) fn with_rows(&self, rows: Rows) -> Vec<usize> {
        (0..self.tensors.len()).filter(|&at| self.tensors[at].rows == rows).collect()
    }

    /// Returns a tensor that has the given kind of rows and one of the given types, preferably one that nothing reads yet.
    pub(crate) fn pick(&mut self, rng: &mut Rng, rows: Rows, among: Option<&[Element]>) -> Option<usize> {
        let fits = |&at: &usize| among.is_none_or(|among| among.contains(&self.tensors[at].element));
        let all: Vec<usize> = self.with_rows(rows).into_iter().filter(fits).collect();
        let unread: Vec<usize> = all.iter().copied().filter(|&at| !self.tensors[at].read).collect();
        let from = if !unread.is_empty() && !once_in(rng, 3) { unread } else { all };
        (!from.is_empty()).then(|| one_of(rng, &from)).inspect(|&at| self.tensors[at].read = true)
    }

    /// Adds a task with the given body, and returns the name of its function.
    pub(crate) fn task(&mut self, kind: &str, parameters: &str, text: &str) -> String {
        let name = format!("task{}", self.tasks.matches("_task]").count() + self.tasks.matches("_put]").count());
        let _ = writeln!(self.tasks, "    #[{kind}]\n    pub fn {name}({parameters}) {{\n{text}    }}\n");
        name
    }

    pub(crate) fn call(&mut self, rng: &mut Rng, space: Space, text: String, ranges: Vec<(&'static str, usize)>) {
        let unrolled = ranges.len() == 1 && ranges[0].1 <= 3 && once_in(rng, 3);
        let call = Call { text, ranges, unrolled };
        let nests = if matches!(space, Space::EarlyBlocks(_)) { &mut self.early } else { &mut self.nests };
        match nests.last_mut() {
            Some(last) if last.space == space && !once_in(rng, 3) => last.calls.push(call),
            _ => nests.push(Nest { space, calls: vec![call] }),
        }
    }

    /// Makes each unread tensor an output, directly or through its tokens, and removes unread arguments.
    fn use_all(&mut self, rng: &mut Rng) {
        for at in 0..self.tensors.len() {
            let tensor = &self.tensors[at];
            if tensor.rows == Rows::Received && !tensor.read && !self.rows_can_be_parameters() {
                self.tensors[at].read = true;
                self.give_back_rows(rng, at);
            }
        }
        for tensor in &mut self.tensors {
            match tensor.origin {
                Origin::Made { by_peers } if !tensor.read => tensor.origin = Origin::Returned { by_peers },
                _ => {}
            }
        }
        self.tensors.retain(|tensor| tensor.read || tensor.origin != Origin::Given);
    }
}

/// A number of columns: a multiple of a fractal's columns, a multiple of a block's, or any number.
pub(crate) fn columns(rng: &mut Rng) -> usize {
    match rng.usize(..4) {
        0 => 16 * rng.usize(1..=4),
        1 => 8 * rng.usize(1..=9),
        _ => rng.usize(1..=72),
    }
}
