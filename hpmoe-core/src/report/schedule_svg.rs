//! A schedule as a picture: a lane for each part.

mod palette;

use super::drawing::{Axis, number, text};
use crate::analyze::CheckedGraph;
use crate::collections::SortedSet;
use crate::graph::TaskGraph;
use crate::ids::{PhaseId, RoleId};
use crate::schedule::{Bar, Entry, Role, Schedule, StepBar, StepKind, Timeline, timeline};
use crate::target::Target;
use crate::units::Nanos;
use palette::Palette;
use svg::Document;
use svg::node::element::{Group, Rectangle, Style, Title};

const WIDTH: f64 = 1240.0;
const LEFT: f64 = 172.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 84.0;
const LANE: f64 = 66.0;
const BAR: f64 = 44.0;
const LEGEND: f64 = 64.0;
/// The width in pixels below which bars have no label.
const LABEL: f64 = 22.0;
/// The minimum width of a bar in pixels. Narrower bars are drawn this wide; adjacent ones become one box.
const NARROW: f64 = 1.0;

const STYLE: &str = "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#22272e;font-size:12px}\
    .title{font-size:18px;font-weight:600}.note{fill:#59636e}.role{font-size:14px;font-weight:600}\
    .inside{fill:#ffffff;font-size:11px;text-anchor:middle}.tick{fill:#59636e;text-anchor:middle}";

/// A picture (SVG) of the order of entries on one rank, with a lane for each queue; `None` if there is no schedule for that number of
/// ranks.
///
/// Widths show the estimated times by which the entries were ordered for the target. They are not latencies, and the picture
/// has no time axis; [`simulated_svg`] draws times.
#[must_use]
pub fn schedule_svg(checked: &CheckedGraph, schedule: &Schedule, target: &Target, ranks: u32) -> Option<String> {
    drawn(checked, schedule, ranks, &timeline(checked, schedule, target, ranks)?, None)
}

/// A picture (SVG) of a simulated timeline of one rank, with the sentence `about` below the title; `None` if there is no schedule for that
/// number of ranks.
#[must_use]
pub fn simulated_svg(
    checked: &CheckedGraph,
    schedule: &Schedule,
    ranks: u32,
    timeline: &Timeline,
    about: &str,
) -> Option<String> {
    drawn(checked, schedule, ranks, timeline, Some(about))
}

fn drawn(
    checked: &CheckedGraph,
    schedule: &Schedule,
    ranks: u32,
    timeline: &Timeline,
    simulated: Option<&str>,
) -> Option<String> {
    let graph = checked.graph();
    let axis = Axis::new(timeline.end, LEFT, WIDTH - LEFT - RIGHT);
    let palette = Palette::new(graph);
    let order = schedule.order(ranks)?;
    let lanes = order.parts.len() as f64;
    let height = TOP + lanes * LANE + 40.0 + LEGEND;
    let mut picture = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {height}"))
        .set("width", WIDTH)
        .set("height", height)
        .add(Style::new(STYLE))
        .add(Rectangle::new().set("width", WIDTH).set("height", height).set("fill", "#ffffff"))
        .add(heading(graph, simulated, ranks));
    let timed = simulated.is_some();
    if timed {
        picture = picture.add(axis.draw(TOP - 8.0, TOP + lanes * LANE));
    }
    for (at, (part, bars)) in timeline.lanes.iter().enumerate() {
        let top = TOP + at as f64 * LANE;
        let steps = &timeline.steps[part];
        let shares = timed.then(|| (in_use(bars, steps), timeline.end));
        let without = order.queues[part].len() - bars.len();
        picture = picture.add(caption(&order.parts[part], shares, without, top)).add(lane(
            graph,
            (&axis, timed),
            &palette,
            (bars, steps),
            top,
        ));
    }
    let is_drawn =
        |kind: &StepKind| timeline.steps.iter().any(|(_, steps)| steps.iter().any(|step| step.kind == *kind));
    let kinds: Vec<StepKind> =
        [StepKind::Launch, StepKind::Tables, StepKind::AwaitsTables].into_iter().filter(is_drawn).collect();
    let picture = picture.add(legend(graph, schedule, &palette, &kinds, TOP + lanes * LANE + 56.0));
    Some(picture.to_string() + "\n")
}

