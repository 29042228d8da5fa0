//! The backward pass of the layer in chunks: only the tokens are saved from the forward pass, and two chunks are in memory at a time. A
//! launch has as few chunks as its memory allows.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::sizes;
use support::found;
use support::gradients::Gradients;
use support::layer::Layer;
use support::options::Options;
use support::program;
use support::tensors::{Tensors, by_slot};

/// The backward pass, chunk by chunk.
#[megakernel]
pub mod moe_backward_chunked {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{
        dispatch, give_back, give_back_parts, input_grad, project, project_back, router_grad, send_weights, sum_over_k,
        swiglu_grad, weight_grad_onto,
    };

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

    /// Number of chunks in the reference.
    pub const CHUNKS: usize = 4;
    /// Largest number of chunks of a launch. Each launch takes the smallest number whose rows fit into memory; if 0, always `CHUNKS`.
    pub const CHUNKS_AT_MOST: usize = CHUNKS;

    /// Rows per tile of a projection. The build chooses tile sizes that a kernel leaves open.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Rows per tile of a weight gradient.
    pub const GRAD_M: usize = _;
    /// Columns per tile of a weight gradient.
    pub const GRAD_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Maximum number of rows per put of single numbers. It is large, because a fence takes longer than putting the numbers.
    pub const PUT_NUMBERS: usize = TILE_M;
    /// Tokens per tile of a sum over k.
    pub const BLOCK: usize = _;
    /// Columns per tile of a sum over k.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of a sum over k.
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Column tiles of the activation, each with a part of the gradient of the router's weights.
    pub const PARTS: usize = INTER.div_ceil(TILE_N);

    /// The backward pass with only the tokens saved. Tokens and gradients of results are sent to the experts, the projections are computed
    /// again, and each chunk adds to the gradients of the weights.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        for route in route.chunks::<CHUNKS>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
            let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
            let weight = PerRank::symmetric::<f32, 1>(ep, &route);
            let g = PerRank::ragged::<bf16, INTER>(ep, &route);
            let u = PerRank::ragged::<bf16, INTER>(ep, &route);
            let dh = PerRank::ragged::<bf16, INTER>(ep, &route);
            let dg = PerRank::ragged::<bf16, INTER>(ep, &route);
            let du = PerRank::ragged::<bf16, INTER>(ep, &route);
            let weighted = PerRank::ragged::<bf16, INTER>(ep, &route);
            let parts = PerRank::ragged::<f32, PARTS>(ep, &route);
            let drows = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
            let back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
            let parts_back = PerRank::slots::<f32, PARTS>(ep, &route);
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
                            weight_grad_onto::<GRAD_M, GRAD_N>(
                                &dout[r].expert(e).cols(m),
                                &weighted[r].expert(e).cols(n),
                                &mut ddown[r].expert(e).tile(m).cols(n),
                            );
                        }
                    }
                    for m in 0..INTER.div_ceil(GRAD_M) {
                        for n in 0..HIDDEN.div_ceil(GRAD_N) {
                            weight_grad_onto::<GRAD_M, GRAD_N>(
                                &dg[r].expert(e).cols(m),
                                &recv[r].expert(e).cols(n),
                                &mut dgate[r].expert(e).tile(m).cols(n),
                            );
                            weight_grad_onto::<GRAD_M, GRAD_N>(
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
}

fn main() -> ExitCode {
    program::main(run)
}

/// Runs the pass and prints the results. Returns whether they are right.
fn run(options: &Options) -> Result<bool, String> {
    let file = options.data.as_deref();
    let (layer, gradients) = (Layer::find(file, None)?, Gradients::find(file)?);
    let team = options.team.start(options.seed)?;
    let ranks = team.group.ranks().count();
    let whole = Step::of(&layer, &gradients, &Group::new(ranks))?;
    let step = Step::of(&layer, &gradients, &team.group)?;
    team.tell(format_args!("{}\n", moe_backward_chunked::backward::summary(ranks).unwrap_or_default()))?;
    let (found, report) = step.launch(&team.group).map_err(|error| error.to_string())?;
    let found = found.gather(&team)?;
    let equal = found::has_bits_of(&found, &whole.reference().numbers());
    let compared = Found::compare_numbers(&found, &gradients);
    team.tell(format_args!("{report}\n\n{compared}"))?;
    let words = if equal { "equal bit for bit" } else { "DIFFERENT" };
    team.tell(format_args!("  compared with the reference: {words}"))?;
    if options.json {
        team.tell(compared.json(equal, &report, team.processes()))?;
    }
    team.finish()?;
    Ok(equal && compared.is_good())
}

/// The results of the pass.
type Found = found::Found<{ moe_backward_chunked::HIDDEN }, { moe_backward_chunked::INTER }>;

/// The tensors of the backward pass, divided among the ranks.
struct Step {
    layer: Tensors<{ moe_backward_chunked::HIDDEN }, { moe_backward_chunked::INTER }, { moe_backward_chunked::TOP_K }>,
    dy: PerRank<Tensor<bf16, { moe_backward_chunked::HIDDEN }>>,
    weights: PerRank<Slots<f32, 1>>,
}

impl Step {
    fn of(layer: &Layer, gradients: &Gradients, group: &Group) -> Result<Self, String> {
        let tensors = Tensors::of(layer, group, &sizes!(moe_backward_chunked))?;
        let ep = tensors.ep;
        let weights = by_slot(ep, &tensors.route, &tensors.weights);
        Ok(Self { layer: tensors, dy: layer.by_tokens(ep, &gradients.output), weights })
    }

    /// Tensors for the gradients. Gradients of weights start as zeros, because chunks add to them.
    fn zero(&self) -> Found {
        let Tensors { ep, route, x, .. } = &self.layer;
        let own = route.local_experts();
        Found {
            dgate: PerRank::from_fn(*ep, |_| Experts::zeros(own)),
            dup: PerRank::from_fn(*ep, |_| Experts::zeros(own)),
            ddown: PerRank::from_fn(*ep, |_| Experts::zeros(own)),
            ..Found::nothing(*ep, route, x)
        }
    }

    /// Runs the reference, task after task.
    fn reference(&self) -> Found {
        let mut found = self.zero();
        let Self { layer: Tensors { ep, route, x, gate, up, down, .. }, dy, weights } = self;
        let Found { dx, dweights, dgate, dup, ddown } = &mut found;
        moe_backward_chunked::backward(*ep, route, x, dy, weights, gate, up, down, dx, dweights, dgate, dup, ddown);
        found
    }

    /// Runs the megakernel on every rank.
    fn launch(&self, group: &Group) -> Result<(Found, Report), LaunchError> {
        let mut found = self.zero();
        let Self { layer: Tensors { route, x, gate, up, down, .. }, dy, weights } = self;
        let Found { dx, dweights, dgate, dup, ddown } = &mut found;
        let report = moe_backward_chunked::backward::launch(
            group, route, x, dy, weights, gate, up, down, dx, dweights, dgate, dup, ddown,
        )?;
        Ok((found, report))
    }
}
