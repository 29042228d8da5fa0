//! The work and the waits of every core of one rank.

use super::colours::{ROWS, WORK};
use super::picture::{Picture, PicturePart, caption, ground};
use super::stack::Stack;
use crate::simulate::{CoreKind, Time, TracedTask};
use hpmoe_core::units::Nanos;
use std::collections::BTreeMap;
use svg::node::element::{Group, Path};

const GAP: f64 = 10.0;
const WAITS: f64 = 30.0;

pub(super) fn cores(picture: &Picture<'_>, rank: u32, top: f64) -> PicturePart {
    let mut group = Group::new();
    let mut height = 0.0;
    for (kind, name, lane) in [(CoreKind::Aic, "matrix cores", 8.0), (CoreKind::Aiv, "vector cores", 5.0)] {
        let cores = f64::from(picture.workload.cores(kind));
        let note = format!("rank {rank}, {cores} lanes");
        group = group.add(caption(name, &note, top + height)).add(ground(top + height, cores * lane)).add(lanes(
            picture,
            rank,
            kind,
            (top + height, lane),
        ));
        height += cores * lane + 3.0;
        let place = (top + height, WAITS);
        group = group
            .add(caption("waits", &format!("share of {name}"), place.0))
            .add(ground(place.0, WAITS))
            .add(waits(picture, rank, kind, place));
        height += WAITS + GAP;
    }
    PicturePart { group, height }
}

/// The share of cores that wait, by what they wait for.
fn waits(picture: &Picture<'_>, rank: u32, kind: CoreKind, place: (f64, f64)) -> Group {
    let mut stack = Stack::new(picture, 2);
    let own = picture.records.iter().filter(|record| (record.slice.rank, record.slice.kind) == (rank, kind));
    for record in own {
        let layer = usize::from(!record.waited_for_rows(&picture.records));
        stack.add(layer, record.slice.looked, record.slice.begun);
    }
    stack.draw(picture.workload.cores(kind), place, |layer| [ROWS, WORK][layer])
}

fn lanes(picture: &Picture<'_>, rank: u32, kind: CoreKind, (top, lane): (f64, f64)) -> Group {
    let x = |time: Time| picture.axis.x(Nanos(time.0 / 1_000));
    let mut boxes: BTreeMap<&str, Boxes> = BTreeMap::new();
    let own: Vec<&TracedTask> =
        picture.records.iter().filter(|record| (record.slice.rank, record.slice.kind) == (rank, kind)).collect();
    for core in own.chunk_by(|a, b| a.slice.core == b.slice.core) {
        let y = top + f64::from(core[0].slice.core) * lane;
        // Tasks of one operation without a visible gap are one box.
        let joined =
            |a: &&TracedTask, b: &&TracedTask| a.task.op == b.task.op && x(b.slice.begun) - x(a.slice.end) < 0.25;
        for same in core.chunk_by(joined) {
            let (first, last) = (same[0], same[same.len() - 1]);
            let waited = (x(first.slice.looked), x(first.slice.begun));
            if waited.1 - waited.0 >= 0.25 {
                let colour = if first.waited_for_rows(&picture.records) { ROWS } else { WORK };
                boxes.entry(colour).or_default().add(waited, y, lane - 1.0);
            }
            let colour = picture.colours.of(first.task.op as usize);
            boxes.entry(colour).or_default().add((waited.1, x(last.slice.end)), y, lane - 1.0);
        }
    }
    let paths = boxes.into_iter().filter_map(|(colour, boxes)| boxes.draw(colour));
    paths.fold(Group::new(), Group::add)
}

/// Rectangles of one colour, drawn as one element.
#[derive(Default)]
struct Boxes(String);

impl Boxes {
    fn add(&mut self, (from, to): (f64, f64), top: f64, height: f64) {
        let width = (to - from).max(0.15);
        self.0.push_str(&format!("M{from:.2} {top:.2}h{width:.2}v{height:.2}h-{width:.2}z"));
    }

    fn draw(self, colour: &str) -> Option<Path> {
        (!self.0.is_empty()).then(|| Path::new().set("d", self.0).set("fill", colour))
    }
}
