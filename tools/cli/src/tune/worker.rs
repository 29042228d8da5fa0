//! The thread that runs the search.

use super::found::{FAR_SLOWER, Found, SearchedKernel, mean_and_worst};
use crate::input::{KernelSource, SourceFile};
use crate::options::TuneArgs;
use crate::routing::routed;
use hpmoe_build::with_tuned;
use hpmoe_core::fixed_sizes::times_as_long;
use hpmoe_core::front::{Front, front};
use hpmoe_core::graph::Sizes;
use hpmoe_core::sizes::{Expected, open_sizes};
use hpmoe_core::syntax::{Kernel, leaving_open, open_constants};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{Candidate, NamedSizes, overrides, set_sizes, shape, sizes};
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::simulate::Routing;
use hpmoe_simulator::tune::{FailedAt, NoResult, SearchProgress, SearchSpace, SearchStep, Trial, search};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The routings that are used without `--routing`.
const ROUTINGS: [&str; 5] = ["balanced", "zipf:1.2:1", "zipf:1.2:2", "zipf:1.2:3", "zipf:1.2:4"];

/// Minimum time between two messages to the main thread about the same step.
const HEARD: Duration = Duration::from_millis(100);

/// A message to the main thread.
pub(super) enum Told {
    /// A step of the search.
    Doing(Doing),
    /// The search has found a better candidate.
    Found(Box<Found>),
    /// The search has ended.
    Ended(Result<Box<Found>, String>),
}

/// The state of a search.
#[derive(Clone)]
pub(super) struct Doing {
    /// The words that follow the kernel's name in messages.
    pub(super) text: String,
    /// Before the first candidate, the completed share of the simulations of the start or of the default.
    pub(super) part: Option<f64>,
}

/// Flags by which the main thread stops the search.
#[derive(Default)]
pub(super) struct Stops {
    /// The time is over: the search tries no more candidates, and abandons the current one.
    pub(super) candidates: AtomicBool,
    /// The main thread no longer waits for a result.
    pub(super) all: AtomicBool,
}

/// A search to run for the kernel at the given place in a file.
pub(super) struct Job {
    pub(super) options: TuneArgs,
    pub(super) target: Target,
    /// Name and text of the file.
    pub(super) file: (String, String),
    pub(super) place: usize,
}

impl Job {
    /// Searches until stopped, or until nothing is left to try.
    pub(super) fn run(&self, tell: &dyn Fn(Told), stops: &Stops) -> Result<Box<Found>, String> {
        let (name, text) = self.file.clone();
        let mut input = SourceFile::parse_as_written(name, text, &self.options.settings)?;
        let expected = Expected { ranks: Some(self.options.ranks), tokens: None };
        let name = input.kernels[self.place].module.ident.to_string();
        tell(Told::Doing(Doing { text: "choosing tile sizes".to_owned(), part: None }));
        input.kernels[self.place].choose(&self.target, expected)?;
        let source = &input.kernels[self.place];
        let Front { kernel, flows, .. } = input.front(source)?;
        let first = flows.first().ok_or_else(|| format!("kernel `{name}` has no taskflow"))?;
        tell(Told::Doing(Doing { text: "drawing routings".to_owned(), part: None }));
        let routings = self.routings(&first.graph().sizes)?;
        tell(Told::Doing(Doing {
            text: "estimating the times with fixed and with chosen tile sizes".to_owned(),
            part: None,
        }));
        let mut sizes = sizes(&source.module, &kernel);
        // Sizes that are set stay.
        sizes.retain(|name, _| !source.set.contains(name));
        let start = self.start(source, &sizes, expected)?;
        let kernels = |sizes: &NamedSizes| built(source, sizes).map(|front| front.flows);
        let chosen = kernels(&start).filter(|_| !start.is_empty());
        let default_estimate = chosen.and_then(|chosen| times_as_long(&flows, &chosen, &self.target, expected));
        let simulations = flows.len() * routings.len();
        let searched = searched(source, &kernel, sizes, start.clone(), default_estimate, simulations);
        let allowed = self.options.allow_slow_tile_sizes;
        let warning = if allowed { None } else { source.warning(&self.target, expected) };
        let trial = Trial { target: &self.target, routings: &routings, kernels: &kernels };
        let space = SearchSpace {
            sizes: searched.sizes.clone(),
            flows: flows.iter().map(|flow| flow.graph().taskflow.clone()).collect(),
            start: Candidate { sizes: start, ..Candidate::default() },
            with_default: default_estimate.is_none_or(|times| times < FAR_SLOWER),
            seed: self.options.seed,
        };
        let news = News { kernel: &searched, warning: &warning, tell, told: RefCell::new(LastTold::default()) };
        let result = search(&trial, &space, &mut |progress| {
            news.hear(progress);
            let is_over = progress.step == SearchStep::Candidates && stops.candidates.load(Ordering::Relaxed);
            !is_over && !stops.all.load(Ordering::Relaxed)
        });
        let result = result.map_err(|no_result| match no_result {
            NoResult::Impossible(failed) => format!(
                "kernel `{}` can't be simulated on {} ranks with these routings: {}",
                searched.name,
                self.options.ranks,
                why_impossible(&self.options, &searched.name, &space, failed)
            ),
            // Not printed: the main thread no longer waits for it.
            NoResult::Ended { .. } => format!("kernel `{}`: the search was given up", searched.name),
        })?;
        Ok(Box::new(Found { kernel: searched, result, warning }))
    }

