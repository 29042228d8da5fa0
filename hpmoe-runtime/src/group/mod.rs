//! Groups of ranks, and launches.

mod launch;
mod outcome;
mod prepare;
mod rank;
mod regions;
mod session;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use hpmoe_kernels::{Rank, Ranks, Route};

use crate::layout::{RankSizes, RouteChunks};
use crate::{Argument, CompiledKernel, KernelTables, LaunchError, Report, check};
use launch::LaunchStep;
use session::Session;

/// The ranks that run a kernel together, as threads of this process.
///
/// A group keeps the memory of each kernel that it has run, so later launches need not clear anything.
///
/// ```
/// use std::time::Duration;
/// use hpmoe_runtime::Group;
///
/// let group = Group::new(4).seed(7).time_limit(Duration::from_secs(5));
/// assert_eq!(group.ranks().count(), 4);
/// ```
pub struct Group {
    ranks: usize,
    options: LaunchOptions,
    state: Mutex<GroupState>,
}

/// The options of a launch.
#[derive(Clone, Debug)]
struct LaunchOptions {
    seed: u64,
    time_limit: Duration,
    capacity: Option<usize>,
    delays: BTreeMap<usize, Duration>,
    threads: Option<u32>,
    repeat: u32,
    fault: Option<(Rank, InjectedFault)>,
}

/// A resource that a test lets be missing, at the call that asks for it.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedFault {
    /// The thread of the rank.
    RankThread,
    /// The worker thread with that number; 0 is the rank's own thread.
    WorkerThread(u32),
    /// Memory for the model of the core with that number, matrix cores first.
    Core(u32),
    /// The stack of that core.
    Stack(u32),
    /// Memory that one of that core's calls asks for.
    Call(u32),
}

#[derive(Default)]
enum GroupState {
    /// Memory of each kernel that has run, by name and fingerprint.
    Sound(BTreeMap<(&'static str, &'static str), Session>),
    /// A launch failed or panicked.
    #[default]
    Broken,
}

impl Group {
    /// A group of `ranks` ranks.
    #[must_use]
    pub fn new(ranks: usize) -> Self {
        let options = LaunchOptions {
            seed: 0,
            time_limit: Duration::from_secs(60),
            capacity: None,
            delays: BTreeMap::new(),
            threads: None,
            repeat: 1,
            fault: None,
        };
        Self { ranks, options, state: Mutex::new(GroupState::Sound(BTreeMap::new())) }
    }

