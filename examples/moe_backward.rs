//! Forward and backward pass of a Mixture-of-Experts layer as megakernels, every gradient checked against an independent
//! oracle.

mod support;

use clap::Parser as _;
use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::compare::Comparison;
use support::gradients::{Gradients, Named};
use support::layer::Layer;
use support::options::Options;

/// The layer with what a training step needs: a forward pass that saves, and three backward passes that differ in what
/// was saved.
#[megakernel]
pub mod moe_train {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{
        combine, dispatch, give_back, give_back_parts, input_grad, project, project_back, router_grad, send_weights,
        sum_over_k, swiglu, swiglu_grad, swiglu_grad_of, weight_grad,
    };

    /// Columns of a token.
    pub const HIDDEN: usize = 128;
    /// Columns between the projections.
    pub const INTER: usize = 64;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 16;
    /// Experts of a token.
    pub const TOP_K: usize = 4;
    /// Most tokens that one rank may bring.
    pub const TOKENS: usize = 384;

    /// Rows of a tile of a projection. Small, as the bundled layers are: for a real one, 128 by 256.
    pub const TILE_M: usize = 16;
    /// Columns of a tile of a projection.
    pub const TILE_N: usize = 16;
    /// Rows of a tile of a weight gradient.
    pub const GRAD_M: usize = 32;
    /// Columns of a tile of a weight gradient.
    pub const GRAD_N: usize = 32;
    /// Most rows of one put.
    pub const PUT: usize = 8;
    /// Most rows of one put of single numbers: a fence costs more than they do.
    pub const PUT_NUMBERS: usize = TILE_M;
    /// Tokens of a tile of a sum over k.
    pub const BLOCK: usize = 4;
    /// Columns of a tile of a sum over k.
    pub const COLUMNS: usize = 64;
    /// (token, k) slots of a tile of a sum over k.
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Column tiles of the activation, each with a part of the gradient of the router's weights.
    pub const PARTS: usize = INTER.div_ceil(TILE_N);

    /// The forward pass; keeps the rows received, both projections and the activation.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        u: &mut PerRank<Received<bf16, INTER>>,
        h: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
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

