//! Tests of parts that are copied, and of parts that are refused.

use super::*;

fn part(tensor: &'static str, start: usize, bytes: usize, writable: bool) -> Part {
    Part { tensor, rank: 0, address: ptr::without_provenance_mut(start), bytes, writable, on_npu: false }
}

fn read(tensor: &'static str, start: usize, bytes: usize) -> Part {
    part(tensor, start, bytes, false)
}

fn written(tensor: &'static str, start: usize, bytes: usize) -> Part {
    part(tensor, start, bytes, true)
}

fn refused(parts: &[Part]) -> Failure {
    to_copy(parts).unwrap_err()
}

#[test]
fn parts_side_by_side_are_used_where_they_lie() {
    let parts = [read("x", 640, 64), written("y", 704, 100), read("w", 64, 576), written("none", 650, 0)];
    assert_eq!(to_copy(&parts).unwrap(), []);
}

#[test]
fn a_part_that_does_not_start_on_a_line_is_copied() {
    let parts = [read("x", 96, 64), written("y", 256, 64)];
    assert_eq!(to_copy(&parts).unwrap(), [(0, "it starts at 0x60, which is not a multiple of 64".to_owned())]);
}

#[test]
fn what_is_read_twice_is_copied_unless_it_is_the_same() {
    let same = [read("gate", 64, 128), read("up", 64, 128)];
    assert_eq!(to_copy(&same).unwrap(), []);
    let other_rank = Part { rank: 1, ..same[1] };
    assert_eq!(to_copy(&[same[0], other_rank]).unwrap(), [(1, "it shares memory with `gate` of rank 0".to_owned())]);
    let inside = [read("all", 64, 512), read("part", 128, 64), read("next", 256, 64), read("after", 576, 64)];
    let reason = "it shares memory with `all` of rank 0".to_owned();
    assert_eq!(to_copy(&inside).unwrap(), [(1, reason.clone()), (2, reason)]);
}

#[test]
fn what_is_written_shares_memory_with_nothing() {
    let said = "`y` of rank 0 is written and shares memory with `x` of rank 0: give it memory of its own";
    for (x, y) in [(64, 64), (64, 120), (120, 64), (0, 100)] {
        assert_eq!(refused(&[read("x", x, 128), written("y", y, 64)]), Failure::invalid(said), "{x} {y}");
    }
    // Something that ends earlier lies between them.
    let between = [read("x", 0, 512), read("z", 64, 64), written("y", 256, 64)];
    assert_eq!(refused(&between), Failure::invalid(said));
    // A copy does not help: the caller would not see in which order the copies are used.
    assert_eq!(refused(&[read("x", 65, 128), written("y", 64, 64)]), Failure::invalid(said));
    let twice = refused(&[written("dx", 0, 128), written("dy", 64, 64)]);
    assert_eq!(
        twice,
        Failure::invalid("`dy` of rank 0 is written and shares memory with `dx` of rank 0: give it memory of its own")
    );
}

#[test]
fn memory_of_an_npu_is_not_copied_and_is_not_the_hosts() {
    let on_npu = |part: Part| Part { on_npu: true, ..part };
    let parts = [on_npu(read("x", 96, 64)), on_npu(read("z", 128, 64)), written("y", 128, 64)];
    assert_eq!(to_copy(&parts).unwrap(), []);
    let said = "`y` of rank 0 is written and shares memory with `x` of rank 0: give it memory of its own";
    assert_eq!(refused(&[on_npu(read("x", 64, 64)), on_npu(written("y", 64, 64))]), Failure::invalid(said));
    // Streams order what is used there.
    let first = InUse::begin(&[on_npu(written("y", 1 << 41, 64))]).unwrap();
    assert!(InUse::begin(&[on_npu(written("y", 1 << 41, 64))]).is_ok());
    drop(first);
}

#[test]
fn a_part_ends_in_memory() {
    let said = format!(
        "`x` of rank 0 has 64 bytes at address {:#x}, which end beyond any memory: check its number of rows",
        usize::MAX - 63
    );
    assert_eq!(refused(&[read("x", usize::MAX - 63, 64)]), Failure::invalid(said));
}

#[test]
fn a_copy_brings_back_what_was_written() {
    let mut bytes = [1_u8; 200];
    let address = bytes.as_mut_ptr().wrapping_add(3);
    for writable in [false, true] {
        // SAFETY: 150 of the bytes above.
        let mut copy =
            unsafe { PartCopy::new(Part { tensor: "x", rank: 0, address, bytes: 150, writable, on_npu: false }) }
                .unwrap();
        assert_eq!(copy.address().addr() % 64, 0);
        // SAFETY: the copy's own bytes, then those above.
        unsafe {
            assert_eq!(*copy.address().add(149), 1);
            *copy.address() = 7;
            *copy.address().add(149) = 8;
            copy.copy_back();
        }
        // SAFETY: bytes above.
        let after = unsafe { [*address, *address.add(149), *address.add(150)] };
        assert_eq!(after, if writable { [7, 8, 1] } else { [1, 1, 1] });
    }
}

#[test]
fn two_launches_do_not_write_the_same() {
    // Addresses that no other test of this process uses.
    let x = read("x", 1 << 40, 64);
    let first = InUse::begin(&[x, written("y", (1 << 40) + 64, 64)]).unwrap();
    let second = InUse::begin(&[x, written("y", (1 << 40) + 128, 64)]).unwrap();
    let refused = InUse::begin(&[written("z", (1 << 40) + 60, 4)]).unwrap_err();
    assert_eq!(
        refused,
        Failure::invalid(
            "`z` of rank 0 lies in memory that a launch of another thread uses, and one of the two launches writes it: wait for that launch"
        )
    );
    assert!(InUse::begin(&[read("z", (1 << 40) + 100, 4)]).is_err());
    drop(first);
    assert!(InUse::begin(&[read("z", (1 << 40) + 100, 4)]).is_ok());
    assert!(InUse::begin(&[written("z", 1 << 40, 4)]).is_err());
    drop(second);
    assert!(InUse::begin(&[written("z", 1 << 40, 4)]).is_ok());
}
