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
/// A group keeps the memory of each kernel that it has run, so later launches don't set it up again.
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
    /// Placement of experts, for kernels that make their route.
    placement: Option<Arc<Placement>>,
}

/// The state of a group, shared with groups that differ from it only in their placement.
struct Joint {
    ranks: usize,
    /// This process as one rank of a group of processes; `None` if all ranks are threads of this process.
    member: Option<Member>,
    /// The NPU of each rank of this process, if kernels run on NPUs.
    npus: Option<Vec<Arc<Npu>>>,
    state: Mutex<GroupState>,
    /// The source of memory that peers write, if ranks are processes on NPUs. Dropped after that memory.
    shared: Option<SharedByGroup>,
}

impl Group {
    /// A group of `ranks` ranks, all of them in this process.
    #[must_use]
    pub fn new(ranks: usize) -> Self {
        Self::of_ranks(ranks, None, LaunchOptions::default())
    }

    /// Makes the group run kernels on NPUs. Rank r uses NPU r of those that this process sees (`ASCEND_RT_VISIBLE_DEVICES`). A rank that
    /// runs in its own process uses the NPU with its number on this machine (`LOCAL_RANK`, or the launcher's variable for it), or the only
    /// NPU that it sees. Kernels must be built with `HPMOE_DEVICE=cann`. A launch copies tensors in host memory to the NPUs, and outputs
    /// back; tensors in NPU memory ([`Argument::on_npus`](crate::Argument::on_npus)) are used in place. Options of host runs
    /// ([`seed`](Self::seed), [`threads`](Self::threads)) have no effect. Ranks that are processes share memory by fabric handles, or by
    /// CANN's SHMEM library with `HPMOE_SYMMETRIC_MEMORY=shmem`.
    ///
    /// # Errors
    ///
    /// If there is no runtime library of CANN, if there are fewer NPUs than ranks, or if the NPUs can't be used.
    ///
    /// # Panics
    ///
    /// If [`placed`](Self::placed) has made another group from this one: call it only after this method.
    pub fn on_npus(self) -> Result<Self, LaunchError> {
        let npus = match &self.joint.member {
            None => npu::open(0, self.joint.ranks)?,
            Some(member) => vec![npu::open_one(local_rank(member.rank().id())?)?],
        };
        self.with_npus(npus)
    }

    /// Like [`on_npus`](Self::on_npus), but starts at NPU `first`, counted from 0: rank r uses NPU `first + r`; a rank that runs in its own
    /// process uses NPU `first`.
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
        let joint = Arc::get_mut(&mut self.joint).expect("a group is moved to NPUs before it gets a placement");
        joint.shared = joint.member.as_ref().map(|_| SharedByGroup::chosen(&npus[0])).transpose()?;
        joint.npus = Some(npus);
        Ok(self)
    }

    fn of_ranks(ranks: usize, member: Option<Member>, options: LaunchOptions) -> Self {
        let joint = Joint { ranks, member, npus: None, state: Mutex::default(), shared: None };
        Self { joint: Arc::new(joint), options, placement: None }
    }

    /// Makes a group with the same ranks and memory, and with the given placement of experts, which kernels that make their route
    /// (`Route::of`) use. Kernels that take a route need one that was made with the same placement
    /// ([`Route::placed`](hpmoe_kernels::Route::placed)).
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

    /// The placement of experts that the group was made with ([`placed`](Self::placed)); `None` if it has none.
    #[must_use]
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_deref()
    }

    pub(crate) const fn shared_placement(&self) -> Option<&Arc<Placement>> {
        self.placement.as_ref()
    }

    /// Counts of connections from strangers to rank 0 while the ranks joined; all zero if all ranks are threads of this
    /// process.
    #[must_use]
    pub fn strangers(&self) -> Strangers {
        self.joint.member.as_ref().map(Member::strangers).unwrap_or_default()
    }

    /// The ranks of the group, including which of them run in this process.
    #[must_use]
    pub fn ranks(&self) -> Ranks {
        self.joint.member.as_ref().map_or(Ranks::new(self.joint.ranks), Member::ranks)
    }

    /// Whether an earlier launch or exchange failed in a way that makes the group unusable.
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
