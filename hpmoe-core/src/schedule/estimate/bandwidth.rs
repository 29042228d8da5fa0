//! The bandwidth of a link or of a memory over time.

use super::Time;

/// The minimum number of bytes that a slot has room for. Slots of slow links are longer, so that no put needs many of them.
const BYTES_OF_SLOT: f64 = 16_384.0;

/// The bytes that pass through a link or a memory in each slot of time.
///
/// A user that is replayed later may begin earlier, so the bytes of all slots are kept. Each user takes what earlier replayed ones leave.
pub(super) struct Bandwidth {
    bytes_per_ps: f64,
    /// The bytes in each slot.
    taken: Vec<f64>,
    /// The first slot that has room.
    open: usize,
    /// The bytes in all slots.
    bytes: f64,
    /// Picoseconds of a slot.
    slot: u64,
}

impl Bandwidth {
    /// An unused bandwidth. Slots take `slot` picoseconds, or longer if they would have room for few bytes.
    pub(super) fn new(gb_per_s: f64, slot: u64) -> Self {
        let slot = slot.max((BYTES_OF_SLOT * 1e3 / gb_per_s) as u64);
        Self { bytes_per_ps: gb_per_s / 1e3, taken: Vec::new(), open: 0, bytes: 0.0, slot }
    }

    pub(super) const fn bytes_per_ps(&self) -> f64 {
        self.bytes_per_ps
    }

    /// Takes bandwidth for `bytes` bytes from `begun` on, at most `most` bytes per picosecond, and returns the time at which they have passed.
    /// Slots that are full are skipped.
    pub(super) fn take(&mut self, bytes: f64, begun: Time, most: f64) -> Time {
        if bytes == 0.0 {
            return begun;
        }
        self.bytes += bytes;
        let capacity = self.bytes_per_ps * self.slot as f64;
        let mut left = bytes;
        let mut at = begun.0.max(self.open as u64 * self.slot);
        loop {
            let slot = (at / self.slot) as usize;
            if slot >= self.taken.len() {
                self.taken.resize(2 * slot + 1, 0.0);
            }
            let until = (slot as u64 + 1) * self.slot;
            let span = (until - at) as f64;
            let rate = most.min((capacity - self.taken[slot]) / span).max(0.0);
            if left <= rate * span {
                self.taken[slot] += left;
                return Time(at + (left / rate.max(f64::MIN_POSITIVE)).ceil() as u64);
            }
            self.taken[slot] += rate * span;
            left -= rate * span;
            at = until;
            while self.taken.get(self.open).is_some_and(|&taken| taken >= capacity * (1.0 - 1e-9)) {
                self.open += 1;
            }
        }
    }

    /// The time that all bytes taken so far need.
    pub(super) fn least(&self) -> Time {
        Time((self.bytes / self.bytes_per_ps) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOT: u64 = 1_000_000;

    #[test]
    fn full_slots_delay_only_what_needs_them() {
        // 100 GB/s are 100,000 bytes in a slot.
        let mut bandwidth = Bandwidth::new(100.0, SLOT);
        assert_eq!(bandwidth.take(200_000.0, Time(0), f64::INFINITY), Time(2 * SLOT));
        assert_eq!(bandwidth.take(0.0, Time(0), 0.0), Time(0));
        assert_eq!(bandwidth.take(50_000.0, Time(0), f64::INFINITY), Time(2 * SLOT + SLOT / 2));
        assert_eq!(bandwidth.take(50_000.0, Time(5 * SLOT), 0.05), Time(6 * SLOT));
        assert_eq!(bandwidth.least(), Time(3 * SLOT));
    }

    proptest! {
        #[test]
        fn no_slot_takes_more_than_its_bandwidth(
            users in proptest::collection::vec((0.0..1e6f64, 0..20 * SLOT, 1e-3..0.2f64), 1..60),
        ) {
            let mut bandwidth = Bandwidth::new(100.0, SLOT);
            for &(bytes, begun, most) in &users {
                let end = bandwidth.take(bytes, Time(begun), most);
                prop_assert!((end.0 - begun) as f64 >= (bytes / most).floor());
            }
            let taken: f64 = bandwidth.taken.iter().sum();
            prop_assert!((taken - users.iter().map(|user| user.0).sum::<f64>()).abs() < 1e-3);
            prop_assert!(bandwidth.taken.iter().all(|&bytes| bytes <= 100_000.0 * (1.0 + 1e-9)));
        }
    }
}
