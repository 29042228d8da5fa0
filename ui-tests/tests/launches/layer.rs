//! One set of arguments for the small layer.

use crate::ffn_file::ffn::{self, EXPERTS, HIDDEN, INTER, TOP_K};
use crate::random::{Case, Routing, experts, ids, numbers, weights};
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Argument, KernelTables};

/// Tokens, weights and where they go.
pub struct Layer {
    pub case: Case,
    pub route: Route,
    x: PerRank<Tensor<bf16, HIDDEN>>,
    weights: PerRank<Tensor<f32, TOP_K>>,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    up: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
}

pub type Output = PerRank<Tensor<bf16, HIDDEN>>;

impl Layer {
    /// That many tokens on each rank, anything else by the seed.
    pub fn new(tokens: &[usize], routing: Routing, seed: u64) -> Self {
        let case = Case { tokens: tokens.to_vec(), routing, seed, late: None };
        let weight = |which| experts(&case, EXPERTS, which);
        Self {
            route: Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap(),
            x: numbers(&case),
            weights: weights(&case),
            gate: weight(1),
            up: weight(2),
            down: experts(&case, EXPERTS, 3),
            case,
        }
    }

    /// Task after task.
    pub fn reference(&self) -> Output {
        let mut y = self.case.zeros();
        ffn::forward(self.case.ep(), &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y);
        y
    }

    /// As a megakernel.
    pub fn launch(&self, group: &Group) -> Result<(Output, Report), LaunchError> {
        self.launch_with(group, &ffn::forward::KERNEL)
    }

    /// As a megakernel with other tables.
    pub fn launch_with(&self, group: &Group, tables: &KernelTables) -> Result<(Output, Report), LaunchError> {
        let mut y = self.case.zeros();
        let arguments = [
            Argument::read("x", &self.x),
            Argument::read("weights", &self.weights),
            Argument::read("gate", &self.gate),
            Argument::read("up", &self.up),
            Argument::read("down", &self.down),
            Argument::write("y", &mut y),
        ];
        let report = group.launch(tables, &self.route, &arguments)?;
        Ok((y, report))
    }
}

/// The source line on which a call stands, which has that text.
pub fn line_of(call: &str) -> usize {
    let mut lines = include_str!("../../kernels/ffn.rs").lines();
    lines.position(|line| line.contains(call)).unwrap() + 1
}
