//! Placements of experts, passed by a C program.

use std::ptr::{null, null_mut};

use hpmoe_c::header::{HPMOE_INVALID, HPMOE_OK, HpmoePlacement};
use hpmoe_device_tests::hpmoe_library::{hpmoe_group_free, hpmoe_group_placed, hpmoe_place};

use super::support::{Echo, Group, error};

/// A property of the group with a placement of four experts, or the error.
fn placed(group: &Group, places: &[i32], shares: Option<&[u32]>) -> Result<u64, String> {
    let placement = HpmoePlacement {
        experts: 4,
        places: places.len() as u64,
        physical_to_logical: places.as_ptr(),
        shares: shares.map_or(null(), <[u32]>::as_ptr),
    };
    let mut placed = 0;
    // SAFETY: a structure and a variable of this function; the group has one rank.
    match unsafe { hpmoe_group_placed(group.0, &raw const placement, &raw mut placed) } {
        HPMOE_OK => Ok(placed),
        status => {
            assert_eq!(status, HPMOE_INVALID);
            Err(error())
        }
    }
}

#[test]
fn a_launch_by_a_number_with_a_placement_has_the_same_results() {
    let group = Group::new(1);
    let by_placement = placed(&group, &[2, 0, 3, 1], Some(&[1, 7, 1, 1])).unwrap();
    for number in [by_placement, group.0, by_placement] {
        let echo = Echo::new(5);
        assert_eq!(echo.launch(number), HPMOE_OK, "{}", error());
        assert_eq!(echo.y.floats(), echo.expected());
    }
    // One place more than the kernel has.
    let roomy = placed(&group, &[2, 0, 3, 1, -1], None).unwrap();
    assert_eq!(Echo::new(5).launch(roomy), HPMOE_INVALID);
    assert!(error().contains("5 places for experts on each rank, but echo::forward was built with 4"), "{}", error());
    assert_eq!([hpmoe_group_free(by_placement), hpmoe_group_free(roomy)], [HPMOE_OK; 2]);
    assert_eq!(Echo::new(5).launch(by_placement), HPMOE_INVALID);
    assert_eq!(Echo::new(5).launch(group.0), HPMOE_OK, "the group itself is there");
}

#[test]
fn what_is_no_placement_is_told() {
    let group = Group::new(1);
    let refused = |places: &[i32], shares| placed(&group, places, shares).unwrap_err();
    assert!(refused(&[0, 1, 2, 2], None).contains("rank 0 has expert 2 in place 2 and again in place 3"));
    assert!(refused(&[0, 1, 2, -2], None).contains("place 3 holds expert -2: use -1 for an empty place"));
    assert!(refused(&[0, 1, 2, 3], Some(&[0, 1, 1, 1])).contains("all places of expert 0 have a share of 0"));
    let mut number = 0;
    // SAFETY: null is refused.
    assert_eq!(unsafe { hpmoe_group_placed(group.0, null(), &raw mut number) }, HPMOE_INVALID);
    assert!(error().contains("`placement` is null"));
}

#[test]
fn experts_are_placed_by_their_loads() {
    let (loads, mut first, mut later) = ([60, 20, 20, 20], [7; 6], [7; 6]);
    // SAFETY: arrays of this function, as long as the header says.
    unsafe {
        assert_eq!(hpmoe_place(2, 4, 3, loads.as_ptr(), null(), 0, first.as_mut_ptr()), HPMOE_OK, "{}", error());
        let new = [20, 60, 20, 20];
        let status = hpmoe_place(2, 4, 3, new.as_ptr(), first.as_ptr(), 1, later.as_mut_ptr());
        assert_eq!(status, HPMOE_OK, "{}", error());
        assert_eq!(hpmoe_place(2, 4, 1, loads.as_ptr(), null(), 0, first.as_mut_ptr()), HPMOE_INVALID);
        assert!(
            error().contains("1 places on each of 2 ranks are too few for 4 experts: give each rank at least 2 places"),
            "{}",
            error()
        );
        assert_eq!(hpmoe_place(2, 4, 3, null(), null(), 0, null_mut()), HPMOE_INVALID);
    }
    assert_eq!(first.iter().filter(|expert| **expert == 0).count(), 2);
    let written = first.iter().zip(&later).filter(|(old, new)| old != new && **new != -1).count();
    assert!(written <= 1, "{first:?} {later:?}");
}
