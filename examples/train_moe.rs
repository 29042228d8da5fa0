//! Trains a small Mixture-of-Experts layer with its router twice: with forward and backward megakernels, and with the same functions
//! run sequentially. Both trainings have the same bits after every step.

use getopts::Matches;
use hpmoe_runtime::prelude::*;
use indicatif::{ProgressBar, ProgressStyle};
use std::process::ExitCode;
use support::compare::same_bits;
use support::example::sizes;
use support::found::Found;
use support::options::{CommandLine, declare_common, number};
use support::program;
use support::router::Router;
use support::synthetic::Teacher;
use support::team::{Team, TeamSize};
use support::tensors::{by_slot, numbers};
use trained::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};

/// The layer, forward and backward.
#[megakernel]
pub mod trained {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::taskflows::{
        combine_slots, dispatch_tokens, give_back_rows, input_gradients, project_rows, project_rows_back,
        router_gradients, send_slot_weights, sum_slots, swiglu_gradients, swiglu_rows, weight_gradients,
    };

    /// Columns per token.
    pub const HIDDEN: usize = 32;
    /// Columns between the projections.
    pub const INTER: usize = 32;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 8;
    /// Experts per token.
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 256;

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

    /// The forward pass; keeps the rows received and both projections.
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
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let mut h = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        dispatch_tokens::<PUT, _>(ep, route, x, recv);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, gate, g);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, up, u);
        swiglu_rows::<TILE_M, TILE_N, _>(ep, route, g, u, &mut h);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, &h, down, &mut out);
        give_back_rows::<PUT, _>(ep, route, &out, &mut back);
        combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, route, &back, weights, y);
    }

    /// The backward pass with the rows received and the projections saved.
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
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let mut dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut weight = PerRank::symmetric::<f32, 1>(ep, route);
        let mut dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut du = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let mut drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        dispatch_tokens::<PUT, _>(ep, route, dy, &mut dout);
        send_slot_weights::<PUT_NUMBERS>(ep, route, weights, &mut weight);
        project_rows_back::<TILE_M, TILE_N, _, _>(ep, route, &dout, down, &mut dh);
        swiglu_gradients::<TILE_M, TILE_N, _, _>(
            ep,
            route,
            &dh,
            g,
            u,
            &weight,
            &mut dg,
            &mut du,
            &mut weighted,
            &mut parts,
        );
        input_gradients::<TILE_M, TILE_N, _, _>(ep, route, &dg, gate, &du, up, &mut drows);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &dout, &weighted, ddown);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &dg, recv, dgate);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &du, recv, dup);
        give_back_rows::<PUT, _>(ep, route, &drows, &mut back);
        router_gradients::<PUT_NUMBERS, BLOCK, SLOTS, _>(ep, route, &parts, dweights);
        sum_slots::<BLOCK, SLOTS, COLUMNS, _>(ep, route, &back, dx);
    }
}

/// Options of the command line.
struct Options {
    team: TeamSize,
    /// Number of steps of gradient descent.
    steps: usize,
    seed: u64,
    json: bool,
}

impl CommandLine for Options {
    const ABOUT: &'static str = "Trains a small Mixture-of-Experts layer on a synthetic task, on this machine's CPU";

    fn declare(options: &mut getopts::Options) {
        TeamSize::declare(options);
        options.optopt("", "steps", "Steps of gradient descent [default: 300].", "N");
        declare_common(options);
    }

    fn read(given: &Matches) -> Result<Self, String> {
        Ok(Self {
            team: TeamSize::read(given)?,
            steps: number(given, "steps")?.unwrap_or(300),
            seed: number(given, "seed")?.unwrap_or(0),
            json: given.opt_present("json"),
        })
    }
}

/// Learning rate of gradient descent.
const RATE: f32 = 0.3;

fn main() -> ExitCode {
    program::main(run)
}

