//! The groups that a library has made, identified by numbers that are never reused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hpmoe_runtime::{Group, Joining, Place, Placement, TcpBootstrap};

use crate::error::Failure;
use crate::header::{
    HPMOE_CHECKS_BY_ENVIRONMENT, HPMOE_CHECKS_OFF, HPMOE_CHECKS_ON, HPMOE_CPU, HPMOE_NPU, HpmoeGroup, HpmoeListener,
    HpmoeOptions,
};
use crate::joining::{cancel, invalid};
use crate::listeners;

#[derive(Default)]
struct Groups {
    made: u64,
    living: BTreeMap<HpmoeGroup, Arc<Group>>,
}

static GROUPS: Mutex<Groups> = Mutex::new(Groups { made: 0, living: BTreeMap::new() });

/// Makes a group with these options, whose ranks are threads.
///
/// # Safety
///
/// The options must satisfy the conditions in the header.
pub(crate) unsafe fn make(ranks: u64, options: &HpmoeOptions) -> Result<HpmoeGroup, Failure> {
    let group = Group::new(rank_count(ranks)?);
    // SAFETY: the caller upholds the contract of this function.
    let group = match unsafe { cancel(options) } {
        Some(cancel) => group.cancelled_by(&cancel),
        None => group,
    };
    keep(group, options)
}

/// Joins a group of processes with these options.
pub(crate) fn join(
    rank: u64,
    ranks: u64,
    address: String,
    joining: &Joining,
    options: &HpmoeOptions,
) -> Result<HpmoeGroup, Failure> {
    let (rank, ranks) = (usize::try_from(rank).unwrap_or(usize::MAX), rank_count(ranks)?);
    let place = match address.strip_prefix(BY_FILE) {
        None => Place::new(rank, ranks, address),
        Some(file) => Place::new(rank, ranks, "127.0.0.1:0").with_address_file(file),
    };
    joined(TcpBootstrap::join(&place, joining).map_err(invalid)?, options)
}

/// Prefix of an address that ranks learn from a file.
const BY_FILE: &str = "file:";

/// Like [`join`], as rank 0, with a listener that was made before. The listener's handle becomes invalid.
pub(crate) fn host(
    listener: HpmoeListener,
    ranks: u64,
    joining: &Joining,
    options: &HpmoeOptions,
) -> Result<HpmoeGroup, Failure> {
    let listener = listeners::take(listener)?;
    joined(TcpBootstrap::host(listener, rank_count(ranks)?, joining).map_err(invalid)?, options)
}

fn joined(bootstrap: TcpBootstrap, options: &HpmoeOptions) -> Result<HpmoeGroup, Failure> {
    keep(Group::join(bootstrap).map_err(|error| Failure::invalid(error.to_string()))?, options)
}

pub(crate) fn rank_count(ranks: u64) -> Result<usize, Failure> {
    let count = usize::try_from(ranks).ok().filter(|ranks| (1..=MOST_RANKS).contains(ranks));
    let count =
        count.ok_or_else(|| Failure::invalid(format!("a group can't have {ranks} ranks: it has 1 to {MOST_RANKS}")))?;
    Ok(count)
}

/// Keeps a group with these options, and returns its number.
fn keep(group: Group, options: &HpmoeOptions) -> Result<HpmoeGroup, Failure> {
    let HpmoeOptions { seed, time_limit_ms, capacity_rows, threads, device, npu, cancel: _, checks, attend } = *options;
    let mut group = group.seed(seed);
    if time_limit_ms > 0 {
        group = group.time_limit(Duration::from_millis(time_limit_ms));
    }
    if capacity_rows > 0 {
        group = group.capacity_rows(capacity_rows as usize);
    }
    if threads > 0 {
        group = group.threads(threads);
    }
    group = match checks {
        HPMOE_CHECKS_BY_ENVIRONMENT => group,
        HPMOE_CHECKS_ON => group.checks(true),
        HPMOE_CHECKS_OFF => group.checks(false),
        _ => {
            return Err(Failure::invalid(format!(
                "`checks` is {checks}, but should be HPMOE_CHECKS_BY_ENVIRONMENT (0), HPMOE_CHECKS_ON (1) or HPMOE_CHECKS_OFF (2)"
            )));
        }
    };
    if let Some(attend) = attend {
        group = group.attended_by(move || {
            if is_main_thread() {
                // SAFETY: the caller's function, which may be called as long as the group lives.
                unsafe { attend() }
            }
        });
    }
    group = match device {
        HPMOE_CPU => group,
        HPMOE_NPU => {
            let group = if npu == 0 { group.on_npus() } else { group.on_npus_from(npu as usize - 1) };
            group.map_err(|error| Failure::invalid(error.to_string()))?
        }
        _ => return Err(Failure::invalid(format!("there is no device {device}: use HPMOE_CPU (0) or HPMOE_NPU (1)"))),
    };
    Ok(number(group))
}

/// Whether this is the process's main thread; true on systems that don't tell.
fn is_main_thread() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: both take nothing.
    return unsafe { libc::gettid() == libc::getpid() };
    #[cfg(not(target_os = "linux"))]
    true
}

/// Adds a group that shares everything with group `handle`, but has this placement. Returns its number.
pub(crate) fn placed(handle: HpmoeGroup, placement: &Placement) -> Result<HpmoeGroup, Failure> {
    let group = find(handle)?.placed(placement).map_err(|error| Failure::invalid(error.to_string()))?;
    Ok(number(group))
}

fn number(group: Group) -> HpmoeGroup {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.made += 1;
    let handle = first() + groups.made;
    groups.living.insert(handle, Arc::new(group));
    handle
}

/// Maximum number of ranks that any schedule is made for.
const MOST_RANKS: usize = 256;

/// The number before that of the library's first group. Libraries of one process use different ranges, so that each recognises its own
/// groups.
fn first() -> HpmoeGroup {
    ((&raw const GROUPS).addr() as u64 >> 3) << 24
}

/// The group with number `handle`.
pub(crate) fn find(handle: HpmoeGroup) -> Result<Arc<Group>, Failure> {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.living.get(&handle).cloned().ok_or_else(|| missing(&groups, handle))
}

/// Removes a group from the list. Its memory is freed when the last launch that uses it has ended.
pub(crate) fn take(handle: HpmoeGroup) -> Result<Arc<Group>, Failure> {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.living.remove(&handle).ok_or_else(|| missing(&groups, handle))
}

fn missing(groups: &Groups, handle: HpmoeGroup) -> Failure {
    let was_made = (first() + 1..=first() + groups.made).contains(&handle);
    let why = match (handle, was_made) {
        (0, _) => "group numbers are never 0",
        (_, true) => "it has been freed",
        (_, false) => "this library has never made it",
    };
    Failure::invalid(format!("there is no group {handle}: {why}; make one with hpmoe_group_new"))
}
