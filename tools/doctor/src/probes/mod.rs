//! All probes, in the order of their dependencies.

mod adds;
mod argument;
mod cores;
mod data_order;
mod flags;
mod landed;
mod npu;
mod poll;
mod probe;
mod reach;
mod ready;
mod relu;
mod rows;
mod stuck;
mod sums;
mod toolkit;

use crate::answer::{Answer, Then};
use crate::examination::Examination;
use crate::words;
pub(crate) use probe::Probe;

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
    // The last ones, because they may leave a core that waits for ever.
    &rows::PROBE,
    &stuck::PROBE,
];

/// Runs all probes. The process that prints results prints each answer.
pub(crate) fn answers(examination: &mut Examination) -> Vec<(&'static Probe, Answer)> {
    let mut answers: Vec<(&Probe, Answer)> = Vec::new();
    for probe in PROBES {
        let answer = match hindrance(probe, examination, &answers) {
            Some(why) => Answer::NotRun(why),
            None => probe.answer(examination),
        };
        if examination.team.tells() {
            words::answer(probe, &answer);
            examination.answers.iter().for_each(|file| words::note(file, probe, &answer));
        }
        answers.push((probe, answer));
    }
    answers
}

/// Refuses a name that no probe has.
pub(crate) fn refuse_unknown(names: &[String]) -> Result<(), String> {
    let Some(unknown) = names.iter().find(|name| !PROBES.iter().any(|probe| probe.name == **name)) else {
        return Ok(());
    };
    let known: Vec<&str> = PROBES.iter().map(|probe| probe.name).collect();
    Err(format!("--skip {unknown}: there is no such probe; the probes are {}", known.join(", ")))
}

/// The reason why a probe can't run.
fn hindrance(probe: &Probe, examination: &Examination, answers: &[(&Probe, Answer)]) -> Option<String> {
    if let Some(gone) = &examination.gone {
        return Some(gone.clone());
    }
    if examination.skip.iter().any(|name| name == probe.name) {
        return Some("left out (--skip)".to_owned());
    }
    let ends = |answer: &Answer| matches!(answer, Answer::Fails(failure) if failure.then == Then::Nothing);
    if let Some((last, _)) = answers.iter().find(|(_, answer)| ends(answer)) {
        return Some(format!("an NPU may still be busy with `{}`, or no longer answers", last.name));
    }
    let lacks = |name: &&&str| answers.iter().any(|(earlier, answer)| earlier.name == **name && !answer.lets_on());
    if let Some(lacking) = probe.needs.iter().find(lacks) {
        return Some(format!("it needs `{lacking}`, which does not hold or was not run"));
    }
    let ranks = examination.team.ranks;
    (ranks < probe.ranks).then(|| {
        format!("it needs {} ranks, but there is {ranks}: --processes {}, or --ranks {0}", probe.ranks, probe.ranks)
    })
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
