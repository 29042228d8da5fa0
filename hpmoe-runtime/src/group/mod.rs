//! Groups of ranks, and launches.

mod agree;
mod attend;
mod checks;
mod ends;
mod fixed;
mod join;
mod launch;
mod member;
mod npus;
mod options;
mod outcome;
mod pending;
mod prepare;
mod rank;
mod rank_end;
mod regions;
mod remote;
mod row;
mod session;
mod settings;
mod shared;
mod shared_arguments;
mod state;
mod submit;
mod watch;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use hpmoe_kernels::{Placement, Ranks};

use crate::backend::npu::{self, Npu, SharedByGroup};
use crate::bootstrap::{Strangers, local_rank};
use crate::{LaunchError, check};
pub use fixed::FixedLaunch;
use member::Member;
use options::LaunchOptions;
pub use pending::Pending;
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
    joint: Arc<Joint>,
    options: LaunchOptions,
    /// Where experts lie in launches of kernels that make their route.
    placement: Option<Arc<Placement>>,
}

/// What groups that differ only in their placements share.
struct Joint {
    ranks: usize,
    /// This process as one rank of many; `None` where all ranks are threads of it.
    member: Option<Member>,
    /// The NPU of each rank, if kernels run on NPUs.
    npus: Option<Vec<Arc<Npu>>>,
    state: Mutex<GroupState>,
    /// Of ranks that are processes on NPUs: what gives the memory that peers write. Dropped after that memory.
    shared: Option<SharedByGroup>,
}

impl Group {
    /// A group of `ranks` ranks, all of them in this process.
    #[must_use]
    pub fn new(ranks: usize) -> Self {
        Self::of_ranks(ranks, None, LaunchOptions::default())
    }

    /// Runs kernels on NPUs from now on, rank r on the r-th one that this process sees (`ASCEND_RT_VISIBLE_DEVICES`); a rank that is a
    /// process, on the one of its number on this machine (`LOCAL_RANK` or what launchers call it), or on the only one. They were
    /// built with `HPMOE_DEVICE=cann`. A launch copies the caller's tensors to the NPUs, and what it writes back. Options of host runs
    /// ([`seed`](Self::seed), [`threads`](Self::threads)) mean nothing there. Ranks that are processes share memory by fabric handles, or
    /// with `HPMOE_SYMMETRIC_MEMORY=shmem` by CANN's SHMEM library.
    ///
    /// # Errors
    ///
    /// If there is no runtime library of CANN, there are fewer NPUs than ranks, or they can't be used.
    ///
    /// # Panics
    ///
    /// If there are groups with placements ([`placed`](Self::placed)) of the same ranks: make them afterwards.
    pub fn on_npus(self) -> Result<Self, LaunchError> {
        let npus = match &self.joint.member {
            None => npu::open(0, self.joint.ranks)?,
            Some(member) => vec![npu::open_one(local_rank(member.rank().id())?)?],
        };
        self.with_npus(npus)
    }

    /// The same from the NPU of that number on: rank r on the r-th one after it, and a rank that is a process on that one.
    ///
    /// # Errors
    ///
    /// As [`on_npus`](Self::on_npus).
    ///
    /// # Panics
    ///
    /// As [`on_npus`](Self::on_npus).
    pub fn on_npus_from(self, first: usize) -> Result<Self, LaunchError> {
        let npus = match &self.joint.member {
            None => npu::open(first, self.joint.ranks)?,
            Some(_) => vec![npu::open_with_peers(first)?],
        };
        self.with_npus(npus)
    }

    fn with_npus(mut self, npus: Vec<Npu>) -> Result<Self, LaunchError> {
        let npus: Vec<_> = npus.into_iter().map(Arc::new).collect();
        let joint = Arc::get_mut(&mut self.joint).expect("a group is put on NPUs before it is given placements");
        joint.shared = joint.member.as_ref().map(|_| SharedByGroup::chosen(&npus[0])).transpose()?;
        joint.npus = Some(npus);
        Ok(self)
    }

    fn of_ranks(ranks: usize, member: Option<Member>, options: LaunchOptions) -> Self {
        let joint = Joint { ranks, member, npus: None, state: Mutex::default(), shared: None };
        Self { joint: Arc::new(joint), options, placement: None }
    }

    /// The same ranks and memory, with experts where a placement says: kernels that make their route (`Route::of`) find them there. Kernels that
    /// take a route take one of the same placement ([`Route::placed`](hpmoe_kernels::Route::placed)).
    ///
    /// ```
    /// use hpmoe_runtime::prelude::*;
    ///
    /// let group = Group::new(2);
    /// let placement = Placement::balanced(group.ranks(), &[90, 10, 10, 10], 1)?;
    /// let placed = group.placed(&placement)?;
    /// assert_eq!(placed.placement(), Some(&placement));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the placement is for another number of ranks.
    pub fn placed(&self, placement: &Placement) -> Result<Self, LaunchError> {
        check::placement_ranks(placement, self.joint.ranks)?;
        let placement = Some(Arc::new(placement.clone()));
        Ok(Self { joint: Arc::clone(&self.joint), options: self.options.clone(), placement })
    }

    /// Where experts lie, if the group was given a placement ([`placed`](Self::placed)).
    #[must_use]
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_deref()
    }

    pub(crate) const fn shared_placement(&self) -> Option<&Arc<Placement>> {
        self.placement.as_ref()
    }

    /// Connections of strangers to rank 0 while the ranks joined; none if all ranks are threads of this process.
    #[must_use]
    pub fn strangers(&self) -> Strangers {
        self.joint.member.as_ref().map(Member::strangers).unwrap_or_default()
    }

    /// The ranks of the group, from 0 on, with those that run in this process.
    #[must_use]
    pub fn ranks(&self) -> Ranks {
        self.joint.member.as_ref().map_or(Ranks::new(self.joint.ranks), Member::ranks)
    }

    /// Whether an earlier launch or exchange went wrong, so that the group can no longer be used.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(*self.joint.state.lock().unwrap_or_else(PoisonError::into_inner), GroupState::Broken)
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("ranks", &self.ranks()).field("options", &self.options).finish_non_exhaustive()
    }
}