    fn routings(&self, sizes: &Sizes) -> Result<Vec<Routing>, String> {
        let given = self.options.routings.iter().map(String::as_str);
        let default = ROUTINGS.iter().copied().filter(|_| self.options.routings.is_empty());
        given.chain(default).map(|text| routed(text, sizes, self.options.ranks, None)).collect()
    }

    /// Those of the sizes that a build would choose differently if the source left all of `sizes` open; empty if the
    /// kernel can't have them.
    fn start(&self, source: &KernelSource, sizes: &NamedSizes, expected: Expected) -> Result<NamedSizes, String> {
        let names: Vec<String> = sizes.keys().cloned().collect();
        if names.iter().all(|name| source.open.contains_key(name)) {
            return Ok(NamedSizes::new());
        }
        let free = leaving_open(&source.module, &names);
        let mut chosen = open_sizes(&free, &source.set, &self.target, expected)?;
        chosen.retain(|name, size| sizes.get(name).is_some_and(|own| own != size));
        Ok(if built(source, &chosen).is_some() { chosen } else { NamedSizes::new() })
    }
}

/// The way to find out why the start of a kernel's search can't be simulated: the command that simulates it.
fn why_impossible(options: &TuneArgs, kernel: &str, space: &SearchSpace, failed: FailedAt) -> String {
    let mut command = format!("hpmoe simulate {}", printable_path(&options.file));
    let add = |command: &mut String, option: &str, value: &str| command.push_str(&format!(" {option} {value}"));
    options.settings.iter().for_each(|setting| add(&mut command, "--set", setting));
    // The start's sizes differ from those of the source.
    space.start.sizes.iter().for_each(|(name, size)| add(&mut command, "--set", &format!("{kernel}::{name}={size}")));
    options.target.constants.iter().for_each(|constant| add(&mut command, "--constant", constant));
    add(&mut command, "--target", &options.target.target);
    add(&mut command, "--ranks", &options.ranks.to_string());
    command.push_str(" --untuned");
    let flows: Vec<String> = space.flows.iter().map(|flow| format!("{kernel}::{flow}")).collect();
    let flow = failed.taskflow.and_then(|place| flows.get(place));
    let flow = flow.or_else(|| flows.first().filter(|_| flows.len() == 1));
    if let Some(flow) = flow {
        add(&mut command, "--taskflow", flow);
    }
    let default = ROUTINGS.iter().copied().filter(|_| options.routings.is_empty());
    let tried: Vec<&str> = options.routings.iter().map(String::as_str).chain(default).collect();
    // Without a valid schedule, the routing makes no difference.
    if let Some(routing) = failed.routing.and_then(|place| tried.get(place)) {
        add(&mut command, "--routing", routing);
    }
    match flow {
        Some(_) => format!("`{command}` says why"),
        None => format!("`{command}` says why, with `--taskflow` and one of {}", flows.join(", ")),
    }
}

/// The data about the kernel that threads and files need.
fn searched(
    source: &KernelSource,
    kernel: &Kernel,
    sizes: NamedSizes,
    start: NamedSizes,
    default_estimate: Option<f64>,
    simulations: usize,
) -> SearchedKernel {
    let open = open_constants(&source.module);
    let fixed = sizes.iter().filter(|(name, _)| !open.contains(name));
    SearchedKernel {
        name: kernel.name.clone(),
        shape: shape(&source.module, kernel),
        set: set_sizes(&source.set),
        open: source.open.clone(),
        fixed: fixed.map(|(name, &size)| (name.clone(), size)).collect(),
        sizes,
        start,
        default_estimate,
        simulations,
    }
}

/// The kernel with different tile sizes than by default, if these are possible.
fn built(source: &KernelSource, sizes: &NamedSizes) -> Option<Front> {
    let front = front(&source.module, &overrides(&source.set, &with_tuned(&source.open, sizes))).ok()?;
    Some(front.for_ranks(&source.ranks))
}

