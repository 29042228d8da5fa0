//! Tests validation with schedules of all kernels that are changed field by field, and with schedules of changed
//! analyses: everything that validation accepts must run right.
//!
//! A number stands for a changed schedule, the same on every machine. `HPMOE_SCHEDULES` is the number of schedules that
//! are tried and `HPMOE_SCHEDULES_FROM` the first one. `HPMOE_SCHEDULES_KEPT` names a file with results, so that a
//! later run continues an interrupted one. `HPMOE_ANALYSES` and its variants do the same for changed analyses.

mod analysis;
mod blocks;
mod fields;
mod judge;
mod kept;
mod phases;
mod subjects;
mod tally;
mod together;
mod values;

use super::execute::Failure;
use super::validate::{has_structure, keeps_promises};
use crate::analyze::CheckedGraph;
use crate::random::Random;
use crate::schedule::{CHOICES, Choices, Cores, Schedule};
use blocks::Numbers;
use fields::{Known, field};
use judge::Judge;
pub(super) use subjects::any;
use subjects::{Subject, made, subjects};
use tally::{Outcome, Verdict};
use together::together;

/// Number of schedules, unless the environment sets another.
const USUAL: u64 = 500;

/// A changed schedule.
struct Mutant<'a> {
    subject: &'a Subject,
    whole: &'a Schedule,
    schedule: Schedule,
    changes: Vec<String>,
}

impl<'a> Mutant<'a> {
    /// Makes the schedule with this number. Kernels take turns; one or several fields are changed.
    fn new(subjects: &'a [Subject], number: u64, random: &mut Random) -> Self {
        let subject = &subjects[(number % subjects.len() as u64) as usize];
        let whole = &subject.wholes[random.index(subject.wholes.len())];
        let known = Known { checked: &subject.checked, whole };
        let mut schedule = whole.clone();
        let mut changes = Vec::new();
        let wanted = [1, 1, 1, 1, 1, 2, 2, 3][random.index(8)];
        while changes.len() < wanted || schedule == *whole {
            let change = if random.index(3) == 0 { together } else { field };
            changes.push(change(&mut schedule, &known, random));
        }
        Self { subject, whole, schedule, changes }
    }

    /// Judges the changed schedule.
    fn outcome(&self, number: u64, random: &mut Random) -> Outcome {
        let Self { subject: Subject { name, checked, judge, .. }, whole, schedule, changes } = self;
        let (verdict, failure) = verdict(checked, judge, (schedule, whole), random, |_| true);
        outcome(number, name, changes, verdict, failure)
    }
}

/// The verdict on a schedule, and how it fails if it runs wrong. An accepted schedule runs on all routings; for a
/// refused one, a few show whether it is wrong. `accepted` is called for a schedule with a valid structure.
fn verdict(
    checked: &CheckedGraph,
    judge: &Judge,
    (schedule, whole): (&Schedule, &Schedule),
    random: &mut Random,
    accepted: impl FnOnce(&CheckedGraph) -> bool,
) -> (Verdict, Option<Failure>) {
    let mut violations = Vec::new();
    if !has_structure(checked, schedule, &mut violations) {
        return (Verdict::Malformed, None);
    }
    keeps_promises(checked, schedule, &mut violations);
    if violations.is_empty() && accepted(checked) {
        let failure = judge.failure_anywhere(checked, schedule, random);
        return (if failure.is_none() { Verdict::Right } else { Verdict::Wrong }, failure);
    }
    let failure = judge.failure(checked, schedule, whole, random);
    (if failure.is_none() { Verdict::RefusedRight } else { Verdict::RefusedWrong }, failure)
}

fn outcome(number: u64, kernel: &str, changes: &[String], verdict: Verdict, failure: Option<Failure>) -> Outcome {
    let all = changes.join(", ");
    let wrong = (verdict == Verdict::Wrong).then(|| format!("{number}: {all} of {kernel}: {failure:?}"));
    Outcome {
        change: if let [change] = changes { change.clone() } else { "several changes".to_owned() },
        verdict,
        wrong,
    }
}

