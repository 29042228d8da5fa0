//! The timeline of a simulated run: the entries of a schedule, and the steps between entries.

use super::Ours;
use crate::simulate::{Cursor, QueuedTask, Simulated, TaskTimes, Workload as _};
use hpmoe_core::ids::{Arena, Id as _, PartId};
use hpmoe_core::schedule::{Bar, CoreKind, StepBar, StepKind, Timeline};
use hpmoe_core::time::Time;
use hpmoe_core::units::Nanos;
use std::collections::BTreeMap;

impl Ours<'_> {
    /// The entries of a rank in a run that recorded times, and the steps outside of entries: the launch, and the tables of a route. An
    /// entry lasts from the start of its first tile to the end of its last tile on any core, so entries of one queue can overlap. Entries
    /// without tiles are left out.
    #[must_use]
    pub fn timeline(&self, run: &Simulated, rank: u32) -> Timeline {
        let mut cores: BTreeMap<_, Vec<&TaskTimes>> = BTreeMap::new();
        for slice in run.slices.iter().filter(|slice| slice.rank == rank) {
            cores.entry((slice.kind, slice.core)).or_default().push(slice);
        }
        let nanos = |time: Time| Nanos(time.0 / 1_000);
        let mut steps = self.launch_steps();
        // By part and place in its queue.
        let mut spans: BTreeMap<(PartId, usize), (Nanos, Nanos)> = BTreeMap::new();
        for ((kind, core), mut slices) in cores {
            slices.sort_by_key(|slice| slice.end);
            let (part, _) = self.part(kind, core).expect("a core with tasks has a queue");
            let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
            for slice in slices {
                if !self.next(rank, kind, core, &mut cursor, &mut task) {
                    break;
                }
                // The route is not an entry of a queue.
                if task.op as usize == self.phases() {
                    let (kind, start) = match kind {
                        CoreKind::Aic => (StepKind::AwaitsTables, slice.looked),
                        CoreKind::Aiv => (StepKind::Tables, slice.begun),
                    };
                    add(&mut steps[part], StepBar { kind, start: nanos(start), end: nanos(slice.end) });
                    continue;
                }
                let queue = &self.order.queues[part][cursor.entry as usize..];
                let joined = queue.iter().position(|entry| entry.phase.index() == task.op as usize);
                let place = cursor.entry as usize + joined.expect("the task's entry is one of the joined entries");
                let [begun, end] = [slice.begun, slice.end].map(nanos);
                let span = spans.entry((part, place)).or_insert((begun, end));
                *span = (span.0.min(begun), span.1.max(end));
            }
        }
        let bars = |part: PartId| {
            let own = spans.range((part, 0)..=(part, usize::MAX));
            own.map(|(&(_, place), &(start, end))| Bar { entry: self.order.queues[part][place], start, end }).collect()
        };
        Timeline { lanes: self.order.parts.ids().map(bars).collect(), steps, end: nanos(run.time) }
    }

    /// The steps before the first entries: the launch, and the tables of a route that the kernel makes before anything else.
    fn launch_steps(&self) -> Arena<PartId, Vec<StepBar>> {
        let launch = Time::from_us(self.target.launch.kernel_us);
        let tables = self.costs().launch;
        let bar =
            |kind, start: Time, end: Time| StepBar { kind, start: Nanos(start.0 / 1_000), end: Nanos(end.0 / 1_000) };
        let steps = || {
            let mut steps = vec![bar(StepKind::Launch, Time::ZERO, launch)];
            if tables > launch {
                steps.push(bar(StepKind::Tables, launch, tables));
            }
            steps
        };
        self.order.parts.iter().map(|_| steps()).collect()
    }
}

