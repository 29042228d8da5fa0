//! Clock offsets between ranks, computed from messages that the ranks exchange after a launch.

use crate::abi::HpmoeClock;
use crate::layout::stamps::{CLOCK_ROUNDS, RankStamps};

/// The offset of a rank's system counter (its clock) from that of rank 0, in cycles of 20 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ClockOffset {
    /// Estimated number of cycles by which the rank's counter is ahead of rank 0's. It assumes that messages take the same time in both
    /// directions.
    pub ahead: i64,
    /// Maximum error of the estimate in cycles: half of the time that the two messages of a round trip take together.
    pub within: i64,
}

/// The offset of a rank's clock, from the fastest of the rounds; `None` if no round was completed.
pub(super) fn offset(stamps: &[RankStamps], rank: usize) -> Option<ClockOffset> {
    if rank == 0 {
        return Some(ClockOffset { ahead: 0, within: 0 });
    }
    let rounds = |of: usize, with: usize| stamps[of].clocks.iter().skip(with * CLOCK_ROUNDS).take(CLOCK_ROUNDS);
    let complete = |clock: &HpmoeClock| clock.sent != 0 && clock.got != 0;
    let both = rounds(0, rank).zip(rounds(rank, 0)).filter(|(first, other)| complete(first) && complete(other));
    let estimate = |(first, other): (&HpmoeClock, &HpmoeClock)| {
        let [sent, back, came, went] = [first.sent, first.got, other.got, other.sent].map(|time| time as i64);
        ClockOffset { ahead: ((came - sent) + (went - back)) / 2, within: ((back - sent) - (went - came) + 1) / 2 }
    };
    both.map(estimate).min_by_key(|offset| offset.within)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Sets the clock stamps of rank 0 and of a rank whose clock is ahead by `ahead` cycles. A message takes 10 cycles, or 4 in the third
    /// round; the reply of the fifth round takes 30.
    pub(in super::super) fn exchange(stamps: &mut [RankStamps], rank: usize, ahead: u64) {
        for all in stamps.iter_mut() {
            all.clocks = vec![HpmoeClock::default(); 3 * CLOCK_ROUNDS];
        }
        for round in 0..CLOCK_ROUNDS {
            let (at, way) = (5_000 + 100 * round as u64, if round == 2 { 4 } else { 10 });
            let back = at + way + 1 + if round == 4 { 30 } else { way };
            stamps[0].clocks[rank * CLOCK_ROUNDS + round] = HpmoeClock { sent: at, got: back };
            stamps[rank].clocks[round] = HpmoeClock { got: at + way + ahead, sent: at + way + 1 + ahead };
        }
    }

    #[test]
    fn the_fastest_round_decides() {
        let mut stamps = vec![RankStamps::default(); 3];
        exchange(&mut stamps, 2, 70_000);
        assert_eq!(offset(&stamps, 2), Some(ClockOffset { ahead: 70_000, within: 4 }));
        assert_eq!(offset(&stamps, 0), Some(ClockOffset { ahead: 0, within: 0 }));
        // A rank that has left early has no complete round.
        assert_eq!(offset(&stamps, 1), None);
        // Without the fast round and its like, a way that is slower in one direction shows in the estimate, and within its limit.
        for round in (0..CLOCK_ROUNDS).filter(|round| *round != 4) {
            stamps[2].clocks[round].got = 0;
        }
        let slow = offset(&stamps, 2).unwrap();
        assert_eq!((slow.ahead, slow.within), (69_990, 20));
    }
}
