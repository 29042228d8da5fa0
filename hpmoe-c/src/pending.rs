//! Launches that a caller has not waited for, by numbers that are never used again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::error::Failure;
use crate::header::{HpmoeGroup, HpmoePending};
use crate::launch::Started;

struct Launches {
    made: HpmoePending,
    pending: BTreeMap<HpmoePending, Kept>,
}

struct Kept {
    group: HpmoeGroup,
    launch: Started,
}

// SAFETY: a launch has addresses of the caller's memory, which the caller leaves to it until it has been waited for, by whichever thread.
unsafe impl Send for Kept {}

static LAUNCHES: Mutex<Launches> = Mutex::new(Launches { made: 0, pending: BTreeMap::new() });

/// Keeps a launch of a group, and returns its number.
pub(crate) fn keep(group: HpmoeGroup, launch: Started) -> HpmoePending {
    let mut launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
    launches.made += 1;
    let number = launches.made;
    launches.pending.insert(number, Kept { group, launch });
    number
}

/// Waits for the launch of that number.
pub(crate) fn wait(number: HpmoePending) -> Result<(), Failure> {
    let (kept, made) = {
        let mut launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
        (launches.pending.remove(&number), launches.made)
    };
    if let Some(kept) = kept {
        return kept.launch.finish();
    }
    let why = match number {
        0 => "0 is none",
        number if number <= made => "it has been waited for, or its group has been freed",
        _ => "this library has never made it",
    };
    Err(Failure::invalid(format!("there is no pending launch {number}: {why}; pass what hpmoe_enqueue has returned")))
}

/// Leaves all launches of a group to it.
pub(crate) fn leave(group: HpmoeGroup) {
    let mut launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let of_group = launches.pending.extract_if(.., |_, kept| kept.group == group);
    let left: Vec<Kept> = of_group.map(|(_, kept)| kept).collect();
    drop(launches);
    left.into_iter().for_each(|kept| kept.launch.leave());
}
