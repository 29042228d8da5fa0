//! Coordinate descent from a start, with random kicks when it gets stuck.

use super::knob::Knob;
use super::score::{FailedAt, Limit, Outcome};
use super::{Score, Trial};
use hpmoe_core::random::Random;
use hpmoe_core::tuned::{Candidate, NamedSizes};
use std::collections::HashMap;

/// The parts of a kernel that a search may change, and the candidate that the search starts from.
#[derive(Clone, Debug)]
pub struct SearchSpace {
    /// The tile sizes that may change, with their values in the default schedule.
    pub sizes: NamedSizes,
    /// The names of the taskflows.
    pub flows: Vec<String>,
    /// The start: the candidate that is tried first. It equals the default if the kernel has the sizes that a build would choose.
    pub start: Candidate,
    /// Whether the default (the source's tile sizes and the scheduler's default choices) is simulated as well. A default with many tiles
    /// takes long to simulate, which is unnecessary if it is known to be far slower than the start.
    pub with_default: bool,
    /// Seed of the search.
    pub seed: u64,
}

/// A step of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchStep {
    /// Simulates the start ([`SearchSpace::start`]).
    Start,
    /// Simulates the default, unless it is the start.
    Default,
    /// Tries candidates.
    Candidates,
}

/// The progress of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchProgress<'a> {
    /// The current step of the search.
    pub step: SearchStep,
    /// Number of finished simulations of the current candidate; there is one for each taskflow and routing.
    pub simulated: usize,
    /// Number of candidates tried, including invalid ones.
    pub tried: usize,
    /// The result if the search ended now; `None` in the steps before [`SearchStep::Candidates`].
    pub found: Option<&'a SearchResult>,
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchResult {
    /// The best candidate; the default, or the start if the default was not simulated, if no candidate is faster.
    pub best: Candidate,
    /// The times of the best candidate.
    pub score: Score,
    /// The times of the start.
    pub start: Score,
    /// The times of the default; `None` if the default was not simulated, could not be, or was stopped because its value had reached twice
    /// that of the start.
    pub default: Option<Score>,
    /// Number of candidates tried, including the start, the default and invalid ones.
    pub tried: usize,
}

impl SearchResult {
    /// The times that candidates are compared with: those of the default, or else those of the start.
    #[must_use]
    pub fn reference(&self) -> &Score {
        self.default.as_ref().unwrap_or(&self.start)
    }

    /// The value of the best candidate.
    fn value(&self) -> f64 {
        self.score.relative_to(self.reference())
    }
}

/// The reason why a search has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoResult {
    /// The start can't be built, scheduled, validated or simulated on the routings.
    Impossible(FailedAt),
    /// The search was told to end (`going` returned false) before the start and the default were simulated.
    Ended {
        /// The step in which the search ended.
        step: SearchStep,
        /// Number of finished simulations of the start, or of the default in [`SearchStep::Default`].
        simulated: usize,
    },
}

/// Number of kicks in a row without a new candidate after which the search ends.
const KICKS: usize = 24;

/// The simulation of a candidate stops when its value reaches this multiple of the best value. This applies to the default and to
/// candidates after a kick, because a descent from a much slower candidate rarely leads to a better one.
const FAR_SLOWER: f64 = 2.0;

/// Searches for the best candidate, while `going` returns true; simulations call `going`, too. The same seed and the same number of
/// candidates give the same result.
///
/// Times are compared with those of the default, or of the start if the default was not simulated ([`SearchResult::reference`]). The best
/// candidate has the least value ([`Score::relative_to`]) among candidates that are slower than this reference on no routing.
///
/// # Errors
///
/// If the start can't be simulated, or the search ended before the start and the default were simulated.
pub fn search(
    trial: &Trial<'_>,
    space: &SearchSpace,
    going: &mut dyn FnMut(&SearchProgress<'_>) -> bool,
) -> Result<SearchResult, NoResult> {
    let SearchSpace { sizes, flows, start, with_default, seed } = space;
    let mut first = |candidate: &Candidate, limit, (step, tried)| {
        let mut simulated = 0;
        let outcome = trial.outcome(candidate, limit, &mut |ended| {
            simulated = ended;
            going(&SearchProgress { step, simulated, tried, found: None })
        });
        match outcome {
            Outcome::Ended => Err(NoResult::Ended { step, simulated }),
            Outcome::Score(score) => Ok(Ok(score)),
            Outcome::Invalid(failed) => Ok(Err(failed)),
            // Only the default has a limit; its failure is not reported.
            Outcome::TooSlow(_) => Ok(Err(FailedAt::default())),
        }
    };
    let score = first(start, None, (SearchStep::Start, 0))?.map_err(NoResult::Impossible)?;
    let mut tried = 1;
    let default = match (*start == Candidate::default(), with_default) {
        (true, _) => Some(score.clone()),
        (false, true) => {
            tried += 1;
            let limit = Limit { below: FAR_SLOWER * score.relative_to(&score), reference: &score };
            first(&Candidate::default(), Some(limit), (SearchStep::Default, 1))?.ok()
        }
        (false, false) => None,
    };
    let mut result = SearchResult { best: start.clone(), score: score.clone(), start: score, default, tried };
    let mut at = (start.clone(), result.value());
    let mut seen = HashMap::from([(key(start), Seen::Value(at.1))]);
    if let Some(default) = &result.default {
        let value = default.relative_to(default);
        seen.insert(key(&Candidate::default()), Seen::Value(value));
        if at.1 >= value {
            at = (Candidate::default(), value);
        }
        if result.value() >= value || !result.score.never_slower_than(default) {
            (result.best, result.score) = (Candidate::default(), default.clone());
        }
    }
    let knobs = Knob::all(sizes, start, flows, trial.target.cores.aiv);
    let mut search = Search { trial, result, seen, random: Random(*seed), going, ended: false };
    search.run(&knobs, at);
    Ok(search.result)
}

/// The text by which a candidate is found in `seen`.
fn key(candidate: &Candidate) -> String {
    format!("{candidate:?}")
}

struct Search<'a> {
    trial: &'a Trial<'a>,
    result: SearchResult,
    /// What is known about each candidate tried, by its text.
    seen: HashMap<String, Seen>,
    random: Random,
    going: &'a mut dyn FnMut(&SearchProgress<'_>) -> bool,
    /// Set when `going` has returned false.
    ended: bool,
}