/// Adds a core's step to the steps of its part, and merges it with a step of the same kind.
fn add(steps: &mut Vec<StepBar>, step: StepBar) {
    match steps.iter_mut().find(|known| known.kind == step.kind) {
        Some(known) => (known.start, known.end) = (known.start.min(step.start), known.end.max(step.end)),
        None => steps.push(step),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Routing, RoutingSizes, simulate};
    use hpmoe_core::analyze::CheckedGraph;
    use hpmoe_core::fixture::{Layer, moe_ffn, routed, router};
    use hpmoe_core::report::simulated_svg;
    use hpmoe_core::schedule::schedule_for;
    use hpmoe_core::target::Target;

    const LAYER: Layer = Layer { tokens: 96, ..Layer::SMALL };

    /// For rank 0 of four: its timeline, the number of entries in its queues, and the picture.
    fn drawn(checked: &CheckedGraph) -> (Timeline, usize, String) {
        let target = Target::ascend_a3();
        let schedule = schedule_for(checked, &target);
        let routing = Routing::zipf(RoutingSizes { ranks: 4, experts: 16, top_k: 4, tokens: 96 }, 1.2, 5);
        let ours = Ours::new(&target, checked, &schedule, &routing).unwrap();
        let timeline = ours.timeline(&simulate(&target, &ours, true).unwrap(), 0);
        let entries = schedule.order(4).unwrap().queues.iter().map(|(_, queue)| queue.len()).sum();
        let picture = simulated_svg(checked, &schedule, 4, &timeline, "Simulated.").unwrap();
        (timeline, entries, picture)
    }

    #[test]
    fn all_of_a_schedule_is_drawn() {
        for checked in [moe_ffn(&LAYER), routed(&LAYER), router(&LAYER)] {
            let (timeline, entries, picture) = drawn(&checked);
            // The title of a box states its number of entries if that is not 1. Captions state how many entries have no tile.
            let number = |text: &str, words: &str| {
                let (before, _) = text.split_once(words)?;
                before.rsplit(|one: char| !one.is_ascii_digit()).next()?.parse::<usize>().ok()
            };
            let titles: Vec<&str> =
                picture.split("<title>").skip(1).map(|rest| rest.split_once('<').unwrap().0).collect();
            let steps = ["launch: ", "tables of the route: ", "waits for the tables of the route: "];
            let (others, boxes): (Vec<&str>, Vec<&str>) =
                titles.iter().partition(|title| steps.iter().any(|step| title.starts_with(step)));
            let in_boxes: usize = boxes.iter().map(|title| number(title, " entries: ").unwrap_or(1)).sum();
            let without: usize = picture.split("<text").filter_map(|text| number(text, " without tiles")).sum();
            let name = &checked.graph().kernel;
            assert_eq!(in_boxes, timeline.lanes.iter().map(|(_, lane)| lane.len()).sum::<usize>(), "{name}");
            assert_eq!(in_boxes + without, entries, "{name}");
            assert_eq!(others.len(), timeline.steps.iter().map(|(_, steps)| steps.len()).sum::<usize>(), "{name}");
            // Cores of a lane run several entries at a time: an entry ends with its last core.
            let overlap = |two: &[Bar]| two[0].start <= two[1].start && two[0].end > two[1].start;
            assert!(timeline.lanes.iter().any(|(_, lane)| lane.windows(2).any(overlap)), "{name}");
            let time = |text: &str| text.trim_end_matches(" µs").parse::<f64>().unwrap();
            for title in &titles {
                let (from, to) = title.rsplit_once(": ").unwrap().1.split_once(" to ").unwrap();
                assert!(time(from) <= time(to), "{name}: {title}");
            }
            for used in picture.split("in use ").skip(1).map(|rest| rest.split_once(" %").unwrap().0) {
                assert!(used.parse::<u64>().unwrap() <= 100, "{name}: {used} %");
            }
            // No box is thinner than a pixel.
            let width = |rest: &str| rest.split_once('"').unwrap().0.parse::<f64>().unwrap();
            assert!(picture.split("<rect").skip(1).all(|rect| width(rect.split_once(" width=\"").unwrap().1) >= 1.0));
        }
    }

    #[test]
    fn the_tables_of_a_route_are_steps_of_all_cores() {
        let kinds = |checked: &CheckedGraph| -> Vec<Vec<StepKind>> {
            let (timeline, ..) = drawn(checked);
            timeline.steps.iter().map(|(_, steps)| steps.iter().map(|step| step.kind).collect()).collect()
        };
        use StepKind::{AwaitsTables, Launch, Tables};
        // The route is made on the host, before anything else, and after tasks that choose experts.
        assert_eq!(kinds(&moe_ffn(&LAYER)), [[Launch], [Launch], [Launch]]);
        assert_eq!(kinds(&routed(&LAYER)), [[Launch, Tables], [Launch, Tables], [Launch, Tables]]);
        assert_eq!(kinds(&router(&LAYER)), [[Launch, AwaitsTables], [Launch, Tables], [Launch, Tables]]);
        let (timeline, ..) = drawn(&router(&LAYER));
        for (part, steps) in timeline.steps.iter() {
            for step in steps.iter().filter(|step| step.kind == Tables) {
                let meets = |bar: &&Bar| bar.start < step.end && step.start < bar.end;
                assert_eq!(timeline.lanes[part].iter().find(meets), None, "cores do one thing at a time: {step:?}");
            }
        }
    }
}
