//! Time limits as points in time.

use std::time::{Duration, Instant};

/// The time at which a limit that starts now ends. If the clock can't represent it, a century from now.
pub(super) fn deadline(limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    Instant::now().checked_add(limit).unwrap_or_else(|| Instant::now() + CENTURY)
}

/// The time left until a deadline; `None` if it has passed.
pub(super) fn rest(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|rest| !rest.is_zero())
}
