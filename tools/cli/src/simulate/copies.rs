//! The one-time cost of a placement: copying weights.

use hpmoe_core::graph::{RowKind, TaskGraph};
use hpmoe_core::target::Target;
use hpmoe_kernels::Placement;
use hpmoe_simulator::simulate::Time;

/// The copies of weights that a placement needs if each rank had consecutive experts before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Copies {
    /// Number of places to which weights are copied.
    pub(crate) places: usize,
    /// Bytes of the weights of an expert.
    pub(crate) bytes: u64,
    /// The time over its link of the rank that receives the most weights.
    pub(crate) time: Time,
}

impl Copies {
    /// The copies for a kernel's placement, if each rank had consecutive experts before.
    pub(crate) fn new(graph: &TaskGraph, placement: &Placement, target: &Target) -> Result<Self, String> {
        let words = |error: hpmoe_kernels::PlacementError| error.to_string();
        let consecutive = Placement::even(placement.ranks(), placement.experts(), graph.sizes.spare).map_err(words)?;
        let moves = placement.moves(&consecutive).map_err(words)?;
        let local = placement.local_experts();
        let mut of_rank = vec![0_usize; placement.ranks().count()];
        let foreign = moves.iter().filter(|one| one.from / local != one.to / local);
        foreign.for_each(|one| of_rank[one.to / local] += 1);
        let weights = graph.tensors.iter().filter_map(|(_, tensor)| match tensor.rows {
            RowKind::Expert(rows) if !tensor.writable => {
                Some(u64::from(rows) * u64::from(tensor.pitch) * tensor.element.bytes() as u64)
            }
            _ => None,
        });
        let bytes: u64 = weights.sum();
        let most = of_rank.into_iter().max().unwrap_or(0);
        let time = Time::from_us(bytes as f64 * most as f64 / (target.link.other_package_gb_per_s * 1e3));
        Ok(Self { places: moves.len(), bytes, time })
    }

    /// A line of text about the copies.
    pub(crate) fn text(&self, latency: Option<Time>) -> String {
        let share = latency
            .filter(|latency| latency.us() > 0.0)
            .map(|latency| format!(", as long as {:.1} launches", self.time.us() / latency.us()));
        format!(
            "once, the placement copies weights to {} places, {:.1} MB each: {:.1} µs over the link of the rank that receives most of \
             them, simulated{}; launches don't wait for the copies\n",
            self.places,
            self.bytes as f64 / 1e6,
            self.time.us(),
            share.unwrap_or_default()
        )
    }
}