/// Trains both models and compares them after every step. Returns whether they stayed equal and the loss fell.
fn run(options: &Options) -> Result<bool, String> {
    if options.steps < 2 {
        return Err(format!("{} steps show no loss falling: take at least 2", options.steps));
    }
    let team = options.team.start(options.seed)?;
    let alone = Team::alone(team.group.ranks().count());
    let whole = alone.group.ranks();
    sizes!(trained).check_ranks(whole)?;
    let teacher = Teacher::new::<HIDDEN>(7);
    let (mut kernels, mut reference) = (Model::new(team.group.ranks()), Model::new(whole));
    let bar = if team.tells() { ProgressBar::new(options.steps as u64) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{bar:40} step {pos} of {len}, loss {msg}, {eta} to go");
    bar.set_style(style.map_err(|error| error.to_string())?);
    let (mut losses, mut equal) = (Vec::new(), true);
    for step in 0..options.steps {
        let x = teacher.tokens(whole, TOKENS, step);
        let found = kernels.step(&teacher, &x, &team, Passes::Megakernels).map_err(|error| error.to_string())?;
        let expected = reference.step(&teacher, &x, &alone, Passes::Sequential).map_err(|error| error.to_string())?;
        let same = same_bits(&[found], &[expected]) && kernels.is_part_of(&reference);
        equal &= team.all(same).map_err(|error| error.to_string())?;
        losses.push(found);
        bar.set_message(format!("{found:.4}"));
        bar.inc(1);
    }
    bar.finish();
    let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
    let part = (options.steps / 10).max(1);
    for (number, losses) in losses.chunks(part).enumerate() {
        let (first, last) = (number * part, number * part + losses.len() - 1);
        team.tell(format_args!("steps {first:>4} to {last:>4}: loss {:.4}", mean(losses)))?;
    }
    let (first, last) = (mean(&losses[..part]), mean(&losses[options.steps - part..]));
    let words = if equal { "equal bit for bit after every step" } else { "DIFFERENT" };
    team.tell(format_args!("compared with the reference loop: {words}"))?;
    if options.json {
        team.tell(jzon::object! {
            first_loss: first, last_loss: last, bitwise_equal: equal, steps: options.steps,
            ranks: whole.count(), processes: team.processes(),
        })?;
    }
    team.finish()?;
    Ok(equal && last < first)
}

/// The way in which the layer is run.
enum Passes {
    Megakernels,
    /// The references, task after task.
    Sequential,
}

/// The layer's parameters, trained in f32 and rounded to bf16 for products. Every rank has the router; the experts are those of the
/// ranks in this process.
struct Model {
    router: Router,
    gate: PerRank<Vec<f32>>,
    up: PerRank<Vec<f32>>,
    down: PerRank<Vec<f32>>,
}

impl Model {
    fn new(ep: Ranks) -> Self {
        let part = EXPERTS / ep.count() * INTER * HIDDEN;
        let matrices = |seed: u64, scale: f32| {
            let all = support::synthetic::numbers(seed, EXPERTS * INTER * HIDDEN, scale);
            PerRank::from_fn(ep, |rank| all[rank.id() * part..][..part].to_vec())
        };
        let (wide, narrow) = ((HIDDEN as f32).sqrt().recip(), (INTER as f32).sqrt().recip());
        let (gate, up, down) = (matrices(1, wide), matrices(2, wide), matrices(3, narrow));
        Self { router: Router::new::<HIDDEN>(EXPERTS, 4), gate, up, down }
    }

    /// Whether the router, and the experts of the ranks in this process, have the bits of those in `whole`.
    fn is_part_of(&self, whole: &Self) -> bool {
        let same =
            |a: &PerRank<Vec<f32>>, b: &PerRank<Vec<f32>>| a.ranks().here().all(|rank| same_bits(&a[rank], &b[rank]));
        let experts = same(&self.gate, &whole.gate) && same(&self.up, &whole.up) && same(&self.down, &whole.down);
        experts && self.router.has_bits_of(&whole.router)
    }

    /// Does one step of gradient descent on the tokens of all ranks. Returns the loss before the step.
    fn step(
        &mut self,
        teacher: &Teacher,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        team: &Team,
        passes: Passes,
    ) -> Result<f32, LaunchError> {
        let group = &team.group;
        let (ep, all_here) = (group.ranks(), x.ranks());
        // The router is small, so every rank computes it for all tokens.
        let all_routed = self.router.route::<HIDDEN, TOP_K>(all_here, x);
        let ids = PerRank::from_fn(ep, |rank| all_routed.ids[rank].clone());
        let weights = &PerRank::from_fn(ep, |rank| all_routed.weights[rank].clone());
        let route = Route::gather(group, EXPERTS, &ids)?;
        let all_x = x;
        let x = &PerRank::from_fn(ep, |rank| all_x[rank].clone());
        let rounded = |part: &Vec<f32>| -> Vec<bf16> { part.iter().map(|&x| bf16::from_f32(x)).collect() };
        let experts = |parts: &PerRank<Vec<f32>>| parts.map(|part| Experts::from_slice(&rounded(part)));
        let (gate, up) = (experts(&self.gate), experts(&self.up));
        let down = self.down.map(|part| Experts::from_slice(&rounded(part)));

        let recv = &mut PerRank::symmetric(ep, &route);
        let (g, u) = (&mut PerRank::ragged(ep, &route), &mut PerRank::ragged(ep, &route));
        let y = &mut PerRank::from_fn(ep, |rank| Tensor::zeros(x[rank].row_count()));
        match passes {
            Passes::Megakernels => {
                trained::forward::launch(group, &route, x, weights, &gate, &up, &down, recv, g, u, y)?;
            }
            Passes::Sequential => trained::forward(ep, &route, x, weights, &gate, &up, &down, recv, g, u, y),
        }
        // The loss is the mean over all tokens, summed in the order of tokens.
        let all_y = team.gather(&numbers(y))?;
        let mut rest = all_y.as_slice();
        let all_y = PerRank::from_fn(all_here, |rank| {
            let (part, others) = rest.split_at(all_x[rank].row_count() * HIDDEN);
            rest = others;
            Tensor::from_f32(part)
        });
        let (loss, all_dy) = teacher.loss(all_x, &all_y);

        let (dy, w) = (&PerRank::from_fn(ep, |rank| all_dy[rank].clone()), &by_slot(ep, &route, weights));
        let mut found = Found::nothing(ep, &route, x);
        let Found { dx, dweights, dgate, dup, ddown } = &mut found;
        match passes {
            Passes::Megakernels => {
                trained::backward::launch(
                    group, &route, dy, w, &gate, &up, &down, recv, g, u, dx, dweights, dgate, dup, ddown,
                )?;
            }
            Passes::Sequential => {
                trained::backward(ep, &route, dy, w, &gate, &up, &down, recv, g, u, dx, dweights, dgate, dup, ddown)
            }
        }
        let all_dweights = team.gather(&dweights.iter().flat_map(Slots::to_vec).collect::<Vec<_>>())?;
        let mut rest = all_dweights.as_slice();
        for rank in all_here {
            let (part, others) = rest.split_at(all_x[rank].row_count() * TOP_K);
            rest = others;
            self.router.descend::<HIDDEN, TOP_K>(&all_x[rank], &all_routed, rank, part, RATE);
        }
        for rank in ep.here() {
            descend(&mut self.gate[rank], &dgate[rank].to_vec());
            descend(&mut self.up[rank], &dup[rank].to_vec());
            descend(&mut self.down[rank], &ddown[rank].to_vec());
        }
        Ok(loss)
    }
}

fn descend(weights: &mut [f32], gradient: &[f32]) {
    for (weight, slope) in weights.iter_mut().zip(gradient) {
        *weight -= RATE * slope;
    }
}
