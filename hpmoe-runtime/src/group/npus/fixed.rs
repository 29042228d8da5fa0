//! Launches on NPUs whose argument block stays in the NPUs' memory.

use std::sync::atomic::AtomicI32;
use std::time::Instant;

use hpmoe_kernels::Placement;

use super::super::LaunchOptions;
use super::super::row::PreparedRow;
use super::super::session::Session;
use super::rank::OnNpu;
use super::{Flight, LocalNpus, copied, each_stream, place_all};
use crate::backend::npu::{Device, NpuError, take_turn};
use crate::{CompiledKernel, LaunchError, Streams};

/// Makes the argument block of a launch in the memory of the NPUs of this process. [`Flight::again`] launches it. If ranks are processes,
/// all of them call this and get the same result.
pub(in super::super) fn fix(
    kernel: &CompiledKernel,
    row: &PreparedRow<'_>,
    options: &LaunchOptions,
    session: &mut Session,
    local: LocalNpus<'_>,
) -> Result<Flight, LaunchError> {
    let mut flight = copied(kernel, &row.steps, options, session, local)?;
    // Launches that can be waited for are identified by their number.
    session.launches = session.launches.wrapping_add(1);
    let stop = AtomicI32::new(0);
    let mut ranks = std::mem::take(&mut flight.ranks);
    let write = |_: &Session, rank: &OnNpu, launch, block: &[u8]| rank.write(launch, block);
    let placed = place_all(&flight.shared(&stop), row, session, &mut ranks, 1, write);
    flight.ranks = ranks;
    let own = placed.map(|()| (flight, Vec::new())).map_err(|(_, cause)| cause.into());
    match local.member {
        None => own.map(|(flight, _)| flight),
        Some(member) => Ok(member.exchange_results("an argument block", own, options.patience(1))?.0),
    }
}

impl Flight {
    /// Enqueues the launches of this argument block once more.
    pub(in super::super) fn again(&mut self, streams: Option<&Streams>) -> Result<(), (usize, NpuError)> {
        if self.pending == 0 {
            self.start = Instant::now();
        }
        self.pending += 1;
        let stop = AtomicI32::new(0);
        let shared = self.shared(&stop);
        let _turn = take_turn();
        each_stream(&self.ranks, streams, Device::follow)?;
        for _ in 0..shared.launches() {
            for rank in &self.ranks {
                rank.start(&shared, 0).map_err(|error| (rank.rank.id(), error))?;
            }
        }
        each_stream(&self.ranks, streams, Device::precede)
    }

    /// Enqueues only the kernel, with this argument block, on streams that are being captured.
    pub(in super::super) fn capture(&self, streams: &Streams) -> Result<(), (usize, NpuError)> {
        let stop = AtomicI32::new(0);
        let shared = self.shared(&stop);
        for _ in 0..shared.launches() {
            for rank in &self.ranks {
                rank.capture(&shared, streams.of(rank.rank)).map_err(|error| (rank.rank.id(), error))?;
            }
        }
        Ok(())
    }

    /// Overwrites the placement in the argument block, and returns when the copy is complete. No launch with the block may be running.
    pub(in super::super) fn place(&self, placement: &Placement) -> Result<(), NpuError> {
        let words = placement.device_words(self.sizes.counted_chunks());
        self.ranks.iter().try_for_each(|rank| rank.place(&words))
    }

    /// Counts `launches` launches by graphs as pending.
    pub(in super::super) const fn replayed(&mut self, launches: u32) {
        self.pending = self.pending.saturating_add(launches);
    }
}
