//! Pending launches and fixed launches, identified by numbers that are never reused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Failure;
use crate::fixed::Fixed;
use crate::header::{HpmoeFixed, HpmoeGroup, HpmoePending};
use crate::launch::Started;

struct Launches {
    /// The number of the launch that was added last.
    made: u64,
    living: BTreeMap<u64, Kept>,
}

struct Kept {
    group: HpmoeGroup,
    launch: Launch,
}

enum Launch {
    Pending(Started),
    Fixed(Arc<Mutex<Fixed>>),
}

static LAUNCHES: Mutex<Launches> = Mutex::new(Launches { made: 0, living: BTreeMap::new() });

fn launches() -> MutexGuard<'static, Launches> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a launch of a group until it is waited for, and returns its number.
pub(crate) fn keep_pending(group: HpmoeGroup, launch: Started) -> HpmoePending {
    keep(group, Launch::Pending(launch))
}

/// Keeps a fixed launch of a group until it is freed, and returns its number.
pub(crate) fn keep_fixed(group: HpmoeGroup, launch: Fixed) -> HpmoeFixed {
    keep(group, Launch::Fixed(Arc::new(Mutex::new(launch))))
}

fn keep(group: HpmoeGroup, launch: Launch) -> u64 {
    let mut launches = launches();
    launches.made += 1;
    let number = launches.made;
    launches.living.insert(number, Kept { group, launch });
    number
}

/// Waits for the pending launch with number `number`, or for all launches of the fixed launch with that number.
pub(crate) fn wait(number: HpmoePending) -> Result<(), Failure> {
    let mut launches = launches();
    let made = launches.made;
    let launch = match launches.living.get(&number) {
        Some(Kept { launch: Launch::Fixed(launch), .. }) => Some(Launch::Fixed(Arc::clone(launch))),
        _ => launches.living.remove(&number).map(|kept| kept.launch),
    };
    drop(launches);
    match launch {
        Some(Launch::Pending(launch)) => return launch.finish(),
        Some(Launch::Fixed(launch)) => return launch.lock().unwrap_or_else(PoisonError::into_inner).wait(),
        None => {}
    }
    let why = match number {
        0 => "0 is none",
        number if number <= made => "it has been waited for, or its group has been freed",
        _ => "this library has never made it",
    };
    Err(Failure::invalid(format!("there is no pending launch {number}: {why}; pass a handle from hpmoe_enqueue")))
}

/// The fixed launch with number `number`.
pub(crate) fn fixed(number: HpmoeFixed) -> Result<Arc<Mutex<Fixed>>, Failure> {
    let launches = launches();
    match launches.living.get(&number) {
        Some(Kept { launch: Launch::Fixed(launch), .. }) => Ok(Arc::clone(launch)),
        _ => Err(launches.missing_fixed(number)),
    }
}

/// Frees a fixed launch, after its last launch has ended.
pub(crate) fn free(number: HpmoeFixed) -> Result<(), Failure> {
    let freed = {
        let mut launches = launches();
        match launches.living.get(&number) {
            Some(Kept { launch: Launch::Fixed(_), .. }) => launches.living.remove(&number),
            _ => return Err(launches.missing_fixed(number)),
        }
    };
    drop(freed);
    Ok(())
}

/// Leaves all pending launches of a group to the group, and frees its fixed launches.
pub(crate) fn leave(group: HpmoeGroup) {
    let mut launches = launches();
    let of_group: Vec<u64> =
        launches.living.iter().filter(|(_, kept)| kept.group == group).map(|(number, _)| *number).collect();
    let left: Vec<Kept> = of_group.iter().filter_map(|number| launches.living.remove(number)).collect();
    drop(launches);
    let mut fixed = Vec::new();
    for kept in left {
        match kept.launch {
            Launch::Pending(launch) => launch.leave(),
            Launch::Fixed(launch) => fixed.push(launch),
        }
    }
    drop(fixed);
}

impl Launches {
    fn missing_fixed(&self, number: HpmoeFixed) -> Failure {
        let why = match number {
            0 => "0 is none",
            number if number <= self.made => "it has been freed, or its group has, or it comes from hpmoe_enqueue",
            _ => "this library has never made it",
        };
        Failure::invalid(format!("there is no fixed launch {number}: {why}; pass a handle from hpmoe_fix"))
    }
}