fn heading(graph: &TaskGraph, simulated: Option<&str>, ranks: u32) -> Group {
    let plural = if ranks == 1 { "" } else { "s" };
    let what = if simulated.is_some() { "simulated" } else { "order of entries" };
    let title = format!("{}::{}, {ranks} rank{plural}: {what}", graph.kernel, graph.taskflow);
    let sizes = &graph.sizes;
    let about = simulated.unwrap_or(
        "Widths are modelled, for balanced routing, and show the order; `hpmoe schedule --svg` draws simulated times.",
    );
    let note =
        format!("{} tokens on each rank, top {} of {} experts. {about}", sizes.tokens, sizes.top_k, sizes.experts);
    Group::new().add(text(title, 20.0, 32.0, "title")).add(text(note, 20.0, 54.0, "note"))
}

/// The time in which a core of a part is in use: in an entry, or while it makes tables.
fn in_use(bars: &[Bar], steps: &[StepBar]) -> Nanos {
    let tables = steps.iter().filter(|step| step.kind == StepKind::Tables).map(|step| (step.start, step.end));
    let mut spans: Vec<(Nanos, Nanos)> = bars.iter().map(|bar| (bar.start, bar.end)).chain(tables).collect();
    spans.sort_unstable();
    let (mut used, mut reached) = (0, Nanos(0));
    for (start, end) in spans {
        used += end.0.saturating_sub(start.max(reached).0);
        reached = reached.max(end);
    }
    Nanos(used)
}

/// An entry's bar, and the time at which the box of a later entry begins to cover it.
struct Shown<'a> {
    bar: &'a Bar,
    until: Nanos,
}

/// The bars of a lane in the order of their starts. Cores of a lane can run several entries at a time, so bars overlap.
fn shown(bars: &[Bar]) -> Vec<Shown<'_>> {
    let mut sorted: Vec<&Bar> = bars.iter().collect();
    sorted.sort_by_key(|bar| bar.start);
    let next = sorted.iter().skip(1).map(|bar| bar.start).chain([Nanos(u64::MAX)]);
    sorted.iter().zip(next).map(|(&bar, next)| Shown { bar, until: bar.end.min(next) }).collect()
}

/// The name of a part, its cores, the share of the time in which they are in use, and the number of entries that have nothing to draw.
fn caption(role: &Role, shares: Option<(Nanos, Nanos)>, without: usize, top: f64) -> Group {
    let share = |(used, end): (Nanos, Nanos)| format!(", in use {} %", used.0 * 100 / end.0.max(1));
    let note = format!("{} {}{}", role.count, role.kind, shares.map_or_else(String::new, share));
    let caption = Group::new().add(text(role.name.to_owned(), 20.0, top + 18.0, "role")).add(text(
        note,
        20.0,
        top + 35.0,
        "note",
    ));
    match without {
        0 => caption,
        1 => caption.add(text("1 entry without tiles".to_owned(), 20.0, top + 51.0, "note")),
        _ => caption.add(text(format!("{without} entries without tiles"), 20.0, top + 51.0, "note")),
    }
}

/// The colour and the name of a step.
const fn of_step(kind: StepKind) -> (&'static str, &'static str) {
    match kind {
        StepKind::Launch => ("#d5dae0", "launch"),
        StepKind::Tables => ("#8d5fb2", "tables of the route"),
        StepKind::AwaitsTables => ("#dccfe9", "waits for the tables of the route"),
    }
}

/// A box of the height of a lane, at least as wide as [`NARROW`].
fn boxed((from, to): (f64, f64), top: f64, fill: &str, title: String) -> Rectangle {
    Rectangle::new()
        .set("x", number(from))
        .set("y", top)
        .set("width", number((to - from).max(NARROW)))
        .set("height", BAR)
        .set("fill", fill)
        .add(Title::new(title))
}