#[test]
fn changed_schedules_that_are_accepted_run_right() {
    let numbers = Numbers::new("HPMOE_SCHEDULES", USUAL);
    let found = numbers.run(|subjects, number| {
        let mut random = Random(number);
        Mutant::new(subjects, number, &mut random).outcome(number, &mut random)
    });
    let (tally, count) = (&found.tally, numbers.count());
    assert!(found.wrong.is_empty(), "accepted and wrong: {:#?}", found.wrong);
    assert!(tally.total(Verdict::Right) * 50 > count, "some changes keep a schedule right: {}", tally.line());
    assert!(tally.total(Verdict::RefusedWrong) * 10 > count, "most break it: {}", tally.line());
}

/// Number of kernels that together try all values of all choices. If `HPMOE_CHOICES` is more than usual, each kernel tries all values.
const SHARING: usize = 12;

/// Tries single choices with each value, and random values of all choices at once. `HPMOE_CHOICES` is the number of random combinations per
/// kernel; if it is more than usual, each kernel also tries every single value.
#[test]
fn schedules_of_all_choices_are_accepted() {
    let usual = 2;
    let by_chance = Numbers::new("HPMOE_CHOICES", usual);
    let sharing = if by_chance.count() > usual { 1 } else { SHARING };
    let mut random = Random(12 + by_chance.from());
    for (number, subject) in subjects(0).into_iter().enumerate() {
        let values = CHOICES.iter().flat_map(|choice| choice.tried.iter().map(move |value| (choice.key, *value)));
        let own = values.skip(number % sharing).step_by(sharing);
        let single = own.map(|(key, value)| {
            let mut choices = Choices::default();
            choices.set(key, value).expect("the value is one that tuning tries");
            choices
        });
        let all: Vec<Choices> = single.chain((0..by_chance.count()).map(|_| any(&mut random))).collect();
        // Many choices give the same schedule, which is judged only once.
        let mut judged: Vec<Schedule> = Vec::new();
        for choices in all {
            let cores = [Cores::ASCEND_A3, Cores { aic: 1, aiv: 2 }, Cores { aic: 3, aiv: 8 }][random.index(3)];
            let schedule = made(&subject.checked, cores, &choices);
            if judged.contains(&schedule) {
                continue;
            }
            let mut violations = Vec::new();
            assert!(has_structure(&subject.checked, &schedule, &mut violations), "{}: {violations:?}", subject.name);
            keeps_promises(&subject.checked, &schedule, &mut violations);
            assert_eq!(violations, [], "{}: {choices}", subject.name);
            let failure = subject.judge.failure(&subject.checked, &schedule, &schedule, &mut random);
            assert_eq!(failure, None, "{}: {choices}", subject.name);
            judged.push(schedule);
        }
        assert!(judged.len() > 1, "{}: {} schedules", subject.name, judged.len());
    }
}

/// Every schedule that the judge accepts runs. A schedule that must fail does so for every number of ranks.
#[test]
fn the_judge_sees_what_is_missing() {
    for subject in subjects(0) {
        let whole = &subject.wholes[0];
        assert!(subject.judge.ranks() > 1, "{}", subject.name);
        let mut silent = whole.clone();
        for phase in whole.phases.ids() {
            silent.phases[phase].signals.clear();
        }
        let mut random = Random(0);
        // Without waits, nothing can be missed.
        let fails = subject.judge.failure(&subject.checked, &silent, whole, &mut random).is_some();
        assert_eq!(fails, whole.waits().next().is_some(), "{}", subject.name);
        let other = Schedule { elided: Vec::new(), ..whole.clone() };
        let mut empty = whole.clone();
        empty.orders.iter_mut().for_each(|order| {
            order.queues.ids().collect::<Vec<_>>().into_iter().for_each(|part| order.queues[part].clear());
        });
        assert_eq!(subject.judge.failure(&subject.checked, &other, &empty, &mut random), None, "{}", subject.name);
    }
}
