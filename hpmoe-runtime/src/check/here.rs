//! The ranks of this process, in words.

use hpmoe_kernels::Ranks;

/// The local ranks, in words.
pub(super) fn here(ranks: Ranks) -> String {
    match ranks.only() {
        Some(only) => format!("{only} alone"),
        None => format!("all {} ranks", ranks.count()),
    }
}
