//! The forward Mixture-of-Experts layer as one megakernel, checked against an independent oracle.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::Tensors;

/// The layer: dispatch, gate and up projections, SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod moe_ffn {
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

    /// The gated activation: `silu(gate) · up`.
    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load();
        h.store(gate.silu() * up.load());
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
pub struct Ffn(Tensors<{ moe_ffn::HIDDEN }, { moe_ffn::INTER }, { moe_ffn::TOP_K }>);

impl Example for Ffn {
    const KERNEL: Kernel = kernel!(moe_ffn);
    const VARIANT: Option<&'static str> = None;

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        Tensors::of(layer, group, &Self::KERNEL.sizes).map(Self)
    }

    fn reference(&self) -> Vec<f32> {
        self.0.reference(moe_ffn::forward)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        self.0.launch(group, moe_ffn::forward::launch)
    }
}

fn main() -> ExitCode {
    example::main::<Ffn>()
}

#[cfg(test)]
mod tests {
    /// The name of the layer that has the kernel's sizes, and the maximum memory of a rank's process that runs it, in bytes.
    const OF_SIZES: (&str, u64) = match super::moe_ffn::EXPERTS {
        12 => ("qwen3_ragged", 50_000_000),
        _ => ("deepseek_skewed", 40_000_000),
    };
    const LAYER: &str = OF_SIZES.0;

    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Ffn>();
    }

    #[test]
    fn has_the_same_bits_on_processes() {
        let module = module_path!();
        support::check_processes::check_bits::<super::Ffn>(LAYER, module, "has_the_same_bits_on_processes");
    }

    #[test]
    #[ignore = "needs oshrun, and minutes"]
    fn has_the_same_bits_by_an_engine() {
        let module = module_path!();
        support::check_engine::check::<super::Ffn>(LAYER, module, "has_the_same_bits_by_an_engine");
    }

    #[test]
    fn takes_little_memory_on_processes() {
        let (module, test) = (module_path!(), "takes_little_memory_on_processes");
        support::check_processes::check_memory::<super::Ffn>(LAYER, OF_SIZES.1, module, test);
    }

    #[test]
    fn ends_everywhere_when_a_process_is_killed() {
        let module = module_path!();
        let test = "ends_everywhere_when_a_process_is_killed";
        support::check_processes::check_kill::<super::Ffn>(LAYER, module, test);
    }
}
