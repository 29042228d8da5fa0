//! Max-min fair shares.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A number of equal users of one resource.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Users {
    /// Number of users.
    pub(super) count: u32,
    /// Maximum amount that each of them can use.
    pub(super) wants: f64,
}

/// Maximum amount that one user of a resource gets; infinite if there is enough for all. Users that want less get what they want.
#[must_use]
pub(super) fn level(capacity: f64, users: &[Users]) -> f64 {
    let total: f64 = users.iter().map(|users| f64::from(users.count) * users.wants).sum();
    if total <= capacity {
        return f64::INFINITY;
    }
    let mut order: Vec<Users> = users.to_vec();
    order.sort_by(|a, b| a.wants.total_cmp(&b.wants));
    let mut left = capacity;
    let mut waiting: f64 = order.iter().map(|users| f64::from(users.count)).sum();
    for users in order {
        let share = left / waiting;
        if users.wants > share {
            return share;
        }
        left -= f64::from(users.count) * users.wants;
        waiting -= f64::from(users.count);
    }
    f64::INFINITY
}

/// A number of equal flows between the same two ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Flows {
    /// The link end at which they leave.
    pub(super) out: u32,
    /// The link end at which they arrive.
    pub(super) into: u32,
    /// Number of flows.
    pub(super) count: u32,
}

const NONE: u32 = u32::MAX;

/// The working memory of [`flow_rates`], kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Filling {
    left: Vec<f64>,
    waiting: Vec<u32>,
    /// For each end, the first of its entries in `next`. Entry `2 f` is for flow f at the end where it leaves, `2 f + 1` at the end where
    /// it arrives.
    first: Vec<u32>,
    /// For each entry, the next entry of the same end.
    next: Vec<u32>,
    /// Ends by the share that each of their flows that are not stopped gets, the smallest share first. Shares only grow. (They are stored
    /// as the bits of a non-negative float, which sort like it.)
    fullest: BinaryHeap<Reverse<(u64, u32)>>,
}

/// The max-min fair rates of flows, none above `most`. All rates grow together until an end has no capacity left, which then stops the
/// flows through it.
pub(super) fn flow_rates(space: &mut Filling, capacity: &[f64], flows: &[Flows], most: f64, rates: &mut Vec<f64>) {
    rates.clear();
    rates.resize(flows.len(), most);
    space.lay_out(capacity, flows);
    for end in 0..capacity.len() as u32 {
        space.may_stop(end, most);
    }
    let mut full = 0.0;
    while let Some(Reverse((bits, end))) = space.fullest.pop() {
        if space.waiting[end as usize] == 0 {
            continue;
        }
        let share = space.share(end);
        if share.to_bits() != bits {
            space.may_stop(end, most);
            continue;
        }
        // Ends that are equally full, apart from rounding, stop their flows at the same rate.
        if share > full * (1.0 + 1e-9) {
            full = share;
        }
        let mut place = space.first[end as usize];
        while place != NONE {
            let flow = (place / 2) as usize;
            let Flows { out, into, count } = flows[flow];
            if rates[flow] >= most {
                rates[flow] = full;
                for end in [out, into].map(|end| end as usize) {
                    space.left[end] = (space.left[end] - full * f64::from(count)).max(0.0);
                    space.waiting[end] -= count;
                }
            }
            place = space.next[place as usize];
        }
    }
}

impl Filling {
    fn lay_out(&mut self, capacity: &[f64], flows: &[Flows]) {
        self.left.clear();
        self.left.extend_from_slice(capacity);
        self.waiting.clear();
        self.waiting.resize(capacity.len(), 0);
        self.first.clear();
        self.first.resize(capacity.len(), NONE);
        self.next.clear();
        for flow in flows {
            for end in [flow.out, flow.into].map(|end| end as usize) {
                self.waiting[end] += flow.count;
                let place = self.next.len() as u32;
                self.next.push(std::mem::replace(&mut self.first[end], place));
            }
        }
        self.fullest.clear();
    }

    fn share(&self, end: u32) -> f64 {
        self.left[end as usize] / f64::from(self.waiting[end as usize])
    }

    /// Records an end that has less for each of its flows than the maximum that they can use.
    fn may_stop(&mut self, end: u32, most: f64) {
        let waiting = f64::from(self.waiting[end as usize]);
        if self.left[end as usize] < waiting * most {
            self.fullest.push(Reverse((self.share(end).to_bits(), end)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn modest_users_get_what_they_want() {
        let users = [Users { count: 2, wants: 1.0 }, Users { count: 2, wants: 10.0 }];
        assert!((level(12.0, &users) - 5.0).abs() < 1e-12);
        assert_eq!(level(22.0, &users), f64::INFINITY);
    }

    fn rates(capacity: &[f64], flows: &[Flows], most: f64) -> Vec<f64> {
        let mut rates = Vec::new();
        flow_rates(&mut Filling::default(), capacity, flows, most, &mut rates);
        rates
    }

    #[test]
    fn what_one_leaves_another_takes() {
        // Ends 0 and 1 send, 2 and 3 receive. Two flows from 0 meet at 2 with one from 1; the one to 3 takes the rest.
        let flows = [(0, 2, 1), (1, 2, 3), (0, 3, 1)].map(|(out, into, count)| Flows { out, into, count });
        let rates_of_flows = rates(&[10.0; 4], &flows, 100.0);
        for (rate, right) in rates_of_flows.iter().zip([2.5, 2.5, 7.5]) {
            assert!((rate - right).abs() < 1e-9, "{rate} is not {right}");
        }
        assert_eq!(rates(&[10.0; 4], &flows, 2.0), [2.0; 3]);
    }

    proptest! {
        #[test]
        fn no_end_is_overfull_and_every_flow_is_stopped_by_something(
            flows in prop::collection::vec((0u32..4, 4u32..8, 1u32..5), 1..12),
            capacity in prop::collection::vec(1f64..50.0, 8),
            most in 0.5f64..30.0,
        ) {
            let flows: Vec<Flows> = flows.into_iter().map(|(out, into, count)| Flows { out, into, count }).collect();
            let rates = rates(&capacity, &flows, most);
            let used = |end| -> f64 {
                let through = flows.iter().zip(&rates).filter(|(flow, _)| flow.out == end || flow.into == end);
                through.map(|(flow, rate)| rate * f64::from(flow.count)).sum()
            };
            for end in 0..8 {
                prop_assert!(used(end) <= capacity[end as usize] * (1.0 + 1e-6));
            }
            for (flow, &rate) in flows.iter().zip(&rates) {
                let stops = |end: u32| {
                    let most = flows.iter().zip(&rates).filter(|(other, _)| other.out == end || other.into == end);
                    used(end) >= capacity[end as usize] * (1.0 - 1e-6)
                        && most.map(|(_, &rate)| rate).fold(0.0, f64::max) <= rate * (1.0 + 1e-6)
                };
                prop_assert!(rate >= most || stops(flow.out) || stops(flow.into));
            }
        }
    }
}
