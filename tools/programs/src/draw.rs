//! Choices by chance.

use fastrand::Rng;

/// One of some items.
pub(crate) fn one_of<T: Copy>(rng: &mut Rng, items: &[T]) -> T {
    items[rng.usize(..items.len())]
}

/// True once in `times` draws, on average.
pub(crate) fn once_in(rng: &mut Rng, times: usize) -> bool {
    rng.usize(..times) == 0
}
