//! Groups of ranks, and launches.

mod agree;
mod ends;
mod join;
mod launch;
mod member;
mod npus;
mod options;
mod outcome;
mod prepare;
mod rank;
mod regions;
mod session;
mod state;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hpmoe_kernels::{Rank, Ranks, Route};

use crate::backend::npu::{self, Npu, NpuError};
use crate::bootstrap::local_rank;
use crate::layout::{RankSizes, RouteChunks};
use crate::tables::ScheduleTable;
use crate::{Argument, CompiledKernel, KernelTables, LaunchError, Report, check};
use agree::agree;
use launch::LaunchStep;
use member::Member;
pub use options::InjectedFault;
use options::LaunchOptions;
use session::Session;
use state::GroupState;

/// The ranks that run a kernel together: as threads of this process ([`new`](Self::new)), or as one process each
/// ([`join`](Self::join)).
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
    /// This process as one rank of many; `None` where all ranks are threads of it.
    member: Option<Member>,
    /// The NPU of each rank, if kernels run on NPUs.
    npus: Option<Vec<Npu>>,
    options: LaunchOptions,
    state: Mutex<GroupState>,
}

/// What a row of launches is, once it is known to fit.
struct PreparedRow<'a> {
    schedule: &'a ScheduleTable,
    sizes: RankSizes,
    steps: Vec<LaunchStep<'a>>,
}

impl Group {
    /// A group of `ranks` ranks, all of them in this process.
    #[must_use]
    pub fn new(ranks: usize) -> Self {
        Self { ranks, member: None, npus: None, options: LaunchOptions::default(), state: Mutex::default() }
    }

    /// Runs kernels on NPUs from now on, rank r on the r-th one that this process sees (`ASCEND_RT_VISIBLE_DEVICES`); a rank that is a
    /// process, on the one of its number on this machine (`LOCAL_RANK` or what launchers call it), or on the only one. They were
    /// built with `HPMOE_DEVICE=cann`. A launch copies the caller's tensors to the NPUs, and what it writes back. Options of host runs
    /// ([`seed`](Self::seed), [`threads`](Self::threads)) mean nothing there.
    ///
    /// # Errors
    ///
    /// If there is no runtime library of CANN, there are fewer NPUs than ranks, or they can't be used.
    pub fn on_npus(mut self) -> Result<Self, LaunchError> {
        self.npus = Some(match &self.member {
            None => npu::open(self.ranks)?,
            Some(member) => vec![npu::open_one(local_rank(member.rank().id())?)?],
        });
        Ok(self)
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

    /// The ranks of the group, from 0 on, with those that run in this process.
    #[must_use]
    pub fn ranks(&self) -> Ranks {
        self.member.as_ref().map_or(Ranks::new(self.ranks), Member::ranks)
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
        let (row, mut session) = match self.make_ready(kernel, row, sessions) {
            Ok(ready) => ready,
            Err(error) => {
                if error.is_out_of_step() {
                    *state = GroupState::Broken;
                }
                return Err(error);
            }
        };
        // Whatever happens now, an error or a panic, leaves the group broken unless the launches end well.
        let GroupState::Sound(mut sessions) = std::mem::replace(&mut *state, GroupState::Broken) else {
            return Err(LaunchError::Broken);
        };
        let PreparedRow { schedule, steps, .. } = row;
        let report = match &self.npus {
            Some(npus) => {
                npus::launch(kernel, schedule, &steps, &self.options, &mut session, (npus, self.member.as_ref()))?
            }
            None => launch::launch(kernel, schedule, &steps, &self.options, &mut session, self.member.as_ref())?,
        };
        sessions.insert((tables.name, tables.fingerprint), session);
        *state = GroupState::Sound(sessions);
        Ok(report)
    }

    /// Whether the kernel can run on each rank's NPU.
    fn check_npus(&self, kernel: &CompiledKernel) -> Result<(), LaunchError> {
        let KernelTables { name, aic, aiv, .. } = *kernel.tables();
        let Some(npus) = &self.npus else { return Ok(()) };
        if kernel.device().is_none() {
            return Err(NpuError::NotBuilt { kernel: name }.into());
        }
        Ok(npus.iter().try_for_each(|npu| npu.fits(name, aic, aiv))?)
    }

    /// Checks what is launched, on all ranks, and makes or takes the memory for it.
    fn make_ready<'a>(
        &self,
        kernel: &'a CompiledKernel,
        row: &[(&'a Route, &'a [Argument<'a>])],
        sessions: &mut BTreeMap<(&'static str, &'static str), Session>,
    ) -> Result<(PreparedRow<'a>, Session), LaunchError> {
        let tables = kernel.tables();
        let row = self.check_npus(kernel).and_then(|()| self.prepare(tables, row));
        let row = match &self.member {
            None => row?,
            Some(member) => agree(member, tables, &self.options, row)?,
        };
        // Another capacity needs other memory.
        let session = sessions.remove(&(tables.name, tables.fingerprint));
        let session = session.filter(|session| session.sizes == row.sizes);
        let session = session.map_or_else(|| self.allocate(tables, &row), Ok)?;
        Ok((row, session))
    }

    /// Checks what is launched.
    fn prepare<'a>(
        &self,
        tables: &'a KernelTables,
        row: &[(&'a Route, &'a [Argument<'a>])],
    ) -> Result<PreparedRow<'a>, LaunchError> {
        self.options.check_delays(self.ranks)?;
        let schedule = check::schedule(tables, self.ranks)?;
        let sizes = RankSizes::new(tables, self.ranks, self.options.capacity, self.member.is_some());
        let mut steps = Vec::with_capacity(row.len());
        for &(route, arguments) in row {
            check::launch(tables, self.ranks(), route, arguments)?;
            let chunks = RouteChunks::new(tables, route, sizes.capacity);
            check::capacity(&chunks)?;
            steps.push(LaunchStep { chunks, arguments });
        }
        Ok(PreparedRow { schedule, sizes, steps })
    }

    /// Memory for a kernel that has not run yet.
    fn allocate(&self, tables: &KernelTables, row: &PreparedRow<'_>) -> Result<Session, LaunchError> {
        let no_room = |bytes| no_room(tables, &row.sizes, bytes, &row.steps);
        let limit = self.options.patience(1);
        match (&self.npus, &self.member) {
            (Some(npus), None) => Session::on_npus(tables, &row.sizes, npus, no_room),
            (Some(npus), Some(member)) => Session::of_npus(tables, &row.sizes, &npus[0], member, limit, no_room),
            (None, None) => Session::new(tables, &row.sizes).map_err(no_room),
            (None, Some(member)) => Session::of_processes(tables, &row.sizes, member, limit, no_room),
        }
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

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("ranks", &self.ranks()).field("options", &self.options).finish_non_exhaustive()
    }
}
