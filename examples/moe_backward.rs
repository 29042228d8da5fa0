//! Forward and backward pass of a Mixture-of-Experts layer as megakernels, every gradient checked against an independent
//! oracle.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::compare::same_bits;
use support::example::sizes;
use support::found;
use support::gradients::Gradients;
use support::layer::Layer;
use support::options::Options;
use support::program;
use support::tensors::{Tensors, by_slot};

/// The taskflows of a training step: a forward pass that saves tensors, and three backward passes that differ in the
/// tensors that they need.
#[megakernel]
pub mod moe_train {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{
        combine, dispatch, give_back, give_back_parts, input_grad, project, project_back, router_grad, send_weights,
        sum_over_k, swiglu, swiglu_grad, swiglu_grad_of, weight_grad,
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

    /// Sends the gradients of the results and the router's weights to the experts.
    #[taskflow]
    fn send_gradients(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        dout: &mut PerRank<Received<bf16, HIDDEN>>,
        weight: &mut PerRank<Received<f32, 1>>,
    ) {
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
    }

    /// Gradients of the projections, with the activation computed again.
    #[taskflow]
    fn through_activation(
        ep: Ranks,
        route: &Route,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        dout: &PerRank<Received<bf16, HIDDEN>>,
        weight: &PerRank<Received<f32, 1>>,
        dg: &mut PerRank<Received<bf16, INTER>>,
        du: &mut PerRank<Received<bf16, INTER>>,
        weighted: &mut PerRank<Received<bf16, INTER>>,
        parts: &mut PerRank<Received<f32, PARTS>>,
    ) {
        let dh = PerRank::ragged::<bf16, INTER>(ep, route);
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
                }
            }
        }
    }

    /// Gradients of the weights and of the tokens, from the gradients of the projections.
    #[taskflow]
    fn gradients(
        ep: Ranks,
        route: &Route,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        dout: &PerRank<Received<bf16, HIDDEN>>,
        dg: &PerRank<Received<bf16, INTER>>,
        du: &PerRank<Received<bf16, INTER>>,
        weighted: &PerRank<Received<bf16, INTER>>,
        parts: &PerRank<Received<f32, PARTS>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let parts_back = PerRank::slots::<f32, PARTS>(ep, route);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
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
        let mut dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut weight = PerRank::symmetric::<f32, 1>(ep, route);
        let dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let du = PerRank::ragged::<bf16, INTER>(ep, route);
        let weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let dh = PerRank::ragged::<bf16, INTER>(ep, route);
        send_gradients(ep, route, dy, weights, &mut dout, &mut weight);
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
                }
            }
        }
        gradients(ep, route, gate, up, recv, &dout, &dg, &du, &weighted, &parts, dx, dweights, dgate, dup, ddown);
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
        let mut dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut weight = PerRank::symmetric::<f32, 1>(ep, route);
        let mut dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut du = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut parts = PerRank::ragged::<f32, PARTS>(ep, route);
        send_gradients(ep, route, dy, weights, &mut dout, &mut weight);
        through_activation(ep, route, down, g, u, &dout, &weight, &mut dg, &mut du, &mut weighted, &mut parts);
        gradients(ep, route, gate, up, recv, &dout, &dg, &du, &weighted, &parts, dx, dweights, dgate, dup, ddown);
    }

    /// The backward pass with only the projections saved: it dispatches tokens again, and computes the activation again.
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
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        backward_recomputing(ep, route, dy, weights, gate, up, down, &recv, g, u, dx, dweights, dgate, dup, ddown);
    }
}

fn main() -> ExitCode {
    program::main(run)
}

/// Runs both passes and prints the results. Returns whether the results are right.
fn run(options: &Options) -> Result<bool, String> {
    let file = options.data.as_deref();
    let (layer, gradients) = (Layer::find(file, None)?, Gradients::find(file)?);
    let team = options.team.start(options.seed)?;
    let (group, ranks) = (&team.group, team.group.ranks().count());
    let whole = Step::of(&layer, &gradients, &Group::new(ranks))?;
    let step = Step::of(&layer, &gradients, group)?;
    team.tell(format_args!("{}\n", moe_train::forward::summary(ranks).unwrap_or_default()))?;

    let reference_saved = whole.forward();
    let (saved, report) = step.launch_forward(group).map_err(|error| error.to_string())?;
    team.tell(format_args!("{report}\n"))?;
    let saved_equal = team.all(saved.is_part_of(&reference_saved)).map_err(|error| error.to_string())?;
    let mut good = saved_equal;
    let mut last = None;
    for choice in Choice::ALL {
        team.tell(format_args!("{}\n", choice.summary(ranks)))?;
        let expected = whole.backward(&reference_saved, choice);
        let (found, report) = step.launch_backward(group, &saved, choice).map_err(|error| error.to_string())?;
        let found = found.gather(&team)?;
        let equal = found::has_bits_of(&found, &expected.numbers());
        let compared = Found::compare_numbers(&found, &gradients);
        team.tell(format_args!("{report}\n\n{compared}"))?;
        let words = if equal { "equal bit for bit" } else { "DIFFERENT" };
        team.tell(format_args!("  compared with the reference: {words}\n"))?;
        good &= equal && compared.is_good();
        last = Some((compared, equal, report));
    }
    if let (true, Some((compared, equal, report))) = (options.json, last) {
        team.tell(compared.json(equal && saved_equal, &report, team.processes()))?;
    }
    team.finish()?;
    Ok(good)
}

/// The choice of the data that the forward pass saves for the backward pass.
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

