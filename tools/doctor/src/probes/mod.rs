//! All probes, in the order of their dependence.

mod adds;
mod argument;
mod cores;
mod data_order;
mod flags;
mod landed;
mod npu;
mod poll;
mod reach;
mod ready;
mod relu;
mod rows;
mod stuck;
mod sums;
mod toolkit;

use crate::answer::{Answer, Failure, Then};
use crate::examination::Examination;
use crate::words;

/// One assumption, and what looks at it.
pub(crate) struct Probe {
    pub(crate) name: &'static str,
    pub(crate) assumption: &'static str,
    /// Probes that it needs the assumptions of.
    needs: &'static [&'static str],
    /// Ranks that it needs.
    ranks: usize,
    /// Runs it on the ranks here, at the same time as other processes do: what was seen.
    run: fn(&mut Examination) -> Result<String, Failure>,
    /// If the assumption fails: what that means, which promise falls, and what to change.
    pub(crate) means: &'static str,
    pub(crate) falls: &'static str,
    pub(crate) change: &'static str,
}

static PROBES: [&Probe; 16] = [
    &toolkit::PROBE,
    &npu::PROBE,
    &argument::PROBE,
    &cores::PROBE,
    &poll::PROBE,
    &adds::OWN,
    &data_order::PROBE,
    &flags::PROBE,
    &sums::PROBE,
    &relu::PROBE,
    &reach::PROBE,
    &adds::PEERS,
    &landed::PROBE,
    &ready::PROBE,
    // Of these, a core may be left that waits for ever.
    &rows::PROBE,
    &stuck::PROBE,
];

/// Runs all probes, and prints each answer if this process tells them.
pub(crate) fn answers(examination: &mut Examination) -> Vec<(&'static Probe, Answer)> {
    let mut answers: Vec<(&Probe, Answer)> = Vec::new();
    for probe in PROBES {
        let answer = match hindrance(probe, examination, &answers) {
            Some(why) => Answer::NotRun(why),
            None => probe.answer(examination),
        };
        if examination.team.tells() {
            words::answer(probe, &answer);
        }
        answers.push((probe, answer));
    }
    answers
}

/// Why a probe can't be run.
fn hindrance(probe: &Probe, examination: &Examination, answers: &[(&Probe, Answer)]) -> Option<String> {
    if let Some(gone) = &examination.gone {
        return Some(gone.clone());
    }
    let ends = |answer: &Answer| matches!(answer, Answer::Fails(failure) if failure.then == Then::Nothing);
    if let Some((last, _)) = answers.iter().find(|(_, answer)| ends(answer)) {
        return Some(format!("an NPU may still be busy with `{}`, or no longer answers", last.name));
    }
    let lacks = |name: &&&str| answers.iter().any(|(earlier, answer)| earlier.name == **name && !answer.lets_on());
    if let Some(lacking) = probe.needs.iter().find(lacks) {
        return Some(format!("it needs `{lacking}`"));
    }
    let ranks = examination.team.ranks;
    (ranks < probe.ranks).then(|| {
        format!("it needs {} ranks, and there is {ranks}: --processes {}, or --ranks {0}", probe.ranks, probe.ranks)
    })
}

impl Probe {
    /// Whether one rank is enough for it.
    pub(crate) const fn is_of_one(&self) -> bool {
        self.ranks == 1
    }

    /// What came of it on all ranks.
    fn answer(&self, examination: &mut Examination) -> Answer {
        let mine = (self.run)(examination);
        let all = examination.team.exchange(mine.map(String::into_bytes));
        match all {
            // All ranks have seen the like.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_need_earlier_ones() {
        for (at, probe) in PROBES.iter().enumerate() {
            let earlier = |name: &&str| PROBES[..at].iter().any(|earlier| earlier.name == *name);
            assert!(probe.needs.iter().all(earlier), "{}", probe.name);
        }
    }
}
