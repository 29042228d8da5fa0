//! The workloads of published latencies.

use super::{Published, PublishedPolicy};
use crate::baseline::{LayerShape, Original, Replay, Serial};
use crate::simulate::{Workload, simulate};
use hpmoe_core::target::Target;

/// A function that simulates the workload of a published latency on a target, and returns milliseconds.
pub type Latency<'a> = dyn Fn(&Published, &Target) -> f64 + 'a;

impl Published {
    /// The workload whose latency was published.
    #[must_use]
    pub fn workload(&self, target: &Target) -> Box<dyn Workload> {
        let shape = LayerShape::deepseek_v3(self.ranks);
        let routing = shape.balanced();
        match self.policy {
            PublishedPolicy::Serial => Box::new(Serial::published(shape, self.direction, routing, target)),
            PublishedPolicy::Original => Box::new(Replay::new(Original::new(shape, self.direction), routing, target)),
        }
    }

    /// Latency in milliseconds of a simulation of the [`workload`](Self::workload).
    ///
    /// # Panics
    ///
    /// Never: these workloads end.
    #[must_use]
    pub fn simulated_ms(&self, target: &Target) -> f64 {
        let run = simulate(target, &*self.workload(target), false);
        run.expect("every wait has its signals").time.us() / 1e3
    }
}
