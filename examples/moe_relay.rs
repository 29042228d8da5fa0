//! The layer with each token sent only once to each rank that has experts of it, and copied there for each of these experts. It has
//! the bits of the plain layer, and sends fewer bytes over the links.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::Tensors;

/// The layer: dispatch, copies, gate and up projections, SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod moe_relay {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{combine, dispatch, dispatch as copy, give_back, project, swiglu};

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
    /// Maximum number of rows per copy.
    pub const TILE_COPY: usize = _;
    /// Tokens per tile of the top-k sum.
    pub const BLOCK: usize = _;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

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
        let once = PerRank::once::<bf16, HIDDEN>(ep, route);
        let recv = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends_once::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut once[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_COPY>(e) {
                    copy(&once[r].gather(e, m), &mut recv[r].group(e, m));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &gate[r].expert(e).tile(n),
                            &mut g[r].group(e, m).cols(n),
                        );
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &up[r].expert(e).tile(n),
                            &mut u[r].group(e, m).cols(n),
                        );
                        swiglu::<TILE_N, _>(
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &h[r].group(e, m),
                            &down[r].expert(e).tile(n),
                            &mut out[r].group(e, m).cols(n),
                        );
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
                    combine::<SLOTS, COLUMNS, _, _>(
                        &back[r].slots(t).cols(n),
                        &weights[r].rows(t),
                        &mut y[r].rows(t).cols(n),
                    );
                }
            }
        }
    }
}

/// The layer's tensors, divided among the ranks.
pub struct Relay(Tensors<{ moe_relay::HIDDEN }, { moe_relay::INTER }, { moe_relay::TOP_K }>);

impl Example for Relay {
    const KERNEL: Kernel = kernel!(moe_relay);
    const VARIANT: Option<&'static str> = None;

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        Tensors::of(layer, group, &Self::KERNEL.sizes).map(Self)
    }

    fn reference(&self) -> Vec<f32> {
        self.0.reference(moe_relay::forward)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        self.0.launch(group, moe_relay::forward::launch)
    }
}

fn main() -> ExitCode {
    example::main::<Relay>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Relay>();
    }
}
