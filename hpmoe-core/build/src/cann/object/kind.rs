//! Kernel types, as numbered in the sections of an object.

/// Both kinds of core, counted by matrix cores: the only type that is launched.
pub(super) const BOTH: u32 = 4;
/// Both kinds of core run, but the half for vector cores is empty, and has no symbol.
const EMPTY_VECTOR_HALF: u32 = 6;
/// Both kinds of core run, but the half for matrix cores is empty, and has no symbol.
const EMPTY_MATRIX_HALF: u32 = 7;

/// The cores whose half is empty in a kernel of that type, if one is.
pub(super) fn empty_half(kind: u32) -> Option<&'static str> {
    match kind {
        EMPTY_VECTOR_HALF => Some("vector"),
        EMPTY_MATRIX_HALF => Some("matrix"),
        _ => None,
    }
}

/// The type's number and meaning.
pub(super) fn named(kind: u32) -> String {
    let cores = match kind {
        1 => ", the cores of older chips",
        2 => ", matrix cores alone",
        3 => ", vector cores alone",
        BOTH => ", both kinds of core",
        5 => ", both kinds of core counted by vector cores",
        EMPTY_VECTOR_HALF => ", an empty half for vector cores",
        EMPTY_MATRIX_HALF => ", an empty half for matrix cores",
        _ => "",
    };
    format!("kernel type {kind}{cores}")
}
