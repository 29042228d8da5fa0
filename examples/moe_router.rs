//! The layer with its router and a shared expert in one kernel. The kernel chooses the experts of each token, makes the route from their ids
//! on the device, and computes the shared expert meanwhile. The host knows the number of tokens, but not their experts. If an expert has a
//! low score, the expert is not chosen and its slot has the id -1, so a token can have fewer than `TOP_K` experts, or none.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::numbers;

/// The layer: router, shared expert, dispatch, gate and up projections, SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod moe_router {
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
    /// The sum of the weights of a token's chosen experts.
    pub const SCALE: f32 = 2.5;
    /// Minimum score of a chosen expert.
    pub const LEAST: f32 = 0.625;

    /// Rows per tile of a projection. The build chooses tile sizes that a kernel leaves open.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the router and of the top-k sum.
    pub const BLOCK: usize = _;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// A score of each expert for each token, in f32.
    #[aic_task]
    pub fn score(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, EXPERTS, HIDDEN>, z: &mut Tile<f32, TILE_M, EXPERTS>) {
        z.store(x.matmul_t(w));
    }

    /// Chooses the experts of each token by scores plus bias, and computes their weights from scores alone. Low scores get the id -1.
    #[aiv_task]
    pub fn choose(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let scores = z.load().sigmoid();
        let chosen = (&scores + bias.load()).top_k::<TOP_K>();
        let w = scores.pick(&chosen);
        let low = w.less(LEAST);
        let w = low.select(0.0, w);
        weights.store(&w / (w.row_sum() + 1e-20) * SCALE);
        ids.store(low.select(-1.0, chosen));
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
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        router: &PerRank<Matrix<bf16, EXPERTS, HIDDEN>>,
        bias: &PerRank<Matrix<f32, 1, EXPERTS>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        shared_gate: &PerRank<Matrix<bf16, SHARED, HIDDEN>>,
        shared_up: &PerRank<Matrix<bf16, SHARED, HIDDEN>>,
        shared_down: &PerRank<Matrix<bf16, HIDDEN, SHARED>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let z = PerRank::tokens::<f32, EXPERTS>(ep, x);
        let ids = PerRank::tokens::<i32, TOP_K>(ep, x);
        let weights = PerRank::tokens::<f32, TOP_K>(ep, x);
        let shared_g = PerRank::tokens::<bf16, SHARED>(ep, x);
        let shared_u = PerRank::tokens::<bf16, SHARED>(ep, x);
        let shared_h = PerRank::tokens::<bf16, SHARED>(ep, x);
        let shared_out = PerRank::tokens::<bf16, HIDDEN>(ep, x);

        for r in ep {
            for t in x.token_blocks::<TILE_M>(r) {
                score(&x[r].rows(t), &router[r].tile(0), &mut z[r].rows(t));
            }
            for t in x.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &bias[r].tile(0), &mut ids[r].rows(t), &mut weights[r].rows(t));
            }
        }
        for r in ep {
            for t in x.token_blocks::<TILE_M>(r) {
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

        let route = Route::of::<EXPERTS>(ep, &ids);
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
        let g = PerRank::ragged::<bf16, INTER>(ep, &route);
        let u = PerRank::ragged::<bf16, INTER>(ep, &route);
        let h = PerRank::ragged::<bf16, INTER>(ep, &route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, &route);

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

use moe_router::{EXPERTS, HIDDEN, INTER, SHARED};

/// The layer's tensors, divided among the ranks. Each rank has the router and the shared expert.
pub struct Routed {
    ep: Ranks,
    x: PerRank<Tensor<bf16, HIDDEN>>,
    router: PerRank<Matrix<bf16, EXPERTS, HIDDEN>>,
    bias: PerRank<Matrix<f32, 1, EXPERTS>>,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    up: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    shared_gate: PerRank<Matrix<bf16, SHARED, HIDDEN>>,
    shared_up: PerRank<Matrix<bf16, SHARED, HIDDEN>>,
    shared_down: PerRank<Matrix<bf16, HIDDEN, SHARED>>,
}

/// A made-up router, because the layer's file has none: number `n` of expert `e` is `((41·e + 23·n + 11·e·n) mod 61 - 30) / 256`.
fn router() -> Vec<f32> {
    let weight = |e: usize, n: usize| ((41 * e + 23 * n + 11 * e * n) % 61) as f32 - 30.0;
    (0..EXPERTS).flat_map(|e| (0..HIDDEN).map(move |n| weight(e, n) / 256.0)).collect()
}

/// The bias of the router's choice: `((7·e) mod 16 - 8) / 256` for expert `e`.
fn bias() -> Vec<f32> {
    (0..EXPERTS).map(|e| ((7 * e % 16) as f32 - 8.0) / 256.0).collect()
}

impl Example for Routed {
    const KERNEL: Kernel = kernel!(moe_router);
    const VARIANT: Option<&'static str> = Some("router");

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        let ep = group.ranks();
        Self::KERNEL.sizes.check(layer, ep)?;
        let shared = layer.shared.as_ref().ok_or("this layer has no shared expert")?;
        let (inter, built) = (shared.gate_proj.len() / HIDDEN, SHARED);
        if inter != built {
            return Err(format!(
                "the shared expert has {inter} columns between its projections, the kernel {built}\nhelp: build for it: \
                 HPMOE_SET=\"SHARED={inter}\" cargo run …"
            ));
        }
        let weights: Vec<bf16> = router().into_iter().map(bf16::from_f32).collect();
        Ok(Self {
            ep,
            x: layer.by_tokens(ep, &layer.hidden_states),
            router: PerRank::from_fn(ep, |_| Matrix::from_slice(&weights)),
            bias: PerRank::from_fn(ep, |_| Matrix::from_slice(&bias())),
            gate: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, 0),
            up: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, INTER),
            down: layer.by_experts(ep, &layer.down_proj, HIDDEN, 0),
            shared_gate: PerRank::from_fn(ep, |_| Matrix::from_slice(&shared.gate_proj)),
            shared_up: PerRank::from_fn(ep, |_| Matrix::from_slice(&shared.up_proj)),
            shared_down: PerRank::from_fn(ep, |_| Matrix::from_slice(&shared.down_proj)),
        })
    }

    fn reference(&self) -> Vec<f32> {
        let Self { ep, x, router, bias, gate, up, down, shared_gate, shared_up, shared_down } = self;
        let mut y = self.output();
        moe_router::forward(*ep, x, router, bias, gate, up, down, shared_gate, shared_up, shared_down, &mut y);
        numbers(&y)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        let Self { x, router, bias, gate, up, down, shared_gate, shared_up, shared_down, .. } = self;
        let mut y = self.output();
        let report = moe_router::forward::launch(
            group,
            x,
            router,
            bias,
            gate,
            up,
            down,
            shared_gate,
            shared_up,
            shared_down,
            &mut y,
        )?;
        Ok((numbers(&y), report))
    }
}

