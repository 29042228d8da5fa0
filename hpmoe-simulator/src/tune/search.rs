//! Coordinate descent from the default schedule, with random kicks where it gets stuck.

use super::knob::Knob;
use super::{Score, Trial};
use hpmoe_codegen::random::Random;
use hpmoe_codegen::tuned::{Candidate, NamedSizes};
use std::collections::HashMap;

/// The progress of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchProgress {
    /// The number of candidates tried, invalid ones included.
    pub tried: usize,
    /// The mean over routings of the time of the best candidate relative to the default.
    pub best: f64,
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchResult {
    /// The best candidate; the default where none is faster.
    pub best: Candidate,
    /// The times of the best candidate.
    pub score: Score,
    /// The times of the default.
    pub default: Score,
    /// The number of candidates tried.
    pub tried: usize,
}

/// The number of kicks without a new candidate after which the search ends.
const KICKS: usize = 24;

/// Searches for the candidate with the least mean time plus a share of the worst, among those that are slower than the default on
/// no routing. `sizes` are the tile sizes in the kernel's source, `flows` the names of its taskflows. The search goes on while
/// `going` returns true; the same seed and the same number of candidates give the same result.
///
/// `None` where the default can't be simulated on the routings.
pub fn search(
    trial: &Trial<'_>,
    (sizes, flows): (&NamedSizes, &[String]),
    seed: u64,
    going: &mut dyn FnMut(&SearchProgress) -> bool,
) -> Option<SearchResult> {
    let default = trial.score(&Candidate::default())?;
    let knobs = Knob::all(sizes, flows, trial.target.cores.aiv);
    let result = SearchResult { best: Candidate::default(), score: default.clone(), default, tried: 1 };
    let mut search = Search { trial, result, seen: HashMap::new(), random: Random(seed), going };
    let mut from = Candidate::default();
    let mut value = search.result.default.relative_to(&search.result.default);
    let mut idle = 0;
    while idle < KICKS {
        let before = search.result.tried;
        let Some(reached) = search.descend(&knobs, from, value) else { break };
        // Where nothing new was tried, kicks lead to known candidates.
        idle = if search.result.tried == before { idle + 1 } else { 0 };
        let kicked = search.kick(&knobs, reached);
        match search.value(&kicked) {
            Some(kicked_value) => (from, value) = (kicked, kicked_value),
            None => {
                (from, value) = (search.result.best.clone(), search.result.score.relative_to(&search.result.default))
            }
        }
    }
    Some(search.result)
}

struct Search<'a> {
    trial: &'a Trial<'a>,
    result: SearchResult,
    /// The values of candidates, by their text; `None` for invalid ones.
    seen: HashMap<String, Option<f64>>,
    random: Random,
    going: &'a mut dyn FnMut(&SearchProgress) -> bool,
}

impl Search<'_> {
    /// Turns one knob after another to its best value until no knob helps; `None` when the search has to end.
    fn descend(&mut self, knobs: &[Knob], mut at: Candidate, mut value: f64) -> Option<Candidate> {
        loop {
            let before = value;
            let mut order: Vec<usize> = (0..knobs.len()).collect();
            self.random.shuffle(&mut order);
            for knob in order {
                for choice in 0..knobs[knob].len() {
                    let best = self.result.score.ratios(&self.result.default);
                    let best = best.iter().sum::<f64>() / best.len() as f64;
                    if !(self.going)(&SearchProgress { tried: self.result.tried, best }) {
                        return None;
                    }
                    let next = knobs[knob].turned(&at, choice);
                    if let Some(better) = self.value(&next).filter(|&next| next < value) {
                        (at, value) = (next, better);
                    }
                }
            }
            if value >= before {
                return Some(at);
            }
        }
    }

    /// A candidate with two knobs at random values.
    fn kick(&mut self, knobs: &[Knob], mut at: Candidate) -> Candidate {
        for _ in 0..2 {
            let knob = &knobs[self.random.index(knobs.len())];
            let value = self.random.index(knob.len());
            at = knob.turned(&at, value);
        }
        at
    }

    fn value(&mut self, candidate: &Candidate) -> Option<f64> {
        let key = format!("{candidate:?}");
        if let Some(&known) = self.seen.get(&key) {
            return known;
        }
        self.result.tried += 1;
        let score = self.trial.score(candidate);
        let value = score.as_ref().map(|score| score.relative_to(&self.result.default));
        self.seen.insert(key, value);
        if let Some((score, value)) = score.zip(value) {
            let best = self.result.score.relative_to(&self.result.default);
            if value < best && score.never_slower_than(&self.result.default) {
                (self.result.best, self.result.score) = (candidate.clone(), score);
            }
        }
        value
    }
}
