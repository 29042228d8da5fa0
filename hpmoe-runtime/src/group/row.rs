//! Rows of launches, before and after they are checked.

use hpmoe_kernels::Route;

use crate::Argument;
use crate::layout::{LaunchRoute, RankSizes};
use crate::tables::ScheduleTable;

/// A launch before it is checked.
#[derive(Clone, Copy)]
pub(super) struct UncheckedStep<'a> {
    /// The host's route; `None` if the kernel makes its route.
    pub(super) route: Option<&'a Route>,
    pub(super) arguments: &'a [Argument<'a>],
}

/// The route and the tensors of one launch, after the check.
pub(super) struct LaunchStep<'a> {
    pub(super) route: LaunchRoute<'a>,
    pub(super) arguments: &'a [Argument<'a>],
}

/// A row of launches that passed all checks.
pub(super) struct PreparedRow<'a> {
    /// Number of chunks of each launch.
    pub(super) chunks: usize,
    pub(super) schedule: &'a ScheduleTable,
    pub(super) sizes: RankSizes,
    pub(super) steps: Vec<LaunchStep<'a>>,
}
