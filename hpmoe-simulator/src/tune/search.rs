//! Coordinate descent from the default, with kicks where it ends.

use super::knob::Knob;
use super::{Score, Trial};
use hpmoe_codegen::random::Random;
use hpmoe_codegen::tuned::{Candidate, Shape};
use std::collections::HashMap;

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Candidates tried, those that turned out wrong among them.
    pub tried: usize,
    /// Time of the best over that of the default, the mean over routings.
    pub best: f64,
}

/// What a search has found.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchResult {
    /// The best candidate: the default where nothing is better on every routing.
    pub best: Candidate,
    /// Its times.
    pub score: Score,
    /// Those of the default.
    pub default: Score,
    /// Candidates tried.
    pub tried: usize,
}

/// After so many kicks without news the search ends by itself.
const KICKS: usize = 24;

/// Looks for the candidate with the least mean time plus a share of the worst, among those that are behind the default on no
/// routing. `sizes` are the kernel's own; `flows` its taskflows. Goes on while `going` says so; the same numbers of
/// candidates tried and the same seed find the same.
///
/// `None` where the default itself can't be simulated on the routings.
pub fn search(
    trial: &Trial<'_>,
    (sizes, flows): (&Shape, &[String]),
    seed: u64,
    going: &mut dyn FnMut(&Progress) -> bool,
) -> Option<SearchResult> {
    let default = trial.score(&Candidate::default())?;
    let knobs = Knob::all(sizes, flows, trial.target.cores.aiv);
    let found = SearchResult { best: Candidate::default(), score: default.clone(), default, tried: 1 };
    let mut search = Search { trial, found, seen: HashMap::new(), random: Random(seed), going };
    let mut from = Candidate::default();
    let mut value = search.found.default.relative_to(&search.found.default);
    let mut idle = 0;
    while idle < KICKS {
        let before = search.found.tried;
        let Some(reached) = search.descend(&knobs, from, value) else { break };
        // Where nothing new was tried, kicks lead to what is known.
        idle = if search.found.tried == before { idle + 1 } else { 0 };
        let kicked = search.kick(&knobs, reached);
        match search.value(&kicked) {
            Some(kicked_value) => (from, value) = (kicked, kicked_value),
            None => (from, value) = (search.found.best.clone(), search.found.score.relative_to(&search.found.default)),
        }
    }
    Some(search.found)
}

struct Search<'a> {
    trial: &'a Trial<'a>,
    found: SearchResult,
    /// By candidate: its value, or nothing where it is wrong.
    seen: HashMap<String, Option<f64>>,
    random: Random,
    going: &'a mut dyn FnMut(&Progress) -> bool,
}

impl Search<'_> {
    /// Turns one knob after another to its best value until no knob helps; nothing when time is up.
    fn descend(&mut self, knobs: &[Knob], mut at: Candidate, mut value: f64) -> Option<Candidate> {
        loop {
            let before = value;
            let mut order: Vec<usize> = (0..knobs.len()).collect();
            self.random.shuffle(&mut order);
            for knob in order {
                for choice in 0..knobs[knob].len() {
                    let best = self.found.score.ratios(&self.found.default);
                    let best = best.iter().sum::<f64>() / best.len() as f64;
                    if !(self.going)(&Progress { tried: self.found.tried, best }) {
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

    /// Two knobs of the best one elsewhere.
    fn kick(&mut self, knobs: &[Knob], mut at: Candidate) -> Candidate {
        for _ in 0..2 {
            let knob = &knobs[self.random.below(knobs.len() as u64) as usize];
            let value = self.random.below(knob.len() as u64) as usize;
            at = knob.turned(&at, value);
        }
        at
    }

    fn value(&mut self, candidate: &Candidate) -> Option<f64> {
        let key = format!("{candidate:?}");
        if let Some(&known) = self.seen.get(&key) {
            return known;
        }
        self.found.tried += 1;
        let score = self.trial.score(candidate);
        let value = score.as_ref().map(|score| score.relative_to(&self.found.default));
        self.seen.insert(key, value);
        if let Some((score, value)) = score.zip(value) {
            let best = self.found.score.relative_to(&self.found.default);
            if value < best && score.never_slower_than(&self.found.default) {
                (self.found.best, self.found.score) = (candidate.clone(), score);
            }
        }
        value
    }
}