/// Reports to the main thread, and remembers what the main thread already knows.
struct News<'a> {
    kernel: &'a SearchedKernel,
    warning: &'a Option<String>,
    tell: &'a dyn Fn(Told),
    told: RefCell<LastTold>,
}

#[derive(Default)]
struct LastTold {
    /// The time and the step of the last report on the search's state.
    doing: Option<(Instant, SearchStep)>,
    /// The best candidate that the main thread knows.
    best: Option<Candidate>,
}

impl News<'_> {
    fn hear(&self, progress: &SearchProgress<'_>) {
        let mut told = self.told.borrow_mut();
        if let Some(result) = progress.found.filter(|result| told.best.as_ref() != Some(&result.best)) {
            told.best = Some(result.best.clone());
            let (kernel, warning) = (self.kernel.clone(), self.warning.clone());
            (self.tell)(Told::Found(Box::new(Found { kernel, result: result.clone(), warning })));
        }
        let is_due = |&(at, step): &(Instant, SearchStep)| step != progress.step || at.elapsed() >= HEARD;
        if told.doing.as_ref().is_none_or(is_due) {
            told.doing = Some((Instant::now(), progress.step));
            (self.tell)(Told::Doing(self.doing(progress)));
        }
    }

    fn doing(&self, progress: &SearchProgress<'_>) -> Doing {
        let (simulated, all) = (progress.simulated, self.kernel.simulations);
        let at = format!("at simulation {} of {all}", all.min(simulated + 1));
        let text = match (progress.step, progress.found) {
            (SearchStep::Candidates, Some(result)) => {
                let reference = if result.default.is_some() {
                    "the default's simulated time"
                } else {
                    "the simulated time with the sizes that a build chooses"
                };
                let best = 100.0 * mean_and_worst(result).0;
                format!("{} tried, the best takes {best:.1} % of {reference}; {at}", progress.tried)
            }
            (SearchStep::Start, _) if !self.kernel.start.is_empty() => {
                format!("{at} with the tile sizes that a build chooses")
            }
            _ => format!("{at} of the default schedule"),
        };
        let part = (progress.step != SearchStep::Candidates).then(|| simulated as f64 / all as f64);
        Doing { text, part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Command, Options};
    use clap::Parser as _;

    fn why(arguments: &[&str], (flows, sizes): (&[&str], &[(&str, usize)]), failed: FailedAt) -> String {
        let space = SearchSpace {
            sizes: NamedSizes::new(),
            flows: flows.iter().map(|&flow| flow.to_owned()).collect(),
            start: Candidate {
                sizes: sizes.iter().map(|&(name, size)| (name.to_owned(), size)).collect(),
                ..Candidate::default()
            },
            with_default: true,
            seed: 1,
        };
        match Options::parse_from([&["hpmoe", "tune", "layer.rs"][..], arguments].concat()).command {
            Command::Tune(options) => why_impossible(&options, "moe", &space, failed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_simulation_that_explains_a_failed_search_is_its_first_one() {
        let given = ["--set", "TILE_M=64", "--set", "PUT=8", "--constant", "sync.signal_ns=7", "--ranks", "3"];
        let command = "hpmoe simulate layer.rs --set TILE_M=64 --set PUT=8 --constant sync.signal_ns=7 --target ascend-a3 --ranks 3 --untuned";
        let flows = ["forward", "backward"];
        let at = |taskflow, routing| FailedAt { taskflow, routing };
        assert_eq!(
            why(&[&given[..], &["--routing", "zipf:2"]].concat(), (&flows, &[]), at(Some(0), Some(0))),
            format!("`{command} --taskflow moe::forward --routing zipf:2` says why")
        );
        assert_eq!(
            why(&given, (&flows, &[]), at(Some(1), Some(2))),
            format!("`{command} --taskflow moe::backward --routing {}` says why", ROUTINGS[2])
        );
        // Without a valid schedule, the routing makes no difference.
        let failed = at(Some(1), None);
        assert_eq!(why(&given, (&flows, &[]), failed), format!("`{command} --taskflow moe::backward` says why"));
        let unknown = at(None, None);
        assert_eq!(
            why(&given, (&flows, &[]), unknown),
            format!("`{command}` says why, with `--taskflow` and one of moe::forward, moe::backward")
        );
        assert_eq!(
            why(&[], (&["forward"], &[("PUT", 4)]), unknown),
            "`hpmoe simulate layer.rs --set moe::PUT=4 --target ascend-a3 --ranks 8 --untuned --taskflow moe::forward` says why"
        );
    }
}
