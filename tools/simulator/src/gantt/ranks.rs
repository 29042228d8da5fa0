//! The part of the picture that summarises all ranks: the work of their cores, and the load of their outgoing links.

use super::load::{End, area, load};
use super::picture::{LEFT, Lane, Picture, PicturePart, caption, ground};
use super::stack::Stack;
use crate::simulate::CoreKind;
use hpmoe_core::report::drawing::text;
use svg::node::element::Group;

/// Maximum number of ranks that are drawn.
const MOST: u32 = 16;
const MATRIX: f64 = 24.0;
const VECTOR: f64 = 24.0;
const LINK: f64 = 12.0;
const GAP: f64 = 10.0;

pub(super) fn ranks(picture: &Picture<'_>, top: f64) -> PicturePart {
    let all = picture.workload.ranks();
    let mut group = Group::new();
    let mut height = 22.0;
    let mut heading =
        "all ranks: shares of busy matrix cores, of busy vector cores, and of the outgoing bandwidth to other packages \
                       in use"
            .to_owned();
    if all > MOST {
        heading.push_str(&format!("; ranks {MOST} to {} are not drawn", all - 1));
    }
    group = group.add(text(heading, LEFT, top + 12.0, "note"));
    for rank in 0..all.min(MOST) {
        let y = top + height;
        group = group.add(caption(&format!("rank {rank}"), "matrix, vector, link", y));
        let matrix = Lane { top: y, height: MATRIX };
        group = group.add(ground(matrix)).add(busy(picture, rank, CoreKind::Aic, matrix));
        let vector = Lane { top: y + MATRIX + 2.0, height: VECTOR };
        group = group.add(ground(vector)).add(busy(picture, rank, CoreKind::Aiv, vector));
        let link = Lane { top: vector.top + VECTOR + 2.0, height: LINK };
        let out = End { rank, out: true, same_package: false };
        group = group.add(ground(link)).add(area(&load(picture, out), link, "#7d5fb2"));
        height += MATRIX + VECTOR + LINK + 4.0 + GAP;
    }
    PicturePart { group, height }
}

/// A lane with the operations of a rank stacked, each as high as its share of the cores.
fn busy(picture: &Picture<'_>, rank: u32, kind: CoreKind, lane: Lane) -> Group {
    let mut stack = Stack::new(picture, picture.workload.ops().len());
    let own = picture.records.iter().filter(|record| (record.slice.rank, record.slice.kind) == (rank, kind));
    own.for_each(|record| stack.add(record.task.op as usize, record.slice.begun, record.slice.end));
    stack.draw(picture.workload.cores(kind), lane, |op| picture.colours.colour(op))
}
