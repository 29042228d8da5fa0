//! The part of the picture with the work and the waits of each core of one rank.

use super::colours::{LAUNCH, ROWS, WORK};
use super::picture::{Lane, Picture, PicturePart, caption, ground};
use super::stack::Stack;
use crate::simulate::{CoreKind, Time, TracedTask};
use hpmoe_core::units::Nanos;
use std::collections::BTreeMap;
use std::ops::Range;
use svg::node::element::{Group, Path};

const GAP: f64 = 10.0;
const WAITS: f64 = 30.0;

pub(super) fn cores(picture: &Picture<'_>, rank: u32, top: f64) -> PicturePart {
    let mut group = Group::new();
    let mut height = 0.0;
    for (kind, name, each) in [(CoreKind::Aic, "matrix cores", 8.0), (CoreKind::Aiv, "vector cores", 5.0)] {
        let cores = f64::from(picture.workload.cores(kind));
        let note = format!("rank {rank}, {cores} lanes");
        let first = Lane { top: top + height, height: each };
        let all = Lane { height: cores * each, ..first };
        group = group.add(caption(name, &note, all.top)).add(ground(all)).add(lanes(picture, rank, kind, first));
        height += cores * each + 3.0;
        let lane = Lane { top: top + height, height: WAITS };
        group = group
            .add(caption("waits", &format!("share of {name}"), lane.top))
            .add(ground(lane))
            .add(waits(picture, rank, kind, lane));
        height += WAITS + GAP;
    }
    PicturePart { group, height }
}

/// A lane with the share of cores that wait, by the reason of the wait.
fn waits(picture: &Picture<'_>, rank: u32, kind: CoreKind, lane: Lane) -> Group {
    let mut stack = Stack::new(picture, 2);
    let own = picture.records.iter().filter(|record| (record.slice.rank, record.slice.kind) == (rank, kind));
    for record in own {
        let layer = usize::from(!record.waited_for_rows(&picture.records));
        stack.add(layer, record.slice.looked, record.slice.begun);
    }
    stack.draw(picture.workload.cores(kind), lane, |layer| [ROWS, WORK][layer])
}

/// One lane per core, starting at lane `first` and going down.
fn lanes(picture: &Picture<'_>, rank: u32, kind: CoreKind, first: Lane) -> Group {
    let x = |time: Time| picture.axis.x(Nanos(time.0 / 1_000));
    let mut boxes: BTreeMap<&str, Boxes> = BTreeMap::new();
    let launch = picture.workload.costs().launch;
    if launch > Time::ZERO {
        let height = f64::from(picture.workload.cores(kind)) * first.height;
        boxes.entry(LAUNCH).or_default().add(x(Time::ZERO)..x(launch), Lane { height, ..first });
    }
    let own: Vec<&TracedTask> =
        picture.records.iter().filter(|record| (record.slice.rank, record.slice.kind) == (rank, kind)).collect();
    for core in own.chunk_by(|a, b| a.slice.core == b.slice.core) {
        let top = first.top + f64::from(core[0].slice.core) * first.height;
        let lane = Lane { top, height: first.height - 1.0 };
        // Tasks of one operation without a visible gap are one box.
        let joined =
            |a: &&TracedTask, b: &&TracedTask| a.task.op == b.task.op && x(b.slice.begun) - x(a.slice.end) < 0.25;
        for same in core.chunk_by(joined) {
            let (begins, ends) = (same[0], same[same.len() - 1]);
            let waited = x(begins.slice.looked)..x(begins.slice.begun);
            if waited.end - waited.start >= 0.25 {
                let colour = if begins.waited_for_rows(&picture.records) { ROWS } else { WORK };
                boxes.entry(colour).or_default().add(waited.clone(), lane);
            }
            let colour = picture.colours.colour(begins.task.op as usize);
            boxes.entry(colour).or_default().add(waited.end..x(ends.slice.end), lane);
        }
    }
    let paths = boxes.into_iter().filter_map(|(colour, boxes)| boxes.draw(colour));
    paths.fold(Group::new(), Group::add)
}

/// Minimum width of a box in pixels, so that every task is visible.
const THINNEST: f64 = 1.0;

/// Rectangles of one colour, drawn as a single SVG element.
#[derive(Default)]
struct Boxes(String);

impl Boxes {
    fn add(&mut self, x: Range<f64>, lane: Lane) {
        let (from, width) = (x.start, (x.end - x.start).max(THINNEST));
        let Lane { top, height } = lane;
        self.0.push_str(&format!("M{from:.2} {top:.2}h{width:.2}v{height:.2}h-{width:.2}z"));
    }

    fn draw(self, colour: &str) -> Option<Path> {
        (!self.0.is_empty()).then(|| Path::new().set("d", self.0).set("fill", colour))
    }
}
