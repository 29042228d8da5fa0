//! Weights, one matrix per expert.

use std::fmt;

use super::buffer::CellBuffer;
use super::tile::TileRows;
use crate::{Element, Expert, PerRank, Ranks, Route, Tile};

/// An N×K matrix for each expert of one rank, the rank's first expert first.
#[derive(Clone)]
pub struct Experts<T: Element, const N: usize, const K: usize> {
    cells: CellBuffer<T>,
}

impl<T: Element, const N: usize, const K: usize> Experts<T, N, K> {
    /// Makes the matrices from their values, expert after expert, row after row.
    ///
    /// # Panics
    ///
    /// If N·K is 0, or the number of values is not a multiple of N·K.
    #[must_use]
    pub fn from_slice(values: &[T]) -> Self {
        assert!(
            N * K > 0 && values.len() % (N * K) == 0,
            "experts of {N}x{K} can't be made of {} values: pass whole experts",
            values.len()
        );
        Self { cells: CellBuffer::copied(values) }
    }

    /// Makes the matrices from their values, expert after expert, row after row, like [`from_slice`](Self::from_slice).
    ///
    /// # Panics
    ///
    /// If N·K is 0, or the number of values is not a multiple of N·K.
    #[must_use]
    pub fn from_vec(values: Vec<T>) -> Self {
        Self::from_slice(&values)
    }

    /// Makes `experts` matrices of zeros.
    #[must_use]
    pub fn zeros(experts: usize) -> Self {
        Self { cells: CellBuffer::filled(experts * N * K, T::default()) }
    }

    /// Makes `experts` matrices in which every bit is set.
    pub(crate) fn poisoned(experts: usize) -> Self {
        Self { cells: CellBuffer::filled(experts * N * K, T::POISON) }
    }

    /// Number of experts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cells.len() / (N * K)
    }

    /// All elements, expert after expert.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.cells.to_vec()
    }

    /// The address of the first element: 512-byte aligned, valid for reads and writes of `count() * N * K` elements
    /// while `self` lives. Nothing on the host may use the elements while a kernel does.
    #[must_use]
    pub fn address(&self) -> *const T {
        self.cells.as_ptr().cast()
    }

    /// The matrix of an expert of this rank. The owner is not checked: only the expert's [local number](Expert::local) counts.
    #[must_use]
    pub fn expert(&self, expert: Expert) -> Tile<'_, T, N, K> {
        Tile::new(&self.cells, K, TileRows::Range { first: expert.local() * N, count: N })
    }
}

impl<T: Element, const N: usize, const K: usize> PartialEq for Experts<T, N, K> {
    fn eq(&self, other: &Self) -> bool {
        self.cells[..] == other.cells[..]
    }
}

impl<T: Element, const N: usize, const K: usize> fmt::Debug for Experts<T, N, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Experts<{}, {N}, {K}>[{} experts]", T::TYPE, self.count())
    }
}

impl PerRank<()> {
    /// [`Experts`] on each rank, in private memory. Every bit starts set.
    #[must_use]
    pub fn experts<T: Element, const N: usize, const K: usize>(ep: Ranks, route: &Route) -> PerRank<Experts<T, N, K>> {
        PerRank::from_fn(ep, |_| Experts::poisoned(route.local_experts()))
    }
}
