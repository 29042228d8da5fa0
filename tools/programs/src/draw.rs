//! Random choices.

use fastrand::Rng;

/// Returns one of the items.
pub(crate) fn one_of<T: Copy>(rng: &mut Rng, items: &[T]) -> T {
    items[rng.usize(..items.len())]
}

/// Returns true once in `times` calls, on average.
pub(crate) fn once_in(rng: &mut Rng, times: usize) -> bool {
    rng.usize(..times) == 0
}
