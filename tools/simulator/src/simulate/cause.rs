//! The cause of each task's start in a run, and the critical path of the run.

use super::{Time, TracedTask, Workload, ready_seen};
use hpmoe_core::target::Target;

/// The event that a task waited for last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The launch: the task is the first of its core, and did not have to wait.
    Launch,
    /// The end of the previous task on the same core; contains that task's number.
    Core(usize),
    /// A signal of another task; contains that task's number. The time between the two tasks is the latency of the signal, or the time
    /// until the core reads the counter again.
    Signal(usize),
    /// The ready word of another rank; contains that rank.
    Ready(u32),
}

impl Cause {
    /// Number of the task whose end or signal is the cause; `None` for other causes.
    #[must_use]
    pub const fn task(self) -> Option<usize> {
        match self {
            Self::Core(task) | Self::Signal(task) => Some(task),
            Self::Launch | Self::Ready(_) => None,
        }
    }
}

/// The cause of each task, in the order of [`traced_tasks`](super::traced_tasks).
#[must_use]
pub fn causes(target: &Target, workload: &dyn Workload, records: &[TracedTask]) -> Vec<Cause> {
    (0..records.len()).map(|task| cause(target, workload, records, task)).collect()
}

fn cause(target: &Target, workload: &dyn Workload, records: &[TracedTask], task: usize) -> Cause {
    let record = &records[task];
    if record.slice.begun > record.slice.looked {
        let seen = |by: usize| records[by].slice.end + target.way(records[by].slice.rank, record.slice.rank);
        let last = record.signalled_by.iter().flatten().copied().max_by_key(|&by| seen(by));
        let ready = record.task.awaits_ready.map(|peer| {
            let since = ready_seen(target, workload.costs(), record.slice.rank, peer);
            (since, Cause::Ready(peer))
        });
        let visible = Time::from_ns(target.sync.counter_visible_ns);
        let signal = last.map(|by| (seen(by) + visible, Cause::Signal(by)));
        if let Some((_, cause)) = ready.into_iter().chain(signal).max_by_key(|&(seen, _)| seen) {
            return cause;
        }
    }
    match task.checked_sub(1) {
        Some(before) if records[before].slice.is_on_core_of(&record.slice) => Cause::Core(before),
        _ => Cause::Launch,
    }
}

/// The numbers of the tasks that lead from the launch, or from a rank's ready word, to the task that ends last, in the order of time. If
/// one of these tasks had ended sooner, with all else equal, the next one could have begun sooner.
#[must_use]
pub fn critical_path(records: &[TracedTask], causes: &[Cause]) -> Vec<usize> {
    let last = (0..records.len()).max_by_key(|&task| records[task].slice.end);
    let mut path: Vec<usize> = std::iter::successors(last, |&task| causes[task].task()).collect();
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{Direction, LayerShape, Original, Replay};
    use crate::simulate::{Ours, simulate, traced_tasks};
    use hpmoe_core::fixture::{Layer, moe_ffn};
    use hpmoe_core::schedule::{Cores, schedule};

    /// Checks that every cause precedes its task, and that the critical path has no gap from the launch to the end.
    fn holds(target: &Target, workload: &dyn Workload) -> [usize; 4] {
        let run = simulate(target, workload, true).unwrap();
        let records = traced_tasks(workload, &run);
        let causes = causes(target, workload, &records);
        let mut found = [0; 4];
        for (record, cause) in records.iter().zip(&causes) {
            let slice = &record.slice;
            match *cause {
                Cause::Launch => found[0] += 1,
                Cause::Core(by) => {
                    found[1] += 1;
                    assert!(records[by].slice.end <= slice.came && slice.begun == slice.looked);
                }
                Cause::Signal(by) => {
                    found[2] += 1;
                    let way = target.way(records[by].slice.rank, slice.rank);
                    assert!(records[by].slice.end + way <= slice.begun && slice.begun > slice.looked);
                }
                Cause::Ready(peer) => {
                    found[3] += 1;
                    assert!(ready_seen(target, workload.costs(), slice.rank, peer) == slice.begun);
                }
            }
        }
        let path = critical_path(&records, &causes);
        assert_eq!(causes[path[0]].task(), None);
        assert!(path.windows(2).all(|pair| causes[pair[1]].task() == Some(pair[0])));
        let last = &records[*path.last().unwrap()].slice;
        assert!(records.iter().all(|record| record.slice.end <= last.end));
        found
    }

    #[test]
    fn every_cause_comes_first_and_the_path_reaches_the_launch() {
        let layer = Layer { hidden: 2048, inter: 512, experts: 8, top_k: 4, tokens: 256, ..Layer::DEEPSEEK };
        let shape = LayerShape { ranks: 4, tokens: 256, experts: 8, top_k: 4, hidden: 2048, intermediate: 512 };
        let (target, checked, routing) = (Target::ascend_a3(), moe_ffn(&layer), shape.balanced());
        let plan = schedule(&checked, Cores { aic: target.cores.aic, aiv: target.cores.aiv });
        let ours = holds(&target, &Ours::new(&target, &checked, &plan, &routing).unwrap());
        assert!(ours.iter().all(|&count| count > 0), "{ours:?}");
        let original = Replay::new(Original::new(shape, Direction::Forward), routing, &target);
        let original = holds(&target, &original);
        assert!(original[..3].iter().all(|&count| count > 0), "{original:?}");
    }
}
