//! The kernels whose schedules are changed, each with schedules for several machines and choices.

use super::judge::Judge;
use crate::analyze::CheckedGraph;
use crate::random::Random;
use crate::schedule::{CHOICES, Choices, Cores, Schedule, schedule_with};
use crate::target::Target;
use crate::validate::derive::derive;
use crate::validate::kernels::{SMALL_GROUPS, kernels_with};

/// A kernel, valid schedules of it, and the judge of other schedules.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) checked: CheckedGraph,
    pub(super) wholes: Vec<Schedule>,
    pub(super) judge: Judge,
}

/// All kernels of the examples and all small kernels, with few experts, and with the schedules and routings of a block. The order of analysis
/// is the same for every schedule.
pub(super) fn subjects(block: u64) -> Vec<Subject> {
    let subject = |(name, checked): (String, CheckedGraph)| {
        let mut violations = Vec::new();
        derive(&checked, &mut violations);
        assert_eq!(violations, [], "{name}");
        let (wholes, judge) = right(&name, &checked, block);
        Subject { name, checked, wholes, judge }
    };
    kernels_with(&SMALL_GROUPS).into_iter().map(subject).collect()
}

impl Subject {
    /// Makes the valid schedules and the routings of another block.
    pub(super) fn renew(&mut self, block: u64) {
        (self.wholes, self.judge) = right(&self.name, &self.checked, block);
    }
}

fn right(name: &str, checked: &CheckedGraph, block: u64) -> (Vec<Schedule>, Judge) {
    let mut random = Random(name.len() as u64 + (block << 16));
    let wholes = machines(&mut random).map(|(cores, choices)| made(checked, cores, &choices)).collect();
    (wholes, Judge::new(checked, &mut random))
}

/// Machines and choices: default choices on few cores; sending cores dedicated to peers; peers in turn; and random
/// choices on random cores.
fn machines(random: &mut Random) -> impl Iterator<Item = (Cores, Choices)> {
    let read = |text| Choices::read(text).expect("the text lists choices");
    let plain = (Cores { aic: 3, aiv: 5 }, Choices::default());
    let dedicated = (Cores { aic: 3, aiv: 8 }, read("put_cores=6 peer_cores=20 dedicate_from=0 by_arrival=always"));
    let any = |_| (Cores { aic: 1 + random.below(4) as u32, aiv: 2 + random.below(7) as u32 }, any(random));
    let in_turn = (Cores { aic: 3, aiv: 5 }, read("turn_rows=2"));
    [plain, dedicated, in_turn].into_iter().chain((0..3).map(any).collect::<Vec<_>>())
}

/// A random value of each choice, among those that tuning tries.
pub(in crate::validate) fn any(random: &mut Random) -> Choices {
    let mut choices = Choices::default();
    for choice in &CHOICES {
        choices
            .set(choice.key, choice.tried[random.index(choice.tried.len())])
            .expect("the value is one that tuning tries");
    }
    choices
}

pub(super) fn made(checked: &CheckedGraph, cores: Cores, choices: &Choices) -> Schedule {
    schedule_with(checked, &cores.on(&Target::ascend_a3()), choices)
}
