//! The layer with a shared expert, which every token goes to, in the same kernel. The shared expert's products need no token of
//! another rank, and fill the time until the first tokens arrive.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::{Tensors, numbers};

/// The layer: dispatch, the shared expert, gate and up projections, SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod moe_shared {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, swiglu};

    /// Columns per token.
    pub const HIDDEN: usize = 128;
    /// Columns between the projections.
    pub const INTER: usize = 64;
    /// Columns between the projections of the shared expert.
    pub const SHARED: usize = 64;
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

    /// The sum over k with the router's weights, in the order of k, plus the shared expert's result.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, COLUMNS>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        shared: &Tile<bf16, BLOCK, COLUMNS>,
        y: &mut Tile<bf16, BLOCK, COLUMNS>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()) + shared.load());
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
        shared_gate: &PerRank<Matrix<bf16, SHARED, HIDDEN>>,
        shared_up: &PerRank<Matrix<bf16, SHARED, HIDDEN>>,
        shared_down: &PerRank<Matrix<bf16, HIDDEN, SHARED>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let shared_g = PerRank::tokens::<bf16, SHARED>(ep, route);
        let shared_u = PerRank::tokens::<bf16, SHARED>(ep, route);
        let shared_h = PerRank::tokens::<bf16, SHARED>(ep, route);
        let shared_out = PerRank::tokens::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<TILE_M>(r) {
                for n in 0..SHARED.div_ceil(TILE_N) {
                    project(&x[r].rows(t), &shared_gate[r].tile(n), &mut shared_g[r].rows(t).cols(n));
                    project(&x[r].rows(t), &shared_up[r].tile(n), &mut shared_u[r].rows(t).cols(n));
                    swiglu::<TILE_N, _>(
                        &shared_g[r].rows(t).cols(n),
                        &shared_u[r].rows(t).cols(n),
                        &mut shared_h[r].rows(t).cols(n),
                    );
                }
                for n in 0..HIDDEN.div_ceil(TILE_N) {
                    project(&shared_h[r].rows(t), &shared_down[r].tile(n), &mut shared_out[r].rows(t).cols(n));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu::<TILE_N, _>(
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
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
                    combine(
                        &back[r].slots(t).cols(n),
                        &weights[r].rows(t),
                        &shared_out[r].rows(t).cols(n),
                        &mut y[r].rows(t).cols(n),
                    );
                }
            }
        }
    }
}

/// The layer, cut for the ranks; each has the shared expert.
pub struct Shared {
    routed: Tensors<{ moe_shared::HIDDEN }, { moe_shared::INTER }, { moe_shared::TOP_K }>,
    gate: PerRank<Matrix<bf16, { moe_shared::SHARED }, { moe_shared::HIDDEN }>>,
    up: PerRank<Matrix<bf16, { moe_shared::SHARED }, { moe_shared::HIDDEN }>>,
    down: PerRank<Matrix<bf16, { moe_shared::HIDDEN }, { moe_shared::SHARED }>>,
}

impl Example for Shared {
    const KERNEL: Kernel = kernel!(moe_shared);
    const VARIANT: Option<&'static str> = Some("shared");

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        let routed = Tensors::of(layer, group, &Self::KERNEL.sizes)?;
        let ep = routed.ep;
        let shared = layer.shared.as_ref().ok_or("this layer has no shared expert")?;
        let (inter, built) = (shared.gate_proj.len() / moe_shared::HIDDEN, moe_shared::SHARED);
        if inter != built {
            return Err(format!(
                "the shared expert has {inter} columns between its projections, the kernel {built}\nhelp: build for it: \
                 HPMOE_SET=\"SHARED={inter}\" cargo run …"
            ));
        }
        Ok(Self {
            routed,
            gate: PerRank::from_fn(ep, |_| Matrix::from_slice(&shared.gate_proj)),
            up: PerRank::from_fn(ep, |_| Matrix::from_slice(&shared.up_proj)),
            down: PerRank::from_fn(ep, |_| Matrix::from_slice(&shared.down_proj)),
        })
    }

    fn reference(&self) -> Vec<f32> {
        let Tensors { ep, route, x, weights, gate, up, down } = &self.routed;
        let mut y = self.routed.output();
        moe_shared::forward(*ep, route, x, weights, gate, up, down, &self.gate, &self.up, &self.down, &mut y);
        numbers(&y)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        let Tensors { route, x, weights, gate, up, down, .. } = &self.routed;
        let mut y = self.routed.output();
        let report = moe_shared::forward::launch(
            group, route, x, weights, gate, up, down, &self.gate, &self.up, &self.down, &mut y,
        )?;
        Ok((numbers(&y), report))
    }
}

fn main() -> ExitCode {
    example::main::<Shared>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Shared>();
    }
}
