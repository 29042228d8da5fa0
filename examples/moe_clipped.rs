//! The layer with a clipped SwiGLU: gate has an upper limit, and up is limited in both directions. DeepSeek's V4 models have this
//! activation, with a limit of 10.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::Tensors;

/// The layer: dispatch, gate and up projections, clipped SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod moe_clipped {
    use hpmoe_runtime::prelude::*;

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

    /// The limit on gate and up. It is so small that it changes a third of the bundled layers' numbers.
    pub const LIMIT: f32 = 0.5;

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

    /// Sends routed tokens to the rank that owns their expert.
    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn project<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// The gated activation: `silu(min(gate, LIMIT)) · clamp(up, -LIMIT, LIMIT)`.
    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load();
        h.store(gate.at_most(LIMIT).silu() * up.load().clamp(-LIMIT, LIMIT));
    }

    /// Puts results back to the slot of their (token, k).
    #[comm_put]
    pub fn give_back(results: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
        slots.put(results);
    }

    /// The sum over k with the router's weights, in the order of k.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, COLUMNS>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, COLUMNS>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    /// The layer for the whole group. This function defines what the kernel computes, and its calls are the dependency graph.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
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
                    combine(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}

/// The layer's tensors, divided among the ranks.
pub struct Clipped(Tensors<{ moe_clipped::HIDDEN }, { moe_clipped::INTER }, { moe_clipped::TOP_K }>);

impl Example for Clipped {
    const KERNEL: Kernel = kernel!(moe_clipped);
    const VARIANT: Option<&'static str> = Some("clipped");

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        Tensors::of(layer, group, &Self::KERNEL.sizes).map(Self)
    }

    fn reference(&self) -> Vec<f32> {
        self.0.reference(moe_clipped::forward)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        self.0.launch(group, moe_clipped::forward::launch)
    }
}

fn main() -> ExitCode {
    example::main::<Clipped>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Clipped>();
    }
}
