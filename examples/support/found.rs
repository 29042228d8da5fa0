//! The results of a backward pass.

use super::compare::{Comparison, same_bits};
use super::compared::Compared;
use super::gradients::Gradients;
use super::team::Team;
use hpmoe_runtime::prelude::*;

/// The gradients of a routed layer, on every rank.
pub struct Found<const HIDDEN: usize, const INTER: usize> {
    pub dx: PerRank<Tensor<bf16, HIDDEN>>,
    pub dweights: PerRank<Slots<f32, 1>>,
    pub dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
    pub dup: PerRank<Experts<f32, INTER, HIDDEN>>,
    pub ddown: PerRank<Experts<f32, HIDDEN, INTER>>,
}

impl<const HIDDEN: usize, const INTER: usize> Found<HIDDEN, INTER> {
    /// Tensors of zeros for the gradients of a layer with these tokens.
    pub fn nothing(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>) -> Self {
        Self {
            dx: PerRank::from_fn(ep, |rank| Tensor::zeros(x[rank].row_count())),
            dweights: PerRank::slots(ep, route),
            dgate: PerRank::experts(ep, route),
            dup: PerRank::experts(ep, route),
            ddown: PerRank::experts(ep, route),
        }
    }

    /// Compares the gradients with the oracle's. All ranks must be in this process.
    pub fn compare(&self, expected: &Gradients) -> Compared {
        Self::compare_numbers(&self.numbers(), expected)
    }

    /// Compares the numbers of all ranks with the oracle's.
    pub fn compare_numbers(found: &[Vec<f32>; 4], expected: &Gradients) -> Compared {
        let names = ["grad_hidden_states", "grad_topk_weights", "grad_gate_up_proj", "grad_down_proj"];
        let wanted = [&expected.hidden_states, &expected.topk_weights, &expected.gate_up_proj, &expected.down_proj];
        names.into_iter().zip(found.iter().zip(wanted)).map(|(name, (a, b))| (name, Comparison::of(a, b))).collect()
    }

    /// The numbers of all ranks, gathered from all processes.
    pub fn gather(&self, team: &Team) -> Result<[Vec<f32>; 4], String> {
        let [a, b, c, d] = self.numbers().map(|numbers| team.gather(&numbers).map_err(|error| error.to_string()));
        Ok([a?, b?, c?, d?])
    }

    /// The numbers of the ranks in this process, in the layout of the oracle's file: gate and up of an expert are one matrix.
    pub fn numbers(&self) -> [Vec<f32>; 4] {
        let gate = self.dgate.iter().map(Experts::to_vec);
        let both = gate.zip(self.dup.iter().map(Experts::to_vec)).flat_map(|(gate, up)| {
            let experts = gate.chunks(INTER * HIDDEN).zip(up.chunks(INTER * HIDDEN));
            experts.flat_map(|(gate, up)| [gate, up].concat()).collect::<Vec<_>>()
        });
        [
            self.dx.iter().flat_map(Tensor::to_f32).collect(),
            self.dweights.iter().flat_map(Slots::to_vec).collect(),
            both.collect(),
            self.ddown.iter().flat_map(Experts::to_vec).collect(),
        ]
    }
}

/// Gradients are equal if their bits are.
impl<const HIDDEN: usize, const INTER: usize> PartialEq for Found<HIDDEN, INTER> {
    fn eq(&self, other: &Self) -> bool {
        has_bits_of(&self.numbers(), &other.numbers())
    }
}

/// Whether all numbers have the same bits.
pub fn has_bits_of(found: &[Vec<f32>; 4], expected: &[Vec<f32>; 4]) -> bool {
    found.iter().zip(expected).all(|(found, expected)| same_bits(found, expected))
}
