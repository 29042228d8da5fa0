//! The data that the host exchanges with the probes' kernel in addition to the ABI of kernels. `probes/core.cpp` has the same definitions.

use bytemuck::{Pod, Zeroable};

/// The work that the cores of a launch do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Which {
    Cores = 0,
    Poll = 1,
    Adds = 2,
    DataOrder = 3,
    Sums = 4,
    Reach = 5,
    PeerAdds = 6,
    Landed = 7,
    Ready = 8,
    Stuck = 9,
    Time = 10,
    Relu = 11,
    Rows = 12,
    Flags = 13,
}

/// The operation of a timed loop, which is [`Request::left`] of [`Which::Time`]; [`Request::right`] is the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Loop {
    Copy = 0,
    Add = 1,
    Wait = 2,
    Signal = 3,
    Trip = 4,
    Stream = 5,
    Put = 6,
    PutAll = 7,
    Fence = 8,
    FarTrip = 9,
    Barrier = 10,
    Product = 11,
    CopyToL1 = 12,
    StreamToL1 = 13,
}

/// The request, which lies right after the launch structure in memory.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Request {
    pub(crate) which: u32,
    pub(crate) rounds: u32,
    /// Number of words of a block of data or, for [`Which::Cores`], number of lines for observations.
    pub(crate) words: u32,
    /// The number that identifies this request.
    pub(crate) mark: u32,
    /// Address of the observations.
    pub(crate) observations: u64,
    /// This and the next fields: offsets in the heap.
    pub(crate) data: u64,
    pub(crate) left: u64,
    pub(crate) right: u64,
    pub(crate) reserved: [u64; 2],
}

/// The result of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Observation {
    pub(crate) mark: u32,
    /// 1 if the core is a matrix core.
    pub(crate) matrix: u32,
    pub(crate) index: u32,
    pub(crate) blocks: u32,
    /// Number of vector cores per matrix core, as a vector core reads it.
    pub(crate) ratio: u32,
    pub(crate) rounds: u32,
    /// Number of wrong words. The next fields describe the first one.
    pub(crate) misses: u32,
    pub(crate) miss_word: u32,
    pub(crate) miss_have: i32,
    pub(crate) miss_need: i32,
    pub(crate) miss_round: u32,
    /// Cycles of the system counter that a timed loop took.
    pub(crate) cycles: u32,
    pub(crate) reserved: [u32; 4],
}

const _: () = assert!(size_of::<Request>() == 64 && size_of::<Observation>() == 64);

/// Number of words of the largest block of data.
pub(crate) const MOST_WORDS: usize = 16 * 1024;
/// Number of bytes of the largest block of data.
pub(crate) const BLOCK: usize = 4 * MOST_WORDS;
/// Number of columns of the products of [`Loop::Product`], and their depth, which is `words` of the request.
pub(crate) const WIDE: usize = 256;
pub(crate) const DEEP: usize = 2048;
/// Number of words that [`Which::Adds`] and [`Which::PeerAdds`] add to.
pub(crate) const SUMMED: usize = 8;
/// Number of rows and columns of the products of [`Which::DataOrder`], and their depth.
pub(crate) const TILE: usize = 128;
pub(crate) const DEPTH: usize = 64;
/// Number of rows and columns of the products of [`Which::Sums`], and the depth of the first one; each further one is four times as deep.
pub(crate) const SIDE: usize = 32;
pub(crate) const SHORTEST: usize = 16;

/// The amount that a vector core adds to a word in each addition.
pub(crate) const fn amount(number: u32) -> i32 {
    1 + (number % 3) as i32
}

impl Request {
    pub(crate) fn new(which: Which, rounds: u32) -> Self {
        Self { which: which as u32, rounds, mark: 1, words: MOST_WORDS as u32, ..Zeroable::zeroed() }
    }

    /// A request for a timed loop, with a peer of rank 0 if it needs one.
    pub(crate) fn timed(what: Loop, rounds: u32, peer: usize) -> Self {
        Self { left: what as u64, right: peer as u64, ..Self::new(Which::Time, rounds) }
    }
}
