//! Schedules of all kernels, changed field by field: what validation accepts must run right.
//!
//! A number stands for a changed schedule, the same on every machine. `HPMOE_SCHEDULES` says how many are tried, and
//! `HPMOE_SCHEDULES_FROM` the first.

mod fields;
mod judge;
mod phases;
mod subjects;
mod tally;
mod together;
mod values;

use super::execute::Failure;
use super::validate::{has_structure, keeps_promises};
use crate::random::Random;
use crate::schedule::{CHOICES, Choices, Cores, Schedule};
use fields::{Known, field};
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
pub(super) use subjects::any;
use subjects::{Subject, made, subjects};
use tally::{Tally, Verdict};
use together::together;

/// Schedules that are tried unless the environment says how many.
const USUAL: u64 = 500;

/// A changed schedule.
struct Mutant<'a> {
    subject: &'a Subject,
    whole: &'a Schedule,
    schedule: Schedule,
    changes: Vec<String>,
}

impl<'a> Mutant<'a> {
    /// The schedule with this number: kernels take turns; one field or several are changed.
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

    /// What became of it, and how it fails where it runs wrong.
    fn verdict(&self, random: &mut Random) -> (Verdict, Option<Failure>) {
        let Self { subject: Subject { checked, judge, .. }, whole, schedule, .. } = self;
        let mut violations = Vec::new();
        if !has_structure(checked, schedule, &mut violations) {
            return (Verdict::Malformed, None);
        }
        keeps_promises(checked, schedule, &mut violations);
        let failure = judge.failure(checked, schedule, whole, random);
        let verdict = match (violations.is_empty(), failure.is_none()) {
            (true, true) => Verdict::Right,
            (true, false) => Verdict::Wrong,
            (false, true) => Verdict::RefusedRight,
            (false, false) => Verdict::RefusedWrong,
        };
        (verdict, failure)
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return usual };
    text.parse().unwrap_or_else(|_| panic!("`{name}` is `{text}`: it is a number"))
}

#[test]
fn changed_schedules_that_are_accepted_run_right() {
    let (from, count) = (setting("HPMOE_SCHEDULES_FROM", 0), setting("HPMOE_SCHEDULES", USUAL));
    let (next, begin) = (AtomicU64::new(from), Instant::now());
    let all = Mutex::new((Tally::default(), Vec::new()));
    // Graphs stay on their thread.
    let work = || {
        let subjects = subjects();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= from + count {
                return;
            }
            let mut random = Random(number);
            let mutant = Mutant::new(&subjects, number, &mut random);
            let (verdict, failure) = mutant.verdict(&mut random);
            let mut all = all.lock().expect("nobody panics with it");
            all.0.count(if let [change] = &mutant.changes[..] { change } else { "several changes" }, verdict);
            if verdict == Verdict::Wrong {
                let changes = mutant.changes.join(", ");
                let wrong = format!("{number}: {changes} of {}: {failure:?}", mutant.subject.name);
                eprintln!("accepted and wrong: {wrong}");
                all.1.push(wrong);
            }
            if number % 10_000 == 9_999 {
                let _ = writeln!(
                    std::io::stderr(),
                    "{} s, go on by HPMOE_SCHEDULES_FROM={}: {}",
                    begin.elapsed().as_secs(),
                    number + 1,
                    all.0.line()
                );
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(1 + count as usize / 10_000);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (tally, wrong) = all.into_inner().expect("nobody panicked with it");
    eprintln!("{tally}{}", tally.line());
    assert!(wrong.is_empty(), "accepted and wrong: {wrong:#?}");
    assert!(tally.total(Verdict::Right) * 50 > count, "some changes keep a schedule right: {}", tally.line());
    assert!(tally.total(Verdict::RefusedWrong) * 10 > count, "most break it: {}", tally.line());
}

/// Every value of every choice, and values of all of them by chance.
#[test]
fn schedules_of_all_choices_are_accepted() {
    let mut random = Random(12);
    for subject in subjects() {
        let values = CHOICES.iter().flat_map(|choice| choice.tried.iter().map(move |value| (choice.key, *value)));
        let single = values.map(|(key, value)| {
            let mut choices = Choices::default();
            choices.set(key, value).expect("it is tried");
            choices
        });
        let all: Vec<Choices> = single.chain((0..8).map(|_| any(&mut random))).collect();
        for choices in all {
            let cores = [Cores::ASCEND_A3, Cores { aic: 1, aiv: 2 }, Cores { aic: 3, aiv: 8 }][random.index(3)];
            let schedule = made(&subject.checked, cores, &choices);
            let mut violations = Vec::new();
            assert!(has_structure(&subject.checked, &schedule, &mut violations), "{}: {violations:?}", subject.name);
            keeps_promises(&subject.checked, &schedule, &mut violations);
            assert_eq!(violations, [], "{}: {choices}", subject.name);
        }
    }
}

/// What is judged right is run: a schedule that everybody refuses fails for every number of ranks.
#[test]
fn the_judge_sees_what_is_missing() {
    for subject in subjects() {
        let whole = &subject.wholes[0];
        assert!(subject.judge.ranks() > 1, "{}", subject.name);
        let mut silent = whole.clone();
        for phase in whole.phases.ids() {
            silent.phases[phase].signals.clear();
        }
        let mut random = Random(0);
        // Where nothing waits, nothing is missed.
        let fails = subject.judge.failure(&subject.checked, &silent, whole, &mut random).is_some();
        assert_eq!(fails, whole.waits().next().is_some(), "{}", subject.name);
        let other = Schedule { elided: Vec::new(), lightest_first: whole.lightest_first, ..whole.clone() };
        let mut empty = whole.clone();
        empty.orders.iter_mut().for_each(|order| {
            order.queues.ids().collect::<Vec<_>>().into_iter().for_each(|part| order.queues[part].clear());
        });
        assert_eq!(subject.judge.failure(&subject.checked, &other, &empty, &mut random), None, "{}", subject.name);
    }
}
