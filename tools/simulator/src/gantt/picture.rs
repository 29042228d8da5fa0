//! The frame of the picture: its data, the place of its lanes, and their time steps.

use super::colours::Colours;
use crate::simulate::{Simulated, TracedTask, Workload};
use hpmoe_core::report::drawing::{Axis, number, text};
use hpmoe_core::target::Target;
use svg::node::element::{Group, Rectangle};

/// The width of the picture in pixels.
pub(super) const WIDTH: f64 = 1400.0;
/// The room to the left of all lanes.
pub(super) const LEFT: f64 = 206.0;
/// The room to the right of all lanes.
pub(super) const RIGHT: f64 = 40.0;
/// The width of a time step in pixels.
pub(super) const STEP: f64 = 3.0;

/// The data that all parts of the picture use.
pub(super) struct Picture<'a> {
    pub(super) target: &'a Target,
    pub(super) workload: &'a dyn Workload,
    pub(super) simulated: &'a Simulated,
    pub(super) records: Vec<TracedTask>,
    pub(super) colours: Colours,
    pub(super) axis: Axis,
}

/// A part of the picture and its height.
pub(super) struct PicturePart {
    pub(super) group: Group,
    pub(super) height: f64,
}

/// The place of a lane from top to bottom, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    pub(super) top: f64,
    pub(super) height: f64,
}

/// The name and the note to the left of a lane.
pub(super) fn caption(name: &str, note: &str, top: f64) -> Group {
    Group::new().add(text(name.to_owned(), 20.0, top + 13.0, "role")).add(text(
        note.to_owned(),
        20.0,
        top + 28.0,
        "small",
    ))
}

/// The background of a lane.
pub(super) fn ground(lane: Lane) -> Rectangle {
    Rectangle::new()
        .set("x", number(LEFT))
        .set("y", number(lane.top))
        .set("width", number(WIDTH - LEFT - RIGHT))
        .set("height", number(lane.height))
        .set("fill", "#f4f6f8")
}

/// The number of time steps.
pub(super) fn steps() -> usize {
    ((WIDTH - LEFT - RIGHT) / STEP) as usize
}
