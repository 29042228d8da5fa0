//! Max-min fair shares.

/// Users of one resource: how many alike, and what each wants at most.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Users {
    /// How many.
    pub(super) count: u32,
    /// What each of them takes when nothing holds it back.
    pub(super) wants: f64,
}

/// The most that one user of a resource gets: those who want less get what they want, all others the same. Infinite
/// where there is enough for all.
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

/// Flows between two ends, `count` alike, through one resource at each end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Flows {
    /// The resource where they leave.
    pub(super) out: u32,
    /// The resource where they arrive.
    pub(super) into: u32,
    /// How many.
    pub(super) count: u32,
}

/// Working space of [`flow_rates`], kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Filling {
    left: Vec<f64>,
    waiting: Vec<u32>,
    open: Vec<u32>,
    touched: Vec<u32>,
}

/// The max-min rate of one flow of each kind, none above `most`: all rates rise together, and a resource that is full
/// stops those that go through it.
pub(super) fn flow_rates(space: &mut Filling, capacity: &[f64], flows: &[Flows], most: f64, rates: &mut Vec<f64>) {
    rates.clear();
    rates.resize(flows.len(), most);
    space.left.clear();
    space.left.extend_from_slice(capacity);
    space.waiting.clear();
    space.waiting.resize(capacity.len(), 0);
    space.touched.clear();
    for flow in flows {
        for end in [flow.out, flow.into] {
            if space.waiting[end as usize] == 0 && flow.count > 0 {
                space.touched.push(end);
            }
            space.waiting[end as usize] += flow.count;
        }
    }
    space.open.clear();
    space.open.extend(0..flows.len() as u32);
    loop {
        let share = |end: u32| space.left[end as usize] / f64::from(space.waiting[end as usize]);
        let busy = space.touched.iter().copied().filter(|&end| space.waiting[end as usize] > 0);
        let full = busy.map(share).fold(f64::INFINITY, f64::min);
        if full >= most {
            return;
        }
        // Ends that are as full but for rounding are taken together.
        let limit = full * (1.0 + 1e-9);
        let stopped: Vec<u32> = space
            .open
            .iter()
            .copied()
            .filter(|&flow| {
                let Flows { out, into, count } = flows[flow as usize];
                count > 0 && (share(out) <= limit || share(into) <= limit)
            })
            .collect();
        for &flow in &stopped {
            let Flows { out, into, count } = flows[flow as usize];
            rates[flow as usize] = full;
            for end in [out, into] {
                space.left[end as usize] = (space.left[end as usize] - full * f64::from(count)).max(0.0);
                space.waiting[end as usize] -= count;
            }
        }
        let rates = &*rates;
        space.open.retain(|&flow| flows[flow as usize].count > 0 && rates[flow as usize] >= most);
        if stopped.is_empty() || space.open.is_empty() {
            return;
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
        let found = rates(&[10.0; 4], &flows, 100.0);
        for (found, right) in found.iter().zip([2.5, 2.5, 7.5]) {
            assert!((found - right).abs() < 1e-9, "{found} is not {right}");
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
