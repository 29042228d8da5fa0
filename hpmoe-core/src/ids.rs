//! Newtype indices: ids inside, names only in messages and emitters.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index into one arena of the graph.
pub trait Id: Copy + Eq + Ord + fmt::Debug {
    /// The id of the element at position `index` of its arena.
    fn new(index: usize) -> Self;
    /// The position in the arena, from 0.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
        impl Id for $name {
            fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("an arena holds fewer than 2^32 elements"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A tensor of the taskflow: a parameter, a `let`, or one that the compiler adds.
    TensorId,
    /// An instance of a task: the function with its const arguments.
    TaskId,
    /// A task call of the taskflow.
    PhaseId,
    /// An iteration space: the items that phases run over.
    SpaceId,
    /// An array of readiness counters.
    CounterId,
    /// A value inside a task body.
    ValueId,
    /// A set of cores with one kind of work.
    RoleId,
    /// A part of a role: cores that share one queue.
    PartId,
}

/// A vector indexed by one kind of id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arena<I, T> {
    items: Vec<T>,
    id: PhantomData<I>,
}

impl<I: Id, T> Arena<I, T> {
    /// Creates an arena without elements.
    #[must_use]
    pub fn new() -> Self {
        Self { items: Vec::new(), id: PhantomData }
    }
    /// Adds an element and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::new(self.items.len() - 1)
    }
    /// All ids with their elements, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (I::new(index), item))
    }
    /// The ids of all elements, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::new)
    }
    /// The number of elements, which is also the index of the next element.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether the arena has no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The id of the first element for which `is_wanted` returns true; `None` if there is none.
    pub fn position(&self, is_wanted: impl FnMut(&T) -> bool) -> Option<I> {
        self.items.iter().position(is_wanted).map(I::new)
    }
}

impl<I: Id, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for Arena<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(iter: It) -> Self {
        Self { items: iter.into_iter().collect(), id: PhantomData }
    }
}
