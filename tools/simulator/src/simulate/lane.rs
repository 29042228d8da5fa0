//! Work of several cores that proceeds at one common rate.

use super::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Work of several cores that always proceeds at the same rate. The order in which members end is fixed when they join, so changing the
/// rate costs the same for any number of members.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// Amount that each member has been served since the lane was last empty.
    served: f64,
    /// Time up to which `served` is computed.
    at: Time,
    /// Amount that each member is served per picosecond.
    rate: f64,
    /// For each member, the value of `served` at which it ends, and its core. The value is stored as the bits of a non-negative float,
    /// which sort like it.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    /// Number of changes of the lane. A predicted end is stale if the lane has changed since.
    pub(super) version: u32,
}

impl Lane {
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Adds a core, which is to be served `amount`.
    pub(super) fn join(&mut self, now: Time, amount: f64, core: u32) {
        if self.ends.is_empty() {
            self.served = 0.0;
            self.at = now;
        }
        self.go_on(now);
        self.ends.push(Reverse(((self.served + amount).to_bits(), core)));
        self.version += 1;
    }

    /// Changes the rate from `now` on. Returns false if that is the rate already.
    pub(super) fn set_rate(&mut self, now: Time, rate: f64) -> bool {
        if rate == self.rate {
            return false;
        }
        self.go_on(now);
        self.rate = rate;
        self.version += 1;
        true
    }

    /// Amount that each member is served per picosecond.
    #[cfg(test)]
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Time at which the first member ends, if the rate stays the same; `None` if there is no member.
    pub(super) fn next_end(&self) -> Option<Time> {
        let &Reverse((end, _)) = self.ends.peek()?;
        let left = (f64::from_bits(end) - self.served).max(0.0);
        // A thousandth of a picosecond is rounding.
        Some(self.at + Time((left / self.rate - 1e-3).ceil().max(0.0) as u64))
    }

    /// Removes a member that ends at `now`, if there is one.
    pub(super) fn pop(&mut self, now: Time) -> Option<u32> {
        if self.next_end()? > now {
            return None;
        }
        self.go_on(now);
        self.version += 1;
        self.ends.pop().map(|Reverse((_, core))| core)
    }

    /// Removes a core before its work is done, and returns the amount of work that is left.
    pub(super) fn leave(&mut self, now: Time, core: u32) -> f64 {
        self.go_on(now);
        self.version += 1;
        let mut left = 0.0;
        self.ends.retain(|&Reverse((end, member))| {
            let leaves = member == core;
            left += if leaves { (f64::from_bits(end) - self.served).max(0.0) } else { 0.0 };
            !leaves
        });
        left
    }

    fn go_on(&mut self, now: Time) {
        self.served += now.since(self.at).0 as f64 * self.rate;
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_a_rate_that_may_change() {
        let mut lane = Lane::default();
        lane.set_rate(Time(0), 2.0);
        lane.join(Time(0), 100.0, 7);
        lane.join(Time(10), 20.0, 8);
        assert_eq!(lane.next_end(), Some(Time(20)));
        assert_eq!(lane.pop(Time(19)), None);
        assert_eq!(lane.pop(Time(20)), Some(8));
        lane.set_rate(Time(20), 1.0);
        assert_eq!(lane.next_end(), Some(Time(80)));
        assert_eq!(lane.pop(Time(80)), Some(7));
        assert_eq!(lane.next_end(), None);
    }
}
