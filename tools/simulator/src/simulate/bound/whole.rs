//! Lower bounds for dividing whole tasks among cores.

use crate::simulate::Time;

/// The times of all tasks that the cores of one kind on a rank run.
#[derive(Default)]
pub(super) struct WholeTasks(Vec<Time>);

impl WholeTasks {
    pub(super) fn add(&mut self, time: Time) {
        self.0.push(time);
    }

    /// Lower bound on the time in which `cores` cores can do all tasks.
    ///
    /// Among the k · cores + 1 longest tasks, some core has at least k + 1 tasks. Its time is at least the sum of the k
    /// + 1 shortest of these tasks.
    pub(super) fn time(mut self, cores: u32) -> Time {
        self.0.sort_unstable_by(|a, b| b.cmp(a));
        let cores = cores as usize;
        let mut sums = Vec::with_capacity(self.0.len() + 1);
        sums.push(Time::ZERO);
        self.0.iter().fold(Time::ZERO, |sum, &time| {
            sums.push(sum + time);
            sum + time
        });
        let all = sums[self.0.len()];
        let rounds = (0..).map(|round| (round * cores, round)).take_while(|&(last, _)| last < self.0.len());
        let of_one = rounds.map(|(last, round)| sums[last + 1].since(sums[last - round]));
        of_one.fold(Time(all.0 / cores as u64), Time::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(times: &[u64], cores: u32) -> u64 {
        let mut all = WholeTasks::default();
        times.iter().for_each(|&time| all.add(Time(time)));
        all.time(cores).0
    }

    #[test]
    fn a_task_is_not_divided() {
        assert_eq!([time(&[], 3), time(&[7], 3), time(&[2, 2, 2], 3)], [0, 7, 2]);
        // Four equal tasks on three cores take two rounds, and seven three.
        assert_eq!([time(&[6; 4], 3), time(&[6; 7], 3)], [12, 18]);
        // A core has two of the four longest, or there is a longer one.
        assert_eq!([time(&[5, 5, 4, 4], 3), time(&[9, 9, 4, 4], 3)], [8, 9]);
    }

    /// The least time over all ways to divide tasks among cores.
    fn shared(times: &[u64], loads: &mut Vec<u64>) -> u64 {
        let Some((first, rest)) = times.split_first() else { return loads.iter().copied().max().unwrap_or(0) };
        let mut least = u64::MAX;
        for core in 0..loads.len() {
            loads[core] += first;
            least = least.min(shared(rest, loads));
            loads[core] -= first;
        }
        least
    }

    proptest::proptest! {
        #[test]
        fn no_way_to_share_tasks_is_shorter(times in proptest::collection::vec(1u64..20, 0..7), cores in 1usize..4) {
            proptest::prop_assert!(time(&times, cores as u32) <= shared(&times, &mut vec![0; cores]));
        }
    }
}