    /// The backward pass with the rows received, the projections and the activation saved.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        h: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let weight = PerRank::symmetric::<f32, 1>(ep, route);
        let dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let du = PerRank::ragged::<bf16, INTER>(ep, route);
        let weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let parts_back = PerRank::slots::<f32, PARTS>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    send_weights(&weights[src].gather(&s), &mut weight[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project_back::<TILE_N, _, _>(
                            &dout[r].group(e, m),
                            &down[r].expert(e).cols(n),
                            &mut dh[r].group(e, m).cols(n),
                        );
                        swiglu_grad_of::<TILE_N, _>(
                            &dh[r].group(e, m).cols(n),
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &h[r].group(e, m).cols(n),
                            &weight[r].group(e, m),
                            &mut dg[r].group(e, m).cols(n),
                            &mut du[r].group(e, m).cols(n),
                            &mut weighted[r].group(e, m).cols(n),
                            &mut parts[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        input_grad::<TILE_N, _, _>(
                            &dg[r].group(e, m),
                            &gate[r].expert(e).cols(n),
                            &du[r].group(e, m),
                            &up[r].expert(e).cols(n),
                            &mut drows[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in 0..HIDDEN.div_ceil(GRAD_M) {
                    for n in 0..INTER.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dout[r].expert(e).cols(m),
                            &weighted[r].expert(e).cols(n),
                            &mut ddown[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
                for m in 0..INTER.div_ceil(GRAD_M) {
                    for n in 0..HIDDEN.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dg[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dgate[r].expert(e).tile(m).cols(n),
                        );
                        weight_grad::<GRAD_M, GRAD_N>(
                            &du[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dup[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    give_back_parts(&parts[e.owner()].rows_of(&s), &mut parts_back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                router_grad::<SLOTS, _>(&parts_back[r].slots(t), &mut dweights[r].slots(t));
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    sum_over_k::<SLOTS, COLUMNS, _>(&back[r].slots(t).cols(n), &mut dx[r].rows(t).cols(n));
                }
            }
        }
    }

    /// The backward pass with the rows received and the projections saved.
    #[taskflow]
    pub fn backward_recomputing(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let weight = PerRank::symmetric::<f32, 1>(ep, route);
        let dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let du = PerRank::ragged::<bf16, INTER>(ep, route);
        let weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let parts_back = PerRank::slots::<f32, PARTS>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    send_weights(&weights[src].gather(&s), &mut weight[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project_back::<TILE_N, _, _>(
                            &dout[r].group(e, m),
                            &down[r].expert(e).cols(n),
                            &mut dh[r].group(e, m).cols(n),
                        );
                        swiglu_grad::<TILE_N, _>(
                            &dh[r].group(e, m).cols(n),
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &weight[r].group(e, m),
                            &mut dg[r].group(e, m).cols(n),
                            &mut du[r].group(e, m).cols(n),
                            &mut weighted[r].group(e, m).cols(n),
                            &mut parts[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        input_grad::<TILE_N, _, _>(
                            &dg[r].group(e, m),
                            &gate[r].expert(e).cols(n),
                            &du[r].group(e, m),
                            &up[r].expert(e).cols(n),
                            &mut drows[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in 0..HIDDEN.div_ceil(GRAD_M) {
                    for n in 0..INTER.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dout[r].expert(e).cols(m),
                            &weighted[r].expert(e).cols(n),
                            &mut ddown[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
                for m in 0..INTER.div_ceil(GRAD_M) {
                    for n in 0..HIDDEN.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dg[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dgate[r].expert(e).tile(m).cols(n),
                        );
                        weight_grad::<GRAD_M, GRAD_N>(
                            &du[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dup[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    give_back_parts(&parts[e.owner()].rows_of(&s), &mut parts_back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                router_grad::<SLOTS, _>(&parts_back[r].slots(t), &mut dweights[r].slots(t));
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    sum_over_k::<SLOTS, COLUMNS, _>(&back[r].slots(t).cols(n), &mut dx[r].rows(t).cols(n));
                }
            }
        }
    }

    /// The backward pass with the projections alone saved: tokens are dispatched again.
    #[taskflow]
    pub fn backward_dispatching(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let weight = PerRank::symmetric::<f32, 1>(ep, route);
        let dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let du = PerRank::ragged::<bf16, INTER>(ep, route);
        let weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let parts_back = PerRank::slots::<f32, PARTS>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    send_weights(&weights[src].gather(&s), &mut weight[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project_back::<TILE_N, _, _>(
                            &dout[r].group(e, m),
                            &down[r].expert(e).cols(n),
                            &mut dh[r].group(e, m).cols(n),
                        );
                        swiglu_grad::<TILE_N, _>(
                            &dh[r].group(e, m).cols(n),
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &weight[r].group(e, m),
                            &mut dg[r].group(e, m).cols(n),
                            &mut du[r].group(e, m).cols(n),
                            &mut weighted[r].group(e, m).cols(n),
                            &mut parts[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        input_grad::<TILE_N, _, _>(
                            &dg[r].group(e, m),
                            &gate[r].expert(e).cols(n),
                            &du[r].group(e, m),
                            &up[r].expert(e).cols(n),
                            &mut drows[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in 0..HIDDEN.div_ceil(GRAD_M) {
                    for n in 0..INTER.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dout[r].expert(e).cols(m),
                            &weighted[r].expert(e).cols(n),
                            &mut ddown[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
                for m in 0..INTER.div_ceil(GRAD_M) {
                    for n in 0..HIDDEN.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dg[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dgate[r].expert(e).tile(m).cols(n),
                        );
                        weight_grad::<GRAD_M, GRAD_N>(
                            &du[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dup[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    give_back_parts(&parts[e.owner()].rows_of(&s), &mut parts_back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                router_grad::<SLOTS, _>(&parts_back[r].slots(t), &mut dweights[r].slots(t));
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    sum_over_k::<SLOTS, COLUMNS, _>(&back[r].slots(t).cols(n), &mut dx[r].rows(t).cols(n));
                }
            }
        }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs both passes and prints what came of them; whether they are right.
fn run(options: &Options) -> Result<bool, String> {
    let bytes = match &options.data {
        Some(path) => std::fs::read(path).map_err(|error| format!("can't read {}: {error}", path.display()))?,
        None => include_bytes!("data/deepseek_skewed.safetensors").to_vec(),
    };
    let (layer, gradients) = (Layer::parse(&bytes)?, Gradients::parse(&bytes)?);
    let step = Step::of(&layer, &gradients, Ranks::new(options.ranks))?;
    println!("{}\n", moe_train::forward::summary(options.ranks).unwrap_or_default());

    let group = Group::new(options.ranks).seed(options.seed);
    let reference_saved = step.forward();
    let (saved, report) = step.launch_forward(&group).map_err(|error| error.to_string())?;
    println!("{report}\n");
    let mut good = saved == reference_saved;
    let mut last = None;
    for choice in Choice::ALL {
        println!("{}\n", choice.summary(options.ranks));
        let expected = step.backward(&reference_saved, choice);
        let (found, report) = step.launch_backward(&group, &saved, choice).map_err(|error| error.to_string())?;
        let equal = found == expected;
        let compared = found.compare(&gradients);
        println!("{report}\n");
        print_gradients(&compared, equal);
        good &= equal && compared.iter().all(|(_, comparison)| comparison.is_good());
        last = Some((compared, equal, report));
    }
    if let (true, Some((compared, equal, report))) = (options.json, last) {
        println!("{}", json(&compared, equal && saved == reference_saved, &report));
    }
    Ok(good)
}

/// What was saved for the backward pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// Rows received, projections and activation.
    Activation,
    /// Rows received and projections: the activation is computed again.
    Projections,
    /// Projections: tokens are dispatched again, and the activation is computed again.
    Least,
}

impl Choice {
    const ALL: [Self; 3] = [Self::Least, Self::Projections, Self::Activation];

    fn summary(self, ranks: usize) -> &'static str {
        let text = match self {
            Self::Activation => moe_train::backward::summary(ranks),
            Self::Projections => moe_train::backward_recomputing::summary(ranks),
            Self::Least => moe_train::backward_dispatching::summary(ranks),
        };
        text.unwrap_or_default()
    }
}

/// What the forward pass leaves behind.
struct Saved {
    recv: PerRank<Received<bf16, { moe_train::HIDDEN }>>,
    g: PerRank<Received<bf16, { moe_train::INTER }>>,
    u: PerRank<Received<bf16, { moe_train::INTER }>>,
    h: PerRank<Received<bf16, { moe_train::INTER }>>,
    y: PerRank<Tensor<bf16, { moe_train::HIDDEN }>>,
}

impl PartialEq for Saved {
    fn eq(&self, other: &Self) -> bool {
        let rows = |it: &Self| -> Vec<Vec<bf16>> {
            let inter = [&it.g, &it.u, &it.h].into_iter().flat_map(PerRank::iter).map(Received::to_vec);
            inter.chain(it.recv.iter().map(Received::to_vec)).chain(it.y.iter().map(Tensor::to_vec)).collect()
        };
        rows(self) == rows(other)
    }
}

/// What the backward pass finds.
struct Found {
    dx: PerRank<Tensor<bf16, { moe_train::HIDDEN }>>,
    dweights: PerRank<Slots<f32, 1>>,
    dgate: PerRank<Experts<f32, { moe_train::INTER }, { moe_train::HIDDEN }>>,
    dup: PerRank<Experts<f32, { moe_train::INTER }, { moe_train::HIDDEN }>>,
    ddown: PerRank<Experts<f32, { moe_train::HIDDEN }, { moe_train::INTER }>>,
}

impl Found {
    fn all(&self) -> [Vec<f32>; 4] {
        let gate = self.dgate.iter().map(Experts::to_vec);
        let size = moe_train::INTER * moe_train::HIDDEN;
        let both = gate.zip(self.dup.iter().map(Experts::to_vec)).flat_map(|(gate, up)| {
            let experts = gate.chunks(size).zip(up.chunks(size));
            experts.flat_map(|(gate, up)| [gate, up].concat()).collect::<Vec<_>>()
        });
        [
            self.dx.iter().flat_map(Tensor::to_f32).collect(),
            self.dweights.iter().flat_map(Slots::to_vec).collect(),
            both.collect(),
            self.ddown.iter().flat_map(Experts::to_vec).collect(),
        ]
    }

    fn compare(&self, expected: &Gradients) -> Vec<Named> {
        let names = ["grad_hidden_states", "grad_topk_weights", "grad_gate_up_proj", "grad_down_proj"];
        let wanted = [&expected.hidden_states, &expected.topk_weights, &expected.gate_up_proj, &expected.down_proj];
        let found = self.all();
        names.into_iter().zip(found.iter().zip(wanted)).map(|(name, (a, b))| (name, Comparison::of(a, b))).collect()
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

/// The tensors of a training step, cut for the ranks.
struct Step {
    ep: Ranks,
    route: Route,
    x: PerRank<Tensor<bf16, { moe_train::HIDDEN }>>,
    dy: PerRank<Tensor<bf16, { moe_train::HIDDEN }>>,
    weights: PerRank<Tensor<f32, { moe_train::TOP_K }>>,
    slot_weights: PerRank<Slots<f32, 1>>,
    gate: PerRank<Experts<bf16, { moe_train::INTER }, { moe_train::HIDDEN }>>,
    up: PerRank<Experts<bf16, { moe_train::INTER }, { moe_train::HIDDEN }>>,
    down: PerRank<Experts<bf16, { moe_train::HIDDEN }, { moe_train::INTER }>>,
}

impl Step {
    fn of(layer: &Layer, gradients: &Gradients, ep: Ranks) -> Result<Self, String> {
        use moe_train::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};
        let fits = (layer.hidden, layer.inter, layer.experts, layer.top_k) == (HIDDEN, INTER, EXPERTS, TOP_K);
        if !fits || layer.tokens > TOKENS {
            return Err(format!(
                "this layer is of another size than the kernel (HIDDEN={HIDDEN},INTER={INTER},EXPERTS={EXPERTS},\
                 TOP_K={TOP_K},TOKENS={TOKENS})\nhelp: build for it: HPMOE_SET=\"{}\" cargo run --release --example \
                 moe_backward -- …",
                layer.settings()
            ));
        }
        if ep.count() == 0 || !EXPERTS.is_multiple_of(ep.count()) {
            return Err(format!(
                "{} ranks don't divide {EXPERTS} experts: choose --ranks among the divisors",
                ep.count()
            ));
        }
        let ids: PerRank<Tensor<i32, TOP_K>> = layer.by_tokens(ep, &layer.topk_ids);
        let route = Route::new(ep, EXPERTS, &ids).map_err(|error| error.to_string())?;
        let weights: PerRank<Tensor<f32, TOP_K>> = layer.by_tokens(ep, &layer.topk_weights);
        let mut slot_weights = PerRank::slots(ep, &route);
        for rank in ep {
            slot_weights[rank].copy_from(&weights[rank].to_vec());
        }
        Ok(Self {
            ep,
            route,
            x: layer.by_tokens(ep, &layer.hidden_states),
            dy: layer.by_tokens(ep, &gradients.output),
            weights,
            slot_weights,
            gate: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, 0),
            up: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, INTER),
            down: layer.by_experts(ep, &layer.down_proj, HIDDEN, 0),
        })
    }

    fn nothing_saved(&self) -> Saved {
        let (ep, route) = (self.ep, &self.route);
        Saved {
            recv: PerRank::symmetric(ep, route),
            g: PerRank::ragged(ep, route),
            u: PerRank::ragged(ep, route),
            h: PerRank::ragged(ep, route),
            y: PerRank::from_fn(ep, |rank| Tensor::zeros(self.x[rank].row_count())),
        }
    }

    fn nothing_found(&self) -> Found {
        let (ep, route) = (self.ep, &self.route);
        Found {
            dx: PerRank::from_fn(ep, |rank| Tensor::zeros(self.x[rank].row_count())),
            dweights: PerRank::slots(ep, route),
            dgate: PerRank::experts(ep, route),
            dup: PerRank::experts(ep, route),
            ddown: PerRank::experts(ep, route),
        }
    }

    /// Task after task, as an ordinary function.
    fn forward(&self) -> Saved {
        let mut s = self.nothing_saved();
        let Self { ep, route, x, weights, gate, up, down, .. } = self;
        moe_train::forward(*ep, route, x, weights, gate, up, down, &mut s.recv, &mut s.g, &mut s.u, &mut s.h, &mut s.y);
        s
    }

    /// As a megakernel on every rank.
    fn launch_forward(&self, group: &Group) -> Result<(Saved, Report), LaunchError> {
        let mut s = self.nothing_saved();
        let Self { route, x, weights, gate, up, down, .. } = self;
        let report = moe_train::forward::launch(
            group,
            route,
            x,
            weights,
            gate,
            up,
            down,
            &mut s.recv,
            &mut s.g,
            &mut s.u,
            &mut s.h,
            &mut s.y,
        )?;
        Ok((s, report))
    }

    /// Task after task, as an ordinary function.
    fn backward(&self, s: &Saved, choice: Choice) -> Found {
        let mut f = self.nothing_found();
        let Self { ep, route, x, dy, slot_weights: w, gate, up, down, .. } = self;
        let Found { dx, dweights, dgate, dup, ddown } = &mut f;
        match choice {
            Choice::Activation => moe_train::backward(
                *ep, route, dy, w, gate, up, down, &s.recv, &s.g, &s.u, &s.h, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Projections => moe_train::backward_recomputing(
                *ep, route, dy, w, gate, up, down, &s.recv, &s.g, &s.u, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Least => moe_train::backward_dispatching(
                *ep, route, x, dy, w, gate, up, down, &s.g, &s.u, dx, dweights, dgate, dup, ddown,
            ),
        }
        f
    }

    /// As a megakernel on every rank.
    fn launch_backward(&self, group: &Group, s: &Saved, choice: Choice) -> Result<(Found, Report), LaunchError> {
        let mut f = self.nothing_found();
        let Self { route, x, dy, slot_weights: w, gate, up, down, .. } = self;
        let Found { dx, dweights, dgate, dup, ddown } = &mut f;
        let report = match choice {
            Choice::Activation => moe_train::backward::launch(
                group, route, dy, w, gate, up, down, &s.recv, &s.g, &s.u, &s.h, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Projections => moe_train::backward_recomputing::launch(
                group, route, dy, w, gate, up, down, &s.recv, &s.g, &s.u, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Least => moe_train::backward_dispatching::launch(
                group, route, x, dy, w, gate, up, down, &s.g, &s.u, dx, dweights, dgate, dup, ddown,
            ),
        }?;
        Ok((f, report))
    }
}

fn print_gradients(compared: &[Named], equal: bool) {
    println!("gradients, beside the oracle's");
    for (name, comparison) in compared {
        println!(
            "  {name:<20} relative L2 {:.2e}, largest error {:.2e} of the largest value: {}",
            comparison.relative_l2,
            comparison.max_error,
            if comparison.is_good() { "good" } else { "BAD" }
        );
    }
    println!("  beside the reference: {}\n", if equal { "equal bit for bit" } else { "DIFFERENT" });
}

fn json(compared: &[Named], equal: bool, report: &Report) -> serde_json::Value {
    let gradients = compared.iter().map(|(name, comparison)| {
        let figures = serde_json::json!({
            "relative_l2": comparison.relative_l2,
            "max_error": comparison.max_error,
        });
        ((*name).to_owned(), figures)
    });
    serde_json::json!({
        "gradients": serde_json::Value::Object(gradients.collect()),
        "bitwise_equal": equal,
        "ranks": report.ranks,
        "empty_tasks": report.empty_tasks,
        "workspace_bytes": report.workspace_bytes,
    })
}
