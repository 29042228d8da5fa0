//! The contents of a memory, for errors.

use crate::finding::Content;
use crate::units::Bytes;

/// Sorts contents by size, the largest first; contents of equal size keep their order.
pub(super) fn by_size(mut contents: Vec<(Content, Bytes)>) -> Vec<(Content, Bytes)> {
    contents.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    contents
}