/// Tensors that the forward pass keeps for the backward pass.
struct Saved {
    recv: PerRank<Received<bf16, { moe_train::HIDDEN }>>,
    g: PerRank<Received<bf16, { moe_train::INTER }>>,
    u: PerRank<Received<bf16, { moe_train::INTER }>>,
    h: PerRank<Received<bf16, { moe_train::INTER }>>,
    y: PerRank<Tensor<bf16, { moe_train::HIDDEN }>>,
}

impl Saved {
    /// Whether the ranks of this process have saved the same data as in `whole`.
    fn is_part_of(&self, whole: &Self) -> bool {
        self.y.ranks().here().all(|r| {
            let rows = |a: &PerRank<Received<bf16, { moe_train::INTER }>>, b: &PerRank<_>| a[r] == b[r];
            let inter = rows(&self.g, &whole.g) && rows(&self.u, &whole.u) && rows(&self.h, &whole.h);
            inter && self.recv[r] == whole.recv[r] && self.y[r] == whole.y[r]
        })
    }
}

impl PartialEq for Saved {
    fn eq(&self, other: &Self) -> bool {
        let rows = |it: &Self| -> Vec<f32> {
            let inter = [&it.g, &it.u, &it.h].into_iter().flat_map(PerRank::iter).map(Received::to_vec);
            let all = inter.chain(it.recv.iter().map(Received::to_vec)).chain(it.y.iter().map(Tensor::to_vec));
            all.flatten().map(bf16::to_f32).collect()
        };
        same_bits(&rows(self), &rows(other))
    }
}

/// The results of the backward pass.
type Found = found::Found<{ moe_train::HIDDEN }, { moe_train::INTER }>;

/// The tensors of a training step, divided among the ranks.
struct Step {
    layer: Tensors<{ moe_train::HIDDEN }, { moe_train::INTER }, { moe_train::TOP_K }>,
    dy: PerRank<Tensor<bf16, { moe_train::HIDDEN }>>,
    weights: PerRank<Slots<f32, 1>>,
}

impl Step {
    fn of(layer: &Layer, gradients: &Gradients, group: &Group) -> Result<Self, String> {
        let tensors = Tensors::of(layer, group, &sizes!(moe_train))?;
        let ep = tensors.ep;
        let weights = by_slot(ep, &tensors.route, &tensors.weights);
        Ok(Self { layer: tensors, dy: layer.by_tokens(ep, &gradients.output), weights })
    }

    fn nothing_saved(&self) -> Saved {
        let Tensors { ep, route, .. } = &self.layer;
        Saved {
            recv: PerRank::symmetric(*ep, route),
            g: PerRank::ragged(*ep, route),
            u: PerRank::ragged(*ep, route),
            h: PerRank::ragged(*ep, route),
            y: self.layer.output(),
        }
    }

    fn nothing_found(&self) -> Found {
        Found::nothing(self.layer.ep, &self.layer.route, &self.layer.x)
    }

    /// Runs the reference, task after task.
    fn forward(&self) -> Saved {
        let mut saved = self.nothing_saved();
        let Tensors { ep, route, x, weights, gate, up, down } = &self.layer;
        let Saved { recv, g, u, h, y } = &mut saved;
        moe_train::forward(*ep, route, x, weights, gate, up, down, recv, g, u, h, y);
        saved
    }

    /// Runs the megakernel on every rank.
    fn launch_forward(&self, group: &Group) -> Result<(Saved, Report), LaunchError> {
        let mut saved = self.nothing_saved();
        let Tensors { route, x, weights, gate, up, down, .. } = &self.layer;
        let Saved { recv, g, u, h, y } = &mut saved;
        let report = moe_train::forward::launch(group, route, x, weights, gate, up, down, recv, g, u, h, y)?;
        Ok((saved, report))
    }

    /// Runs the reference, task after task.
    fn backward(&self, saved: &Saved, choice: Choice) -> Found {
        let mut found = self.nothing_found();
        let Self { layer: Tensors { ep, route, x, gate, up, down, .. }, dy, weights: w } = self;
        let Saved { recv, g, u, h, .. } = saved;
        let Found { dx, dweights, dgate, dup, ddown } = &mut found;
        match choice {
            Choice::Activation => {
                moe_train::backward(*ep, route, dy, w, gate, up, down, recv, g, u, h, dx, dweights, dgate, dup, ddown)
            }
            Choice::Projections => moe_train::backward_recomputing(
                *ep, route, dy, w, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Least => moe_train::backward_dispatching(
                *ep, route, x, dy, w, gate, up, down, g, u, dx, dweights, dgate, dup, ddown,
            ),
        }
        found
    }

    /// Runs the megakernel on every rank.
    fn launch_backward(&self, group: &Group, saved: &Saved, choice: Choice) -> Result<(Found, Report), LaunchError> {
        let mut found = self.nothing_found();
        let Self { layer: Tensors { route, x, gate, up, down, .. }, dy, weights: w } = self;
        let Saved { recv, g, u, h, .. } = saved;
        let Found { dx, dweights, dgate, dup, ddown } = &mut found;
        let report = match choice {
            Choice::Activation => moe_train::backward::launch(
                group, route, dy, w, gate, up, down, recv, g, u, h, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Projections => moe_train::backward_recomputing::launch(
                group, route, dy, w, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown,
            ),
            Choice::Least => moe_train::backward_dispatching::launch(
                group, route, x, dy, w, gate, up, down, g, u, dx, dweights, dgate, dup, ddown,
            ),
        }?;
        Ok((found, report))
    }
}
