//! A schedule as a picture: a lane for each part.

mod palette;

use super::drawing::{Axis, number, text};
use crate::analyze::CheckedGraph;
use crate::collections::SortedSet;
use crate::graph::TaskGraph;
use crate::ids::{PhaseId, RoleId};
use crate::schedule::{Bar, Role, Schedule, Timeline, timeline};
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
/// Narrower bars have no label.
const LABEL: f64 = 22.0;

const STYLE: &str = "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#22272e;font-size:12px}\
    .title{font-size:18px;font-weight:600}.note{fill:#59636e}.role{font-size:14px;font-weight:600}\
    .inside{fill:#ffffff;font-size:11px;text-anchor:middle}.tick{fill:#59636e;text-anchor:middle}";

/// The order of entries of one rank, with a lane for each queue; `None` if there is no schedule for that number of ranks.
///
/// Widths are those of the times along which a target's entries were ordered. They are no latency, and the picture says none:
/// [`simulated_svg`] draws times.
#[must_use]
pub fn schedule_svg(checked: &CheckedGraph, schedule: &Schedule, target: &Target, ranks: u32) -> Option<String> {
    drawn(checked, schedule, ranks, &timeline(checked, schedule, target, ranks)?, None)
}

/// A simulated timeline of one rank, with a sentence about it; `None` if there is no schedule for that number of ranks.
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
        picture = picture.add(caption(&order.parts[part], timed.then_some((bars, timeline.end)), top)).add(lane(
            graph,
            (&axis, timed),
            &palette,
            bars,
            top,
        ));
    }
    let picture = picture.add(legend(graph, schedule, &palette, TOP + lanes * LANE + 56.0));
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

fn caption(role: &Role, timed: Option<(&[Bar], Nanos)>, top: f64) -> Group {
    let share = |(bars, end): (&[Bar], Nanos)| {
        let busy: u64 = bars.iter().map(|bar| (bar.end - bar.start).0).sum();
        format!(", in use {} %", busy * 100 / end.0.max(1))
    };
    Group::new().add(text(role.name.to_owned(), 20.0, top + 20.0, "role")).add(text(
        format!("{} {}{}", role.count, role.kind, timed.map_or_else(String::new, share)),
        20.0,
        top + 38.0,
        "note",
    ))
}

fn lane(graph: &TaskGraph, (axis, timed): (&Axis, bool), palette: &Palette, bars: &[Bar], top: f64) -> Group {
    let floor = Rectangle::new()
        .set("x", LEFT)
        .set("y", top)
        .set("width", WIDTH - LEFT - RIGHT)
        .set("height", BAR)
        .set("fill", "#f2f4f6");
    let mut lane = Group::new().add(floor);
    for bar in bars {
        let (from, to) = (axis.x(bar.start), axis.x(bar.end));
        let name = entry(graph, bar);
        let times = format!(": {} to {}", axis.time(bar.start), axis.time(bar.end));
        let title = format!("{name}{}", if timed { &times } else { "" });
        let shape = Rectangle::new()
            .set("x", number(from))
            .set("y", top)
            .set("width", number((to - from).max(0.1)))
            .set("height", BAR)
            .set("fill", palette.of(bar.entry.phase))
            .add(Title::new(title));
        lane = lane.add(if to - from > 2.0 { shape.set("stroke", "#ffffff").set("stroke-width", 0.4) } else { shape });
    }
    for same in bars.chunk_by(|a, b| (a.entry.phase, a.entry.expert) == (b.entry.phase, b.entry.expert)) {
        let (from, to) = (axis.x(same[0].start), axis.x(same[same.len() - 1].end));
        let blocks = graph.spaces[graph.phases[same[0].entry.phase].space].by_chunk();
        if to - from > LABEL && !blocks {
            let label = format!("e{}", same[0].entry.expert);
            lane = lane.add(text(label, f64::midpoint(from, to), top + BAR / 2.0 + 4.0, "inside"));
        }
    }
    lane
}

/// As in `dispatch e3 +1`.
fn entry(graph: &TaskGraph, bar: &Bar) -> String {
    super::runs::runs(graph, &[bar.entry]).concat()
}

fn legend(graph: &TaskGraph, schedule: &Schedule, palette: &Palette, top: f64) -> Group {
    let mut legend = Group::new();
    let mut left = LEFT;
    let ordered: SortedSet<(RoleId, PhaseId)> = schedule.phases.iter().map(|(id, phase)| (phase.role, id)).collect();
    let mut top = top;
    for (_, phase) in ordered {
        let name = graph.phase_name(phase);
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
            .set("fill", palette.of(phase));
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
