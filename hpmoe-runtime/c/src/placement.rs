//! Placements of experts.

use std::slice;
use std::sync::PoisonError;

use hpmoe_runtime::prelude::Ranks;
use hpmoe_runtime::{Placement, PlacementError};

use crate::error::Failure;
use crate::header::{HpmoeFixed, HpmoeGroup, HpmoePlacement};
use crate::{groups, launches};

/// Makes a group that shares everything with group `group`, but has this placement. Returns its number.
///
/// # Safety
///
/// The conditions of `hpmoe_group_placed` in the header apply.
pub(crate) unsafe fn group_placed(group: HpmoeGroup, placement: &HpmoePlacement) -> Result<HpmoeGroup, Failure> {
    // SAFETY: the caller's arrays.
    let placed = unsafe { read(groups::find(group)?.ranks(), placement) }?;
    groups::placed(group, &placed)
}

/// Overwrites the placement of a fixed launch.
///
/// # Safety
///
/// The conditions of `hpmoe_fixed_place` in the header apply.
pub(crate) unsafe fn fixed_place(fixed: HpmoeFixed, placement: &HpmoePlacement) -> Result<(), Failure> {
    let fixed = launches::fixed(fixed)?;
    let mut fixed = fixed.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's arrays.
    let placed = unsafe { read(fixed.ranks(), placement) }?;
    fixed.place(&placed)
}

/// Reads a placement that the caller passed, for these ranks.
///
/// # Safety
///
/// The conditions of `HpmoePlacement` in the header apply.
unsafe fn read(ep: Ranks, placement: &HpmoePlacement) -> Result<Placement, Failure> {
    let HpmoePlacement { experts, places: places_of_rank, physical_to_logical, shares } = *placement;
    // SAFETY: the caller's arrays.
    unsafe {
        let held = numbers(physical_to_logical, ep, places_of_rank, "physical_to_logical")?;
        let placed = Placement::new(ep, count(experts), &experts_of(held)?).map_err(invalid)?;
        if shares.is_null() {
            return Ok(placed);
        }
        placed.with_shares(numbers(shares, ep, places_of_rank, "shares")?).map_err(invalid)
    }
}

/// Places experts by their loads.
///
/// # Safety
///
/// The conditions of `hpmoe_place` in the header apply.
pub(crate) unsafe fn place(
    (ranks, experts, places): (u64, u64, u64),
    loads: *const u64,
    (current, moves): (*const i32, u64),
    physical_to_logical: *mut i32,
) -> Result<(), Failure> {
    let ep = Ranks::new(groups::rank_count(ranks)?);
    if loads.is_null() || physical_to_logical.is_null() {
        return Err(Failure::invalid(
            "`loads` and `physical_to_logical` can't be null: pass a load for each expert, and room for each place",
        ));
    }
    let share = count(experts).div_ceil(ep.count());
    let spare = count(places).checked_sub(share).ok_or_else(|| {
        Failure::invalid(format!(
            "{places} places on each of {ranks} ranks are too few for {experts} experts: give each rank at least {share} places"
        ))
    })?;
    // SAFETY: the caller's array.
    let loads = unsafe { slice::from_raw_parts(loads, count(experts)) };
    let placed = if current.is_null() {
        Placement::balanced(ep, loads, spare)
    } else {
        // SAFETY: the caller's array.
        let current = unsafe { numbers(current, ep, places, "current") }?;
        let current = Placement::new(ep, loads.len(), &experts_of(current)?).map_err(invalid)?;
        current.rebalanced(loads, usize::try_from(moves).unwrap_or(usize::MAX))
    };
    let placed = placed.map_err(invalid)?;
    let found = placed.physical_to_logical();
    // SAFETY: the caller's array, which has room for this many.
    let written = unsafe { slice::from_raw_parts_mut(physical_to_logical, found.len()) };
    for (place, expert) in written.iter_mut().zip(found) {
        *place = expert.map_or(-1, |expert| i32::try_from(expert).expect("experts were numbered by 32 bits"));
    }
    Ok(())
}

/// Reads an array that has a number for each place of all ranks.
///
/// # Safety
///
/// `array` is null, or an array of the caller with this many elements.
unsafe fn numbers<'a, T>(array: *const T, ep: Ranks, places: u64, name: &str) -> Result<&'a [T], Failure> {
    if array.is_null() {
        return Err(Failure::invalid(format!("`{name}` is null: pass a number for each place of all ranks")));
    }
    let all = count(places).checked_mul(ep.count()).filter(|all| *all <= MOST);
    let all = all.ok_or_else(|| {
        Failure::invalid(format!("{places} places per rank are too many: {MOST} is the limit for all ranks together"))
    })?;
    // SAFETY: the caller upholds the contract of this function.
    Ok(unsafe { slice::from_raw_parts(array, all) })
}

/// Maximum number of places of all ranks: the number that descriptors can address, on the largest number of ranks.
const MOST: usize = 65_535 * 256;

fn experts_of(places: &[i32]) -> Result<Vec<Option<usize>>, Failure> {
    let expert = |(place, &expert): (usize, &i32)| match expert {
        -1 => Ok(None),
        _ => usize::try_from(expert)
            .map(Some)
            .map_err(|_| Failure::invalid(format!("place {place} holds expert {expert}: use -1 for an empty place"))),
    };
    places.iter().enumerate().map(expert).collect()
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn invalid(error: PlacementError) -> Failure {
    Failure::invalid(error.to_string())
}