impl Routed {
    /// A tensor of zeros for the result.
    fn output(&self) -> PerRank<Tensor<bf16, HIDDEN>> {
        PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.x[rank].row_count()))
    }
}

fn main() -> ExitCode {
    example::main::<Routed>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<Routed>();
    }

    /// Every score is 0.5, which is less than `LEAST`. No slot has an expert, so the experts' weights, which are NaN, don't affect the sum.
    #[test]
    fn tokens_with_low_scores_go_to_no_expert() {
        let layer = Layer::find_bundled("deepseek_skewed", Routed::VARIANT).unwrap();
        for ranks in [1, 2, 4] {
            let group = Group::new(ranks);
            let mut routed = Routed::of(&layer, &group).unwrap();
            let chosen = routed.launch(&group).unwrap().0;
            routed.router = PerRank::from_fn(routed.ep, |_| Matrix::from_slice(&[bf16::ZERO; EXPERTS * HIDDEN]));
            let nothing = vec![bf16::from_f32(f32::NAN); EXPERTS / ranks * HIDDEN * INTER];
            routed.down = PerRank::from_fn(routed.ep, |_| Experts::from_slice(&nothing));
            let (found, _) = routed.launch(&group).unwrap();
            assert!(found.iter().all(|y| y.is_finite()) && found != chosen, "{ranks} ranks");
            assert!(found == routed.reference(), "other bits of the megakernel on {ranks} ranks");
        }
    }
}