    /// Sets the seed for the order of everything that a kernel leaves open. Results must not depend on it.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Sets the longest time that a core may wait. That includes the time in which other cores compute what it waits for,
    /// which is long for large layers on a CPU. Default: 60 seconds.
    #[must_use]
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.options.time_limit = limit;
        self
    }

    /// Reserves room for `rows` received rows on each rank; with chunks, `rows` of each chunk.
    ///
    /// Default: as many as any routing can need, which is ranks · `TOKENS` · min(`TOP_K`, experts of a rank), with
    /// ⌈`TOKENS` / chunks⌉ in place of `TOKENS` for a kernel with chunks.
    #[must_use]
    pub fn capacity_rows(mut self, rows: usize) -> Self {
        self.options.capacity = Some(rows);
        self
    }

    /// Delays the start of each launch on `rank`, to test that nothing depends on ranks starting together.
    /// A launch refuses a delay for a rank that the group does not have.
    #[must_use]
    pub fn delay(mut self, rank: usize, delay: Duration) -> Self {
        self.options.delays.insert(rank, delay);
        self
    }

    /// Sets the number of threads of each rank. Default: the ranks share the machine's threads.
    #[must_use]
    pub const fn threads(mut self, threads: u32) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Repeats each launch `times` times, with nothing in between that makes ranks wait for each other.
    #[must_use]
    pub const fn repeat(mut self, times: u32) -> Self {
        self.options.repeat = times;
        self
    }

    /// Lets a resource be missing on a rank, for tests of what happens then.
    #[doc(hidden)]
    #[must_use]
    pub const fn fault(mut self, rank: Rank, fault: InjectedFault) -> Self {
        self.options.fault = Some((rank, fault));
        self
    }

    /// The ranks of the group, from 0 on.
    #[must_use]
    pub const fn ranks(&self) -> Ranks {
        Ranks::new(self.ranks)
    }

    /// Runs a kernel on all ranks and waits for it. Generated code calls this.
    ///
    /// # Errors
    ///
    /// If the arguments don't fit the kernel, the route or the group, which is found before anything starts; if the kernel
    /// makes no progress or breaks a rule of the device, or the machine refuses a resource, after which the group can no
    /// longer be used.
    pub fn launch(
        &self,
        kernel: &CompiledKernel,
        route: &Route,
        arguments: &[Argument<'_>],
    ) -> Result<Report, LaunchError> {
        self.launch_row(kernel, &[(route, arguments)])
    }

    /// Runs a kernel several times, with nothing between the launches that makes ranks wait for each other. Each launch
    /// has its own route and tensors, so that data taken from another launch by mistake show in its results.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch).
    ///
    /// # Panics
    ///
    /// When the row is empty.
    pub fn launch_row(
        &self,
        kernel: &CompiledKernel,
        row: &[(&Route, &[Argument<'_>])],
    ) -> Result<Report, LaunchError> {
        assert!(!row.is_empty(), "a row of launches has at least one");
        let tables = kernel.tables();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let GroupState::Sound(sessions) = &mut *state else { return Err(LaunchError::Broken) };
        self.options.check_delays(self.ranks)?;
        let schedule = check::schedule(tables, self.ranks)?;
        let sizes = RankSizes::new(tables, self.ranks, self.options.capacity);
        let mut steps = Vec::with_capacity(row.len());
        for &(route, arguments) in row {
            check::launch(tables, self.ranks, route, arguments)?;
            let chunks = RouteChunks::new(tables, route, sizes.capacity);
            check::capacity(&chunks)?;
            steps.push(LaunchStep { chunks, arguments });
        }
        let key = (tables.name, tables.fingerprint);
        // Another capacity needs other memory.
        let mut session = match sessions.remove(&key).filter(|session| session.sizes == sizes) {
            Some(session) => session,
            None => Session::new(tables, &sizes).map_err(|bytes| no_room(tables, &sizes, bytes, &steps))?,
        };
        // Whatever happens now, an error or a panic, leaves the group broken unless the launches end well.
        let GroupState::Sound(mut sessions) = std::mem::take(&mut *state) else { return Err(LaunchError::Broken) };
        let report = launch::launch(kernel, schedule, &steps, &self.options, &mut session)?;
        sessions.insert(key, session);
        *state = GroupState::Sound(sessions);
        Ok(report)
    }
}

fn no_room(tables: &KernelTables, sizes: &RankSizes, bytes: usize, row: &[LaunchStep<'_>]) -> LaunchError {
    let ranks = || (0..sizes.ranks).map(Rank::new);
    let received = row.iter().flat_map(|step| ranks().map(|rank| step.chunks.received(rank)));
    LaunchError::Memory {
        kernel: tables.name,
        bytes,
        ranks: sizes.ranks,
        capacity: sizes.capacity,
        rows: received.max().unwrap_or(0),
    }
}

impl LaunchOptions {
    /// Refuses a delay for a rank that the group does not have.
    fn check_delays(&self, ranks: usize) -> Result<(), LaunchError> {
        match self.delays.keys().find(|&&rank| rank >= ranks) {
            Some(&rank) => Err(LaunchError::DelayedRank { rank, ranks }),
            None => Ok(()),
        }
    }

    fn threads(&self, ranks: usize) -> u32 {
        self.threads.unwrap_or_else(|| {
            let machine = available_parallelism().map_or(1, usize::from);
            u32::try_from(machine / ranks).unwrap_or(1).max(1)
        })
    }

    /// The fault that a test wants on this rank.
    fn fault(&self, rank: Rank) -> Option<InjectedFault> {
        self.fault.filter(|(faulty, _)| *faulty == rank).map(|(_, fault)| fault)
    }

    /// The time limit in cycles of the device's system counter, of 20 ns each.
    fn time_limit_cycles(&self) -> u64 {
        u64::try_from(self.time_limit.as_nanos() / 20).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("ranks", &self.ranks).field("options", &self.options).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_for_a_rank_that_does_not_exist_is_refused() {
        let group = Group::new(4).delay(3, Duration::ZERO);
        assert!(group.options.check_delays(4).is_ok());
        let refused = group.delay(4, Duration::ZERO).options.check_delays(4).unwrap_err();
        let said = "there is a delay for rank 4, but the group has 4 ranks: delay one from 0 to 3";
        assert_eq!(refused.to_string(), said);
    }
}
