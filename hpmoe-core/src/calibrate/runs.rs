//! From a published latency to the program that stands for it.

use super::{Policy, Published};
use crate::baseline::{Original, Replay, Rows, Serial, Shape};
use crate::simulate::Program;
use crate::target::Target;

/// Milliseconds of a latency's program on a target.
pub type Latency<'a> = dyn Fn(&Published, &Target) -> f64 + 'a;

impl Published {
    /// The program whose latency it is.
    #[must_use]
    pub fn program(&self, target: &Target) -> Box<dyn Program> {
        let shape = Shape::deepseek_v3(self.ranks);
        let rows = Rows::balanced(&shape);
        match self.policy {
            Policy::Serial => Box::new(Serial::new(shape, self.direction, rows, target)),
            Policy::Original => Box::new(Replay::new(Original::new(shape, self.direction), rows, target)),
        }
    }
}
