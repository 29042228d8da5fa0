//! A lane of stacked layers, each as high as its share of the cores.

use super::picture::{LEFT, Lane, Picture, STEP, steps};
use crate::simulate::Time;
use svg::node::element::{Group, Path};

pub(super) struct Stack {
    /// For each layer and time step, the number of cores.
    layers: Vec<Vec<f64>>,
    /// Length of a time step in picoseconds.
    step: f64,
}

impl Stack {
    pub(super) fn new(picture: &Picture<'_>, layers: usize) -> Self {
        let steps = steps();
        Self { layers: vec![vec![0.0; steps]; layers], step: picture.simulated.time.0 as f64 / steps as f64 }
    }

    /// Adds one core to a layer, between two times.
    pub(super) fn add(&mut self, layer: usize, from: Time, until: Time) {
        let (from, until) = (from.0 as f64 / self.step, until.0 as f64 / self.step);
        let steps = self.layers[layer].iter_mut().enumerate();
        for (at, cores) in steps.skip(from as usize).take((until - from) as usize + 2) {
            *cores += (until.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
        }
    }

    /// Draws all layers in a lane whose full height is `cores` cores.
    pub(super) fn draw<'a>(&self, cores: u32, lane: Lane, colour: impl Fn(usize) -> &'a str) -> Group {
        let mut below = vec![0.0; steps()];
        let mut group = Group::new();
        for (layer, used) in self.layers.iter().enumerate().filter(|(_, used)| used.iter().any(|&cores| cores > 0.0)) {
            let above: Vec<f64> =
                below.iter().zip(used).map(|(below, used)| below + used / f64::from(cores.max(1))).collect();
            group = group.add(band(&below, &above, lane, colour(layer)));
            below = above;
        }
        group
    }
}

fn band(below: &[f64], above: &[f64], lane: Lane, colour: &str) -> Path {
    let Lane { top, height } = lane;
    let y = |share: f64| top + height * (1.0 - share.min(1.0));
    let mut d = String::new();
    for (at, (&below, &above)) in below.iter().zip(above).enumerate().filter(|(_, (below, above))| above > below) {
        let (left, low, high) = (LEFT + at as f64 * STEP, y(below), y(above));
        d.push_str(&format!("M{left:.1} {high:.1}h{STEP}v{0:.1}h-{STEP}z", low - high));
    }
    Path::new().set("d", d).set("fill", colour)
}
