//! The layer with the router's weights applied before the experts instead of after: each weight is sent with its row to the expert's
//! rank, and the results are summed without weights.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::{Tensors, by_slot, numbers};

/// The layer: dispatch of rows and weights, gate and up projections, SwiGLU of weighted rows, down projection, return, sum over
/// k.
#[megakernel]
pub mod moe_prescaled {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, send_weights, sum_over_k};

    /// Columns per token.
    pub const HIDDEN: usize = 128;
    /// Columns between the projections.
    pub const INTER: usize = 64;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 16;
    /// Experts per token.
    pub const TOP_K: usize = 4;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 384;

    /// Rows per tile of a projection. The build chooses tile sizes that a kernel leaves open.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the top-k sum.
    pub const BLOCK: usize = _;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn project<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// The gated activation of weighted rows. It scales rows of the products, which has the effect of scaling the rows of `x` before them.
    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        weights: &Tile<f32, TILE_M, 1>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let weights = weights.load();
        let gate = gate.load() * &weights;
        h.store(gate.silu() * (up.load() * &weights));
    }

    /// The layer for the whole group. This function defines what the kernel computes, and its calls are the dependency graph.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let weight = PerRank::symmetric::<f32, 1>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    send_weights(&weights[src].gather(&s), &mut weight[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu(
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &weight[r].group(e, m),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut out[r].group(e, m).cols(n));
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    sum_over_k::<SLOTS, COLUMNS, _>(&back[r].slots(t).cols(n), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}

/// The layer's tensors, divided among the ranks, with one router's weight per slot.
pub struct Prescaled {
    routed: Tensors<{ moe_prescaled::HIDDEN }, { moe_prescaled::INTER }, { moe_prescaled::TOP_K }>,
    weights: PerRank<Slots<f32, 1>>,
}

impl Example for Prescaled {
    const KERNEL: Kernel = kernel!(moe_prescaled);
    const VARIANT: Option<&'static str> = Some("prescaled");

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        let routed = Tensors::of(layer, group, &Self::KERNEL.sizes)?;
        let weights = by_slot(routed.ep, &routed.route, &routed.weights);
        Ok(Self { routed, weights })
    }

    fn reference(&self) -> Vec<f32> {
        let (routed, mut y) = (&self.routed, self.routed.output());
        moe_prescaled::forward(
            routed.ep,
            &routed.route,
            &routed.x,
            &self.weights,
            &routed.gate,
            &routed.up,
            &routed.down,
            &mut y,
        );
        numbers(&y)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        let (routed, mut y) = (&self.routed, self.routed.output());
        let report = moe_prescaled::forward::launch(
            group,
            &routed.route,
            &routed.x,
            &self.weights,
            &routed.gate,
            &routed.up,
            &routed.down,
            &mut y,
        )?;
        Ok((numbers(&y), report))
    }
}

fn main() -> ExitCode {
    example::main::<Prescaled>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Prescaled>();
    }
}
