//! The tasks and calls of one program, stage by stage: tokens, what is sent, rows of experts, what comes back, and tokens again.

use crate::body::{Body, Size, body};
use crate::nest::{Call, Nest, Space};
use crate::tensor::{Element, Origin, Rows, Tensor, Weights, WeightsKind};
use crate::{once_in, one_of};
use fastrand::Rng;
use std::fmt::Write as _;

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
    /// What stands before the route that the kernel makes.
    pub(crate) early: Vec<Nest>,
    pub(crate) nests: Vec<Nest>,
    /// The numbers of those nests that stand in a taskflow of their own.
    pub(crate) part: Option<std::ops::Range<usize>>,
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
        }
        layer.give_back(rng);
        layer.use_all(rng);
        layer
    }

    /// Whether a tensor of received rows can be a parameter.
    fn rows_can_be_parameters(&self) -> bool {
        self.chunks.is_none() && !self.makes_route
    }

    fn tensor(&mut self, rows: Rows, element: Element, columns: usize, origin: Origin) -> usize {
        let name = format!("t{}", self.tensors.len());
        self.tensors.push(Tensor { name, rows, element, columns, origin, read: false });
        self.tensors.len() - 1
    }

    fn weights(&mut self, kind: WeightsKind, element: Element, rows: usize, columns: usize) -> String {
        let name = format!("w{}", self.weights.len());
        self.weights.push(Weights { name: name.clone(), element, rows, columns, kind });
        name
    }

    fn with_rows(&self, rows: Rows) -> Vec<usize> {
        (0..self.tensors.len()).filter(|&at| self.tensors[at].rows == rows).collect()
    }

    /// One of the tensors that have such rows, preferably one that nothing reads yet.
    fn pick(&mut self, rng: &mut Rng, rows: Rows, element: Option<Element>) -> Option<usize> {
        let fits = |&at: &usize| element.is_none_or(|element| self.tensors[at].element == element);
        let all: Vec<usize> = self.with_rows(rows).into_iter().filter(fits).collect();
        let unread: Vec<usize> = all.iter().copied().filter(|&at| !self.tensors[at].read).collect();
        let from = if !unread.is_empty() && !once_in(rng, 3) { unread } else { all };
        (!from.is_empty()).then(|| one_of(rng, &from)).inspect(|&at| self.tensors[at].read = true)
    }

    /// Adds a task; its function is called as the text of the call says.
    fn task(&mut self, kind: &str, parameters: &str, text: &str) -> String {
        let name = format!("task{}", self.tasks.matches("_task]").count() + self.tasks.matches("_put]").count());
        let _ = writeln!(self.tasks, "    #[{kind}]\n    pub fn {name}({parameters}) {{\n{text}    }}\n");
        name
    }

    fn call(&mut self, rng: &mut Rng, space: Space, text: String, ranges: Vec<(&'static str, usize)>) {
        let unrolled = ranges.len() == 1 && ranges[0].1 <= 3 && once_in(rng, 3);
        let call = Call { text, ranges, unrolled };
        let nests = if matches!(space, Space::EarlyBlocks(_)) { &mut self.early } else { &mut self.nests };
        match nests.last_mut() {
            Some(last) if last.space == space && !once_in(rng, 3) => last.calls.push(call),
            _ => nests.push(Nest { space, calls: vec![call] }),
        }
    }

    /// A vector task over blocks of tokens.
    fn of_tokens(&mut self, rng: &mut Rng) {
        let block = one_of(rng, &[1, 3, 4, 9]);
        let space = if self.makes_route { Space::EarlyBlocks(block) } else { Space::Blocks(block) };
        self.vector(rng, space, Rows::Tokens, block, None);
    }

    /// Tokens, or slots of the caller's, to the ranks of their experts.
    fn send(&mut self, rng: &mut Rng) {
        for _ in 0..rng.usize(1..=2) {
            let put = one_of(rng, &[2, 5, 8]);
            let of_slots = !self.makes_route && self.chunks.is_none() && once_in(rng, 5);
            let from = if of_slots {
                let (element, columns) = (Element::any(rng), columns(rng));
                let slots = self.tensor(Rows::Slots, element, columns, Origin::Given);
                self.tensors[slots].read = true;
                slots
            } else {
                self.pick(rng, Rows::Tokens, None).expect("there are tokens")
            };
            let (element, width) = (self.tensors[from].element, self.tensors[from].columns);
            let once = !of_slots && self.rows_can_be_parameters() && once_in(rng, 4);
            let by_peers = Origin::Made { by_peers: true };
            let to = self.tensor(if once { Rows::Once } else { Rows::Received }, element, width, by_peers);
            let task = self.put(element, put, width);
            let text = format!(
                "{task}(&{}[src].gather(&s), &mut {}[e.owner()].rows_of(&s));",
                self.tensors[from].name, self.tensors[to].name
            );
            let space = if once { Space::SendsOnce(put) } else { Space::Sends(put) };
            self.call(rng, space, text, Vec::new());
            if once {
                self.tensors[to].read = true;
                let rows = self.tensor(Rows::Received, element, width, Origin::Made { by_peers: false });
                let copy = one_of(rng, &[3, 4, 8]);
                let task = self.put(element, copy, width);
                let text = format!(
                    "{task}(&{}[r].gather(e, m), &mut {}[r].group(e, m));",
                    self.tensors[to].name, self.tensors[rows].name
                );
                self.call(rng, Space::RowTiles(copy), text, Vec::new());
            }
        }
    }

    fn put(&mut self, element: Element, rows: usize, columns: usize) -> String {
        let tile = format!("Tile<{}, {rows}, {columns}>", element.name());
        self.task("comm_put", &format!("from: &{tile}, to: &mut {tile}"), "        to.put(from);\n")
    }

    /// A task on rows of experts.
    fn of_rows(&mut self, rng: &mut Rng) {
        let height = one_of(rng, &[3, 4, 8, 16]);
        match rng.usize(..9) {
            0..3 => self.vector(rng, Space::RowTiles(height), Rows::Received, height, None),
            3 => {
                let put = one_of(rng, &[2, 5, 8]);
                self.vector(rng, Space::Sends(put), Rows::Received, put, None);
            }
            4..7 => self.product(rng, height),
            _ => self.gradient(rng),
        }
    }

    /// A vector task on tiles of `height` rows. With `sum`, it takes the slots of each token in addition: a tensor of slots, and of weights.
    fn vector(&mut self, rng: &mut Rng, space: Space, rows: Rows, height: usize, sum: Option<(usize, Option<usize>)>) {
        let base = match sum {
            Some((slots, _)) => slots,
            None => self.pick(rng, rows, None).expect("there are some"),
        };
        let width = self.tensors[base].columns;
        let whole = once_in(rng, 2);
        let tile = if whole { width } else { rng.usize(1..=width) };
        let columns = if whole { "" } else { ".cols(n)" };
        let (mut tiles, mut parameters, mut arguments) = (Vec::new(), String::new(), String::new());
        let mut given = |element: Element, rows: usize, columns: usize, argument: String| {
            let name = format!("a{}", arguments.matches('&').count());
            let _ = write!(parameters, "{name}: &Tile<{}, {rows}, {columns}>, ", element.name());
            let _ = write!(arguments, "&{argument}, ");
            name
        };
        let place = |tensor: &Tensor| match space {
            Space::Blocks(_) | Space::EarlyBlocks(_) if tensor.rows == Rows::Slots => {
                format!("{}[r].slots(t)", tensor.name)
            }
            Space::Blocks(_) | Space::EarlyBlocks(_) => format!("{}[r].rows(t)", tensor.name),
            Space::Sends(_) | Space::SendsOnce(_) => format!("{}[e.owner()].rows_of(&s)", tensor.name),
            Space::RowTiles(_) | Space::Experts => format!("{}[r].group(e, m)", tensor.name),
        };
        let first = &self.tensors[base];
        let at = format!("{}{columns}", place(first));
        tiles.push(match sum {
            None => (given(first.element, height, tile, at) + ".load()", Size::Full),
            Some((_, weights)) => {
                let slots = given(first.element, height * self.top_k, tile, at);
                let sum = match weights.map(|weights| &self.tensors[weights]) {
                    Some(weights) => {
                        let name = given(weights.element, height, self.top_k, place(weights));
                        format!("{slots}.load().weighted_sum(&{name}.load())")
                    }
                    None => format!("{slots}.load().fold_rows::<{height}>()"),
                };
                (sum, Size::Full)
            }
        });
        let mut read = Vec::new();
        for other in self.with_rows(rows) {
            let tensor = &self.tensors[other];
            // Before the route there are tokens alone, and a tile of one column is not cut.
            let fits = tensor.columns == width || tensor.columns == 1;
            if other != base && fits && read.len() < 2 && once_in(rng, 2) {
                let (size, columns, width) =
                    if tensor.columns == width { (Size::Full, columns, tile) } else { (Size::Column, "", 1) };
                let tile = given(tensor.element, height, width, format!("{}{columns}", place(tensor)));
                tiles.push((tile + ".load()", size));
                read.push(other);
            }
        }
        if once_in(rng, 4) && width > 1 {
            let of_tokens = matches!(space, Space::Blocks(_) | Space::EarlyBlocks(_));
            let element = Element::any(rng);
            let name = format!("w{}", self.weights.len());
            let at = if of_tokens { format!("{name}[r]") } else { format!("{name}[{}].expert(e)", owner(space)) };
            let at = if whole && of_tokens { format!("{at}.tile(0)") } else { format!("{at}{columns}") };
            tiles.push((given(element, 1, tile, at) + ".load()", Size::Row));
            self.weights(if of_tokens { WeightsKind::Matrix } else { WeightsKind::Experts }, element, 1, width);
        }
        read.into_iter().for_each(|tensor| self.tensors[tensor].read = true);
        let Body { mut text, result, columns: out } = body(rng, &tiles, width, whole);
        let second = once_in(rng, 6);
        let mut outputs = vec![(result, if whole { out } else { width }, if whole { out } else { tile })];
        if second {
            outputs.push(("&v0 * 0.5".to_owned(), width, tile));
        }
        for (number, (result, width, tile)) in outputs.into_iter().enumerate() {
            let element = Element::any(rng);
            let made = self.tensor(rows, element, width, Origin::Made { by_peers: false });
            let _ = writeln!(text, "        y{number}.store({result});");
            let _ = write!(parameters, "y{number}: &mut Tile<{}, {height}, {tile}>, ", element.name());
            let _ = write!(arguments, "&mut {}{columns}, ", place(&self.tensors[made]));
        }
        let task = self.task("aiv_task", parameters.trim_end_matches(", "), &text);
        let ranges = if whole { Vec::new() } else { vec![("n", width.div_ceil(tile))] };
        self.call(rng, space, format!("{task}({});", arguments.trim_end_matches(", ")), ranges);
    }

    /// A product of rows with weights, or the sum of two.
    fn product(&mut self, rng: &mut Rng, height: usize) {
        let Some(first) = self.pick(rng, Rows::Received, Some(Element::Bf16)) else { return };
        let (width, element) = (columns(rng), Element::any(rng));
        let any = rng.usize(1..=width);
        let tile = one_of(rng, &[width, 16.min(width), any]);
        let second = once_in(rng, 4).then(|| self.pick(rng, Rows::Received, Some(Element::Bf16))).flatten();
        let (mut parameters, mut arguments, mut sum) = (String::new(), String::new(), String::new());
        for (number, factor) in [Some(first), second].into_iter().flatten().enumerate() {
            let (name, depth) = (self.tensors[factor].name.clone(), self.tensors[factor].columns);
            let transposed = once_in(rng, 2);
            let _ = write!(parameters, "x{number}: &Tile<bf16, {height}, {depth}>, ");
            let _ = write!(arguments, "&{name}[r].group(e, m), ");
            let (rows, columns, at, size) = if transposed {
                (width, depth, "tile(n)", format!("{tile}, {depth}"))
            } else {
                (depth, width, "cols(n)", format!("{depth}, {tile}"))
            };
            let weights = self.weights(WeightsKind::Experts, Element::Bf16, rows, columns);
            let _ = write!(parameters, "w{number}: &Tile<bf16, {size}>, ");
            let _ = write!(arguments, "&{weights}[r].expert(e).{at}, ");
            let method = if transposed { "matmul_t" } else { "matmul" };
            sum = match number {
                0 => format!("x0.{method}(w0)"),
                _ => format!("{sum}.add_{method}(x1, w1)"),
            };
        }
        let made = self.tensor(Rows::Received, element, width, Origin::Made { by_peers: false });
        let _ = write!(parameters, "y: &mut Tile<{}, {height}, {tile}>", element.name());
        let _ = write!(arguments, "&mut {}[r].group(e, m).cols(n)", self.tensors[made].name);
        let task = self.task("aic_task", &parameters, &format!("        y.store({sum});\n"));
        self.call(rng, Space::RowTiles(height), format!("{task}({arguments});"), vec![("n", width.div_ceil(tile))]);
    }

    /// A product over all rows of an expert.
    fn gradient(&mut self, rng: &mut Rng) {
        let [Some(left), Some(right)] = [0, 1].map(|_| self.pick(rng, Rows::Received, Some(Element::Bf16))) else {
            return;
        };
        let adds = self.chunks.is_some() || once_in(rng, 2);
        let element = if adds { Element::F32 } else { Element::any(rng) };
        let [rows, columns] = [left, right].map(|factor| self.tensors[factor].columns);
        let [tall, wide] = [rows, columns].map(|size| one_of(rng, &[size, 16.min(size), 1 + size / 2]));
        let to = self.weights(WeightsKind::Gradient, element, rows, columns);
        let store = if adds { "accumulate" } else { "store" };
        let parameters = format!(
            "x: &Tile<bf16, RAGGED, {tall}>, g: &Tile<bf16, RAGGED, {wide}>, d: &mut Tile<{}, {tall}, {wide}>",
            element.name()
        );
        let task = self.task("aic_task", &parameters, &format!("        d.{store}(x.t_matmul(g));\n"));
        let [x, g] = [left, right].map(|factor| &self.tensors[factor].name);
        let text = format!(
            "{task}(&{x}[r].expert(e).cols(i), &{g}[r].expert(e).cols(n), &mut {to}[r].expert(e).tile(i).cols(n));"
        );
        let ranges = vec![("i", rows.div_ceil(tall)), ("n", columns.div_ceil(wide))];
        self.call(rng, Space::Experts, text, ranges);
    }

    /// Rows back to the slots of their tokens, and a sum over these.
    fn give_back(&mut self, rng: &mut Rng) {
        let rows = self.pick(rng, Rows::Received, None).expect("there are some");
        self.give_back_rows(rng, rows);
    }

    fn give_back_rows(&mut self, rng: &mut Rng, rows: usize) {
        let put = one_of(rng, &[2, 5, 8]);
        let (name, element, width) =
            (self.tensors[rows].name.clone(), self.tensors[rows].element, self.tensors[rows].columns);
        let task = self.put(element, put, width);
        let slots = self.tensor(Rows::Slots, element, width, Origin::Made { by_peers: true });
        let text =
            format!("{task}(&{name}[e.owner()].rows_of(&s), &mut {}[src].scatter(&s));", self.tensors[slots].name);
        self.call(rng, Space::Sends(put), text, Vec::new());
        self.tensors[slots].read = true;
        let weights = once_in(rng, 2).then(|| {
            let weights = self.tensor(Rows::Tokens, Element::F32, self.top_k, Origin::Given);
            self.tensors[weights].read = true;
            weights
        });
        let block = one_of(rng, &[1, 3, 4]);
        self.vector(rng, Space::Blocks(block), Rows::Tokens, block, Some((slots, weights)));
    }

    /// What nothing reads becomes an output, as it is or by way of its tokens. What is given and not read is left out.
    fn use_all(&mut self, rng: &mut Rng) {
        for at in 0..self.tensors.len() {
            let tensor = &self.tensors[at];
            if tensor.rows == Rows::Received && !tensor.read && !self.rows_can_be_parameters() {
                self.tensors[at].read = true;
                self.give_back_rows(rng, at);
            }
        }
        for tensor in &mut self.tensors {
            if let Origin::Made { by_peers } = tensor.origin
                && !tensor.read
            {
                tensor.origin = Origin::Returned { by_peers };
            }
        }
        self.tensors.retain(|tensor| tensor.read || tensor.origin != Origin::Given);
    }
}

fn owner(space: Space) -> &'static str {
    if matches!(space, Space::Sends(_) | Space::SendsOnce(_)) { "e.owner()" } else { "r" }
}

/// A number of columns: of whole fractals, of blocks, or of neither.
fn columns(rng: &mut Rng) -> usize {
    match rng.usize(..4) {
        0 => 16 * rng.usize(1..=4),
        1 => 8 * rng.usize(1..=9),
        _ => rng.usize(1..=72),
    }
}