fn lane(
    graph: &TaskGraph,
    (axis, timed): (&Axis, bool),
    palette: &Palette,
    (bars, steps): (&[Bar], &[StepBar]),
    top: f64,
) -> Group {
    let floor = Rectangle::new()
        .set("x", LEFT)
        .set("y", top)
        .set("width", WIDTH - LEFT - RIGHT)
        .set("height", BAR)
        .set("fill", "#f2f4f6");
    let mut lane = Group::new().add(floor);
    let place = |start: Nanos, end: Nanos| (axis.x(start), axis.x(end));
    let times = |start: Nanos, end: Nanos| format!("{} to {}", axis.time(start), axis.time(end));
    for step in steps {
        let (fill, name) = of_step(step.kind);
        let (from, to) = place(step.start, step.end);
        lane = lane.add(boxed((from, to), top, fill, format!("{name}: {}", times(step.start, step.end))));
    }
    let bars = shown(bars);
    let narrow = |shown: &Shown<'_>| axis.x(shown.until) - axis.x(shown.bar.start) < NARROW;
    let (thin, wide): (Vec<&[Shown<'_>]>, Vec<&[Shown<'_>]>) = bars
        .chunk_by(|a, b| narrow(a) && narrow(b) && axis.x(b.bar.start) - axis.x(a.until) < NARROW)
        .partition(|bars| bars.iter().all(narrow));
    // Thin boxes come last, so that none is hidden below a wide one.
    for same in wide.into_iter().chain(thin) {
        let start = same[0].bar.start;
        let end = same.iter().map(|shown| shown.bar.end).max().unwrap_or(start);
        let entries: Vec<Entry> = same.iter().map(|shown| shown.bar.entry).collect();
        let mut title = super::runs::runs(graph, &entries).join("; ");
        if same.len() > 1 {
            title = format!("{} entries: {title}", same.len());
        }
        if timed {
            title.push_str(&format!(": {}", times(start, end)));
        }
        let longest = same.iter().map(|shown| shown.bar).max_by_key(|bar| bar.end - bar.start).unwrap_or(same[0].bar);
        let drawn = if narrow(&same[0]) { same[same.len() - 1].until } else { end };
        let (from, to) = place(start, drawn);
        let shape = boxed((from, to), top, palette.colour(longest.entry.phase), title);
        lane = lane.add(if to - from > 2.0 { shape.set("stroke", "#ffffff").set("stroke-width", 0.4) } else { shape });
    }
    let of_entry = |shown: &Shown<'_>| (shown.bar.entry.phase, shown.bar.entry.expert);
    for same in bars.chunk_by(|a, b| of_entry(a) == of_entry(b)) {
        let (from, to) = (axis.x(same[0].bar.start), axis.x(same[same.len() - 1].until));
        let entry = same[0].bar.entry;
        let blocks = graph.spaces[graph.phases[entry.phase].space].by_chunk();
        if to - from > LABEL && !blocks {
            let label = format!("e{}", entry.expert);
            lane = lane.add(text(label, f64::midpoint(from, to), top + BAR / 2.0 + 4.0, "inside"));
        }
    }
    lane
}

fn legend(graph: &TaskGraph, schedule: &Schedule, palette: &Palette, steps: &[StepKind], top: f64) -> Group {
    let mut legend = Group::new();
    let mut left = LEFT;
    let ordered: SortedSet<(RoleId, PhaseId)> = schedule.phases.iter().map(|(id, phase)| (phase.role, id)).collect();
    let mut top = top;
    let phases = ordered.into_iter().map(|(_, phase)| (graph.phase_name(phase), palette.colour(phase)));
    let steps = steps.iter().map(|&kind| of_step(kind)).map(|(fill, name)| (name.to_owned(), fill));
    for (name, fill) in phases.chain(steps) {
        let width = 34.0 + 7.2 * name.chars().count() as f64;
        if left + width > WIDTH - RIGHT {
            (left, top) = (LEFT, top + 22.0);
        }
        let swatch = Rectangle::new()
            .set("x", number(left))
            .set("y", number(top))
            .set("width", 14)
            .set("height", 14)
            .set("rx", 2)
            .set("fill", fill);
        legend = legend.add(swatch).add(text(name, left + 20.0, top + 11.5, "name"));
        left += width;
    }
    legend
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::{Choices, schedule_with};

    #[test]
    fn every_entry_is_drawn_and_only_simulated_times_are_told() {
        // Enough tokens that each of four peers is served by cores of its own.
        let checked = moe_ffn(&Layer { tokens: 3072, ..Layer::SMALL });
        let choices = Choices::read("peer_cores=20").unwrap();
        let schedule = schedule_with(&checked, &Target::ascend_a3(), &choices);
        let picture = schedule_svg(&checked, &schedule, &Target::ascend_a3(), 4).unwrap();
        // 49 entries, 6 lanes, the page, 7 phases in the legend.
        assert_eq!(picture.matches("<rect").count(), 49 + 6 + 1 + 7);
        assert_eq!(picture.matches("<title>").count(), 49);
        assert!(picture.contains("order of entries") && !picture.contains(" µs"));
        let timeline = timeline(&checked, &schedule, &Target::ascend_a3(), 4).unwrap();
        let simulated = simulated_svg(&checked, &schedule, 4, &timeline, "Simulated.").unwrap();
        assert!(simulated.contains("4 ranks: simulated") && simulated.contains(" µs"));
        assert_eq!(schedule_svg(&checked, &schedule, &Target::ascend_a3(), 4).unwrap(), picture);
        assert_eq!(schedule_svg(&checked, &schedule, &Target::ascend_a3(), 3), None);
    }
}
