//! The ranks of this process, as text.

use hpmoe_kernels::Ranks;

/// The ranks of this process, as text.
pub(super) fn here(ranks: Ranks) -> String {
    match ranks.only() {
        Some(only) => format!("{only} alone"),
        None => format!("all {} ranks", ranks.count()),
    }
}
