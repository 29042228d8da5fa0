//! Launches that a caller has not waited for, by numbers that are never used again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Failure;
use crate::fixed;
use crate::header::{HpmoeGroup, HpmoePending};
use crate::launch::Started;

struct Kept {
    group: HpmoeGroup,
    launch: Started,
}

// SAFETY: a launch has addresses of the caller's memory, which the caller leaves to it until it has been waited for, by whichever thread.
unsafe impl Send for Kept {}

static LAUNCHES: Mutex<BTreeMap<HpmoePending, Kept>> = Mutex::new(BTreeMap::new());

/// The last number that a launch has got, pending or fixed.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The number of another launch.
pub(crate) fn next_number() -> HpmoePending {
    NUMBERS.fetch_add(1, Ordering::Relaxed) + 1
}

/// How many numbers launches have got.
pub(crate) fn numbers() -> HpmoePending {
    NUMBERS.load(Ordering::Relaxed)
}

/// Keeps a launch of a group, and returns its number.
pub(crate) fn keep(group: HpmoeGroup, launch: Started) -> HpmoePending {
    let mut launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let number = next_number();
    launches.insert(number, Kept { group, launch });
    number
}

/// Waits for the launch of that number, or for all launches of a fixed one.
pub(crate) fn wait(number: HpmoePending) -> Result<(), Failure> {
    let kept = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    if let Some(kept) = kept {
        return kept.launch.finish();
    }
    if let Some(waited) = fixed::wait(number) {
        return waited;
    }
    let why = match number {
        0 => "0 is none",
        number if number <= numbers() => "it has been waited for, or its group has been freed",
        _ => "this library has never made it",
    };
    Err(Failure::invalid(format!("there is no pending launch {number}: {why}; pass what hpmoe_enqueue has returned")))
}

/// Leaves all launches of a group to it, and frees those that are fixed.
pub(crate) fn leave(group: HpmoeGroup) {
    let mut launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let of_group: Vec<HpmoePending> =
        launches.iter().filter(|(_, kept)| kept.group == group).map(|(number, _)| *number).collect();
    let left: Vec<Kept> = of_group.iter().filter_map(|number| launches.remove(number)).collect();
    drop(launches);
    left.into_iter().for_each(|kept| kept.launch.leave());
    fixed::leave(group);
}
