//! The knobs that a search turns.

use hpmoe_core::schedule::{CHOICES, Choices};
use hpmoe_core::tuned::{Candidate, NamedSizes};

/// A knob: one tile size, or one choice of a taskflow's schedule, with the values to try.
#[derive(Clone, Debug)]
pub(super) enum Knob {
    Size { name: String, own: usize, values: Vec<usize> },
    Choice { flow: String, key: &'static str, values: Vec<&'static str> },
}

impl Knob {
    /// All knobs of a kernel: its tile sizes, with values around those of `start` and the kernel's own, and the choices
    /// of each taskflow.
    pub(super) fn all(sizes: &NamedSizes, start: &Candidate, flows: &[String], vector_cores: u32) -> Vec<Self> {
        let size = |(name, &own): (&String, &usize)| {
            let first = start.sizes.get(name).copied().unwrap_or(own);
            let mut values = vec![first / 4, first / 2, first, first * 2, first * 4, own];
            values.retain(|&value| value > 0);
            values.sort_unstable();
            values.dedup();
            Self::Size { name: name.clone(), own, values }
        };
        let choice = |flow: &String| {
            CHOICES
                .iter()
                .map(move |choice| {
                    let too_many = |value: &str| value.parse().is_ok_and(|cores: u32| cores >= vector_cores);
                    let tried = choice.tried.iter().copied();
                    let possible = tried.filter(|value| choice.key != "put_cores" || !too_many(value));
                    Self::Choice { flow: flow.clone(), key: choice.key, values: possible.collect() }
                })
                .collect::<Vec<_>>()
        };
        sizes.iter().map(size).chain(flows.iter().flat_map(choice)).collect()
    }

    /// Number of values to try.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Size { values, .. } => values.len(),
            Self::Choice { values, .. } => values.len(),
        }
    }

    /// `candidate` with this knob at value number `value`.
    pub(super) fn turned(&self, candidate: &Candidate, value: usize) -> Candidate {
        let mut candidate = candidate.clone();
        match self {
            Self::Size { name, own, values } => {
                candidate.sizes.remove(name);
                if values[value] != *own {
                    candidate.sizes.insert(name.clone(), values[value]);
                }
            }
            Self::Choice { flow, key, values } => {
                let choices = candidate.choices.entry(flow.clone()).or_default();
                choices.set(key, values[value]).expect("values to try are valid");
                if *choices == Choices::default() {
                    candidate.choices.remove(flow);
                }
            }
        }
        candidate
    }
}
