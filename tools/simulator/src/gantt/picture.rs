//! The layout of the picture: its data, lanes and time steps.

use super::colours::Colours;
use crate::simulate::{Simulated, TracedTask, Workload};
use hpmoe_core::report::drawing::{Axis, number, text};
use hpmoe_core::target::Target;
use svg::node::element::{Group, Rectangle};

/// Width of the picture in pixels.
pub(super) const WIDTH: f64 = 1400.0;
/// Space to the left of all lanes, in pixels.
pub(super) const LEFT: f64 = 206.0;
/// Space to the right of all lanes, in pixels.
pub(super) const RIGHT: f64 = 40.0;
/// Width of a time step in pixels.
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

/// The vertical position of a lane, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    pub(super) top: f64,
    pub(super) height: f64,
}

/// The name of a lane, and a note below it, to the left of the lane.
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

/// Number of time steps.
pub(super) fn steps() -> usize {
    ((WIDTH - LEFT - RIGHT) / STEP) as usize
}