/// What is known about a candidate that was tried.
#[derive(Clone, Copy)]
enum Seen {
    Invalid,
    Value(f64),
    AtLeast(f64),
}

impl Search<'_> {
    /// Descends, kicks the resulting candidate, and repeats this until kicks find no new candidate or the search must end.
    fn run(&mut self, knobs: &[Knob], mut at: (Candidate, f64)) {
        let mut idle = 0;
        while idle < KICKS {
            let before = self.result.tried;
            let reached = self.descend(knobs, at);
            if self.ended {
                return;
            }
            // If nothing new was tried, kicks lead to known candidates.
            idle = if self.result.tried == before { idle + 1 } else { 0 };
            let kicked = self.kick(knobs, reached);
            let best = self.result.value();
            at = match self.value(&kicked, FAR_SLOWER * best) {
                Some(value) => (kicked, value),
                None => (self.result.best.clone(), self.result.value()),
            };
        }
    }

    /// Sets one knob after another to its best value, until no knob helps or the search must end.
    fn descend(&mut self, knobs: &[Knob], (mut at, mut value): (Candidate, f64)) -> Candidate {
        loop {
            let before = value;
            let mut order: Vec<usize> = (0..knobs.len()).collect();
            self.random.shuffle(&mut order);
            for knob in order {
                for choice in 0..knobs[knob].len() {
                    let next = knobs[knob].turned(&at, choice);
                    if let Some(better) = self.value(&next, value) {
                        (at, value) = (next, better);
                    }
                    if self.ended {
                        return at;
                    }
                }
            }
            if value >= before {
                return at;
            }
        }
    }

    /// `at` with two random knobs at random values.
    fn kick(&mut self, knobs: &[Knob], mut at: Candidate) -> Candidate {
        for _ in 0..2 {
            let knob = &knobs[self.random.index(knobs.len())];
            let value = self.random.index(knob.len());
            at = knob.turned(&at, value);
        }
        at
    }

    /// Tries a candidate, unless its result is known. Returns its value if that is less than `below`.
    fn value(&mut self, candidate: &Candidate, below: f64) -> Option<f64> {
        let key = key(candidate);
        match self.seen.get(&key) {
            Some(Seen::Invalid) => return None,
            Some(Seen::Value(value)) => return Some(*value).filter(|value| *value < below),
            Some(Seen::AtLeast(value)) if *value >= below => return None,
            Some(Seen::AtLeast(_)) | None => {}
        }
        let limit = Limit { below, reference: self.result.reference() };
        let outcome = self.trial.outcome(candidate, Some(limit), &mut |simulated| {
            let (step, tried) = (SearchStep::Candidates, self.result.tried);
            (self.going)(&SearchProgress { step, simulated, tried, found: Some(&self.result) })
        });
        let seen = match outcome {
            Outcome::Ended => {
                self.ended = true;
                return None;
            }
            Outcome::Invalid(_) => Seen::Invalid,
            Outcome::TooSlow(value) => Seen::AtLeast(value),
            Outcome::Score(score) => {
                let value = score.relative_to(self.result.reference());
                if value < self.result.value() && score.never_slower_than(self.result.reference()) {
                    (self.result.best, self.result.score) = (candidate.clone(), score);
                }
                Seen::Value(value)
            }
        };
        self.result.tried += 1;
        self.seen.insert(key, seen);
        match seen {
            Seen::Value(value) if value < below => Some(value),
            Seen::Value(_) | Seen::Invalid | Seen::AtLeast(_) => None,
        }
    }
}
