//! Probes: assumptions, and the functions that check them.

use crate::answer::{Answer, Failure, Then};
use crate::examination::Examination;

/// One assumption, and the function that checks it.
pub(crate) struct Probe {
    pub(crate) name: &'static str,
    pub(crate) assumption: &'static str,
    /// Probes whose assumptions this one needs.
    pub(super) needs: &'static [&'static str],
    /// Number of ranks that the probe needs.
    pub(super) ranks: usize,
    /// Runs the probe on the local ranks, at the same time as in other processes. Returns what was observed.
    pub(super) run: fn(&mut Examination) -> Result<String, Failure>,
    /// What a failure means. `falls` is the promise that no longer holds, `change` the change that is needed.
    pub(crate) means: &'static str,
    pub(crate) falls: &'static str,
    pub(crate) change: &'static str,
}

impl Probe {
    /// Returns whether one rank is enough for the probe.
    pub(crate) const fn is_of_one(&self) -> bool {
        self.ranks == 1
    }

    /// The probe's answer for all ranks.
    pub(super) fn answer(&self, examination: &mut Examination) -> Answer {
        let mine = (self.run)(examination);
        let all = examination.team.exchange(mine.map(String::into_bytes));
        match all {
            // All ranks have made equivalent observations.
            Ok(seen) => Answer::Holds(String::from_utf8_lossy(&seen[0]).into_owned()),
            Err(Failure { seen, then: Then::Gone }) => {
                examination.lost = true;
                examination.gone = Some(seen.clone());
                Answer::NotRun(seen)
            }
            Err(failure) => {
                examination.lost |= failure.then == Then::Nothing;
                Answer::Fails(failure)
            }
        }
    }
}
