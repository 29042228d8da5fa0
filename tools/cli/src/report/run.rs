//! A simulated run, in the form that the page's script reads.

use crate::simulate::runs::PolicyRun;
use crate::simulate::scenario::Scenario;
use hpmoe_core::graph::SpaceKind;
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::simulate::{Cause, CoreKind, Policy, Time, TracedTask, causes, critical_path, traced_tasks};
use hpmoe_simulator::{WAIT_COLOURS, launch_colour, op_colours};
use serde_json::{Value, json};
use std::path::Path;

/// A run of all ranks, with the tasks of one rank and all tasks on which they depend.
pub(super) struct Run {
    /// The rank that is drawn.
    pub(super) rank: u32,
    /// Bytes of puts, by source and then by destination.
    pub(super) traffic: Vec<Vec<u64>>,
    /// The data for the script: times in ns, and tasks as one array per property.
    pub(super) data: Value,
}

impl Run {
    /// Prepares a simulated run with a timeline. The page draws the given rank; by default, the one that ends last.
    pub(super) fn new(
        scenario: &Scenario,
        PolicyRun { policy, simulated: run, separate, .. }: &PolicyRun,
        file: &Path,
        rank: Option<u32>,
    ) -> Result<Self, String> {
        let policy = *policy;
        let workload = scenario.workload(policy)?;
        let records = traced_tasks(&*workload, run);
        let causes = causes(&scenario.target, &*workload, &records);
        let path = critical_path(&records, &causes);
        let rank = rank.unwrap_or_else(|| run.last_rank());
        if rank >= scenario.ranks {
            return Err(format!("--rank {rank}: the ranks are 0 to {}", scenario.ranks - 1));
        }
        let kept = Kept::new(&records, &causes, &path, rank);
        let spaces = spaces(scenario, policy);
        let colours = op_colours(&*workload, &records);
        let ops = workload.ops().iter().zip(colours).enumerate().map(|(number, (op, colour))| {
            json!({"name": op.name, "line": op.line, "colour": colour, "space": spaces.get(number).unwrap_or(&"")})
        });
        let name = match policy {
            Policy::Ours => format!("{}, {}", scenario.name, printable_path(file)),
            _ => format!("the original ({})", policy.name()),
        };
        let data = json!({
            "name": name,
            "file": if policy == Policy::Ours { printable_path(file) } else { String::new() },
            "end": ns(run.time),
            "separate": ns(*separate),
            "rank": rank,
            "ranks": scenario.ranks,
            "experts": scenario.routing.local_experts(),
            "chunks": scenario.checked().graph().sizes.chunks,
            "cores": [workload.cores(CoreKind::Aic), workload.cores(CoreKind::Aiv)],
            "waits": WAIT_COLOURS,
            "launch": launch_colour(&scenario.target, &*workload).map(|(name, colour)| {
                json!({"name": name, "colour": colour, "end": ns(workload.costs().launch)})
            }),
            "ops": ops.collect::<Vec<_>>(),
            "tasks": kept.tasks(&records, &causes, workload.cores(CoreKind::Aic)),
            "path": path.iter().map(|&task| kept.number[task]).collect::<Vec<_>>(),
        });
        Ok(Self { rank, traffic: run.traffic.clone(), data })
    }
}

/// The tasks on the page: all tasks of a rank, and those that these tasks or the end of the run depend on.
struct Kept {
    /// The number of each task on the page.
    number: Vec<Option<usize>>,
    /// The task of each number on the page.
    tasks: Vec<usize>,
}

impl Kept {
    fn new(records: &[TracedTask], causes: &[Cause], path: &[usize], rank: u32) -> Self {
        let mut number = vec![None; records.len()];
        let own = (0..records.len()).filter(|&task| records[task].slice.rank == rank);
        for task in own.chain(path.iter().copied()) {
            let mut next = Some(task);
            while let Some(task) = next.filter(|&task| number[task].is_none()) {
                number[task] = Some(0);
                next = causes[task].task();
            }
        }
        let tasks: Vec<usize> = (0..records.len()).filter(|&task| number[task].is_some()).collect();
        for (at, &task) in tasks.iter().enumerate() {
            number[task] = Some(at);
        }
        Self { number, tasks }
    }

    /// The tasks as one array per property, which keeps the page small.
    fn tasks(&self, records: &[TracedTask], causes: &[Cause], matrix_cores: u32) -> Value {
        let all = |property: &dyn Fn(&TracedTask) -> u64| -> Vec<u64> {
            self.tasks.iter().map(|&task| property(&records[task])).collect()
        };
        let cause = |&task: &usize| match causes[task] {
            Cause::Launch => (0, 0),
            Cause::Core(by) => (1, self.number[by].unwrap_or(0)),
            Cause::Signal(by) => (2, self.number[by].unwrap_or(0)),
            Cause::Ready(peer) => (3, peer as usize),
        };
        let (cause, by): (Vec<u32>, Vec<usize>) = self.tasks.iter().map(cause).unzip();
        json!({
            "rank": all(&|record| record.slice.rank.into()),
            // Vector cores follow matrix cores.
            "lane": all(&|record| {
                let first = if record.slice.kind == CoreKind::Aic { 0 } else { matrix_cores };
                (first + record.slice.core).into()
            }),
            "op": all(&|record| record.task.op.into()),
            "group": all(&|record| record.task.group.into()),
            "item": all(&|record| record.task.item.into()),
            "column": all(&|record| record.task.column.into()),
            "came": all(&|record| ns(record.slice.came)),
            "looked": all(&|record| ns(record.slice.looked)),
            "begun": all(&|record| ns(record.slice.begun)),
            "end": all(&|record| ns(record.slice.end)),
            "rows": all(&|record| u64::from(record.waited_for_rows(records))),
            "cause": cause,
            "by": by,
        })
    }
}

/// What the groups of each operation stand for.
fn spaces(scenario: &Scenario, policy: Policy) -> Vec<&'static str> {
    if policy != Policy::Ours {
        return Vec::new();
    }
    let graph = scenario.checked().graph();
    let kind = |kind: SpaceKind| match kind {
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => "expert",
        SpaceKind::Sends | SpaceKind::SendsOnce => "send",
        SpaceKind::Arrivals => "arrival",
        SpaceKind::Blocks => "block",
        SpaceKind::Chunks => "chunk",
    };
    graph.phases.iter().map(|(_, phase)| kind(graph.spaces[phase.space].kind)).collect()
}

const fn ns(time: Time) -> u64 {
    time.0 / 1_000
}
