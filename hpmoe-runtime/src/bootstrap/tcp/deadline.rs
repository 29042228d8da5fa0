//! Time limits as moments.

use std::time::{Duration, Instant};

/// The moment at which a limit is over. One beyond the clock is a century.
pub(super) fn deadline(limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    Instant::now().checked_add(limit).unwrap_or_else(|| Instant::now() + CENTURY)
}

/// The time until a moment, if it is still to come.
pub(super) fn rest(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|rest| !rest.is_zero())
}
