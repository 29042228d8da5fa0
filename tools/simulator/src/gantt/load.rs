//! The part of the picture with the load of each end of a rank's links.

use super::picture::{LEFT, Lane, Picture, PicturePart, STEP, caption, ground, steps};
use crate::simulate::{TracedTask, Work};
use hpmoe_core::report::drawing::number;
use svg::node::element::{Group, Path};

const HEIGHT: f64 = 34.0;
const GAP: f64 = 6.0;
/// An end of a rank's links.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) rank: u32,
    pub(super) out: bool,
    pub(super) same_package: bool,
}

/// Four lanes with the load of the ends of a rank's links: out and in, to its own package and to other packages.
pub(super) fn links(picture: &Picture<'_>, rank: u32, top: f64) -> PicturePart {
    let mut group = Group::new();
    let mut height = 0.0;
    for (out, way) in [(true, "out"), (false, "in")] {
        for (same_package, place) in [(true, "own package"), (false, "other packages")] {
            let end = End { rank, out, same_package };
            let note = format!("{place}, up to {} GB/s", capacity(picture, end));
            let lane = Lane { top: top + height, height: HEIGHT };
            group = group.add(caption(&format!("link {way}"), &note, lane.top)).add(ground(lane)).add(area(
                &load(picture, end),
                lane,
                "#7d5fb2",
            ));
            height += HEIGHT + GAP;
        }
    }
    PicturePart { group, height }
}

fn capacity(picture: &Picture<'_>, end: End) -> f64 {
    let link = &picture.target.link;
    if end.same_package { link.same_package_gb_per_s } else { link.other_package_gb_per_s }
}

/// The used share of an end's bandwidth in each time step. The bytes of a put are spread evenly over its duration, without its fence.
pub(super) fn load(picture: &Picture<'_>, end: End) -> Vec<f64> {
    let steps = steps();
    let step = picture.simulated.time.seconds() / steps as f64;
    let mut load = vec![0.0; steps];
    for TracedTask { slice, task, .. } in &picture.records {
        let Work::Put { to, bytes } = task.work else { continue };
        let same = picture.target.same_package(slice.rank, to);
        let mine = if end.out { slice.rank } else { to };
        if to == slice.rank || mine != end.rank || same != end.same_package {
            continue;
        }
        let (from, until) =
            (slice.begun.seconds() / step, slice.end.since(task.fence(picture.target, slice.rank)).seconds() / step);
        let rate = bytes as f64 / (until - from).max(1e-9);
        for (at, load) in load.iter_mut().enumerate().skip(from as usize).take((until - from) as usize + 2) {
            let inside = (until.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
            *load += rate * inside;
        }
    }
    let full = capacity(picture, end) * 1e9 * step;
    load.iter().map(|bytes| bytes / full).collect()
}

/// An area that rises from the bottom of a lane, in each time step as high as its share.
pub(super) fn area(shares: &[f64], lane: Lane, colour: &str) -> Group {
    let Lane { top, height } = lane;
    let floor = top + height;
    let mut d = format!("M{} {}", number(LEFT), number(floor));
    for (at, share) in shares.iter().enumerate() {
        let x = LEFT + at as f64 * STEP;
        d.push_str(&format!("L{x:.1} {0:.1}L{1:.1} {0:.1}", floor - height * share.min(1.0), x + STEP));
    }
    d.push_str(&format!("L{:.1} {floor:.1}z", LEFT + shares.len() as f64 * STEP));
    Group::new().add(Path::new().set("d", d).set("fill", colour))
}
