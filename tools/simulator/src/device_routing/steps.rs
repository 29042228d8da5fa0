//! The steps of the routines in `routing/lists.h` and `base.h`, and the time of each step.

use std::ops::{Add, AddAssign};

use hpmoe_core::target::Target;

/// Number of 32-bit elements in a block.
pub(super) const BLOCK_WORDS: u64 = 8;
/// Number of 32-bit elements in a repeat of a vector call.
pub(super) const LANES: u64 = 64;
/// Number of words in the pattern of offsets that interleaves lists.
const PATTERN_WORDS: u64 = 1024;

/// Numbers of steps that one core takes, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RoutingSteps {
    /// Number of vector calls.
    pub calls: u64,
    /// Number of repeats of vector calls, each over 64 lanes.
    pub repeats: u64,
    /// Number of repeats of gathers, which read word by word.
    pub gathers: u64,
    /// Number of words that the scalar unit reads or writes.
    pub scalars: u64,
    /// Number of waits of the scalar unit for a pipe.
    pub waits: u64,
    /// Number of copies between global memory and UB.
    pub copies: u64,
    /// Number of copies that the core waits for.
    pub trips: u64,
    /// Number of bytes that copies move.
    pub bytes: u64,
}

/// Prices of steps, in nanoseconds each. Most are assumptions, because no measurements are known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoutingPrices {
    /// Price of a vector call with its barrier, in a separate routine (assumed: 30 cycles).
    pub call: f64,
    /// Price of a repeat of a vector call (assumed: two cycles).
    pub repeat: f64,
    /// Price of a repeat of a gather (assumed: one cycle per lane).
    pub gather: f64,
    /// Price of a word that the scalar unit reads or writes (assumed: a load from UB and the instructions around it).
    pub scalar: f64,
    /// Price of a wait of the scalar unit for a pipe (assumed: two flags and the depth of the vector unit).
    pub wait: f64,
    /// Price of a copy (assumed: like a vector call).
    pub copy: f64,
    /// Price of the round trip of a copy: a request that L2 answers (measured on A2), and two flags.
    pub trip: f64,
}

impl RoutingPrices {
    /// The prices of steps on a target.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        let cycles = |count: f64| count / target.cores.clock_ghz;
        Self {
            call: cycles(30.0),
            repeat: cycles(2.0),
            gather: cycles(64.0),
            scalar: 15.0,
            wait: 50.0,
            copy: cycles(30.0),
            trip: 150.0,
        }
    }
}

impl RoutingSteps {
    /// Time of all steps, one after another, in nanoseconds.
    pub(super) fn ns(&self, target: &Target, prices: &RoutingPrices) -> f64 {
        let counts = [self.calls, self.repeats, self.gathers, self.scalars, self.waits, self.copies, self.trips];
        let RoutingPrices { call, repeat, gather, scalar, wait, copy, trip } = *prices;
        let steps: f64 =
            counts.into_iter().zip([call, repeat, gather, scalar, wait, copy, trip]).map(|(n, ns)| n as f64 * ns).sum();
        steps + self.bytes as f64 / (target.memory.gm_ub_bytes_per_cycle * target.cores.clock_ghz)
    }

    pub(super) fn vector(&mut self, calls: u64, count: u64) {
        self.calls += calls;
        self.repeats += calls * count.div_ceil(LANES);
    }

    pub(super) fn gather(&mut self, count: u64) {
        self.calls += 1;
        self.gathers += count.div_ceil(LANES);
    }

    pub(super) fn load(&mut self, count: u64) {
        self.copies += 1;
        self.trips += 1;
        self.bytes += count * 4;
    }

    pub(super) fn store(&mut self, count: u64) {
        self.load(count);
    }

    /// Adds the steps of `Ramp`, which lists the numbers from 0 on.
    pub(super) fn ramp(&mut self, count: u64) {
        self.scalars += BLOCK_WORDS;
        self.waits += 2;
        self.doubled(BLOCK_WORDS, count);
    }

    pub(super) fn doubled(&mut self, begin: u64, count: u64) {
        let mut made = begin;
        while made < count {
            self.vector(1, made.min(count - made));
            made *= 2;
        }
    }

    /// Adds the steps of `SumsBefore`, which replaces each number by the sum of the numbers before it.
    pub(super) fn sums(&mut self, count: u64) {
        self.vector(2, 1);
        for _ in 0..3 {
            self.gather(count);
        }
        self.vector(3 + 1, count);
        let mut step = BLOCK_WORDS;
        while step < count {
            self.vector(2, count - step);
            step *= 2;
        }
    }

    pub(super) fn sums_in_segments(&mut self, count: u64) {
        self.sums(count);
        self.gather(count);
        self.vector(1, count);
    }

    /// Adds the steps of `TotalOf`, which sums all numbers.
    pub(super) fn sum(&mut self, count: u64) {
        self.fold(count / BLOCK_WORDS, BLOCK_WORDS);
        self.waits += 1;
        self.scalars += if count < BLOCK_WORDS { count } else { BLOCK_WORDS + count % BLOCK_WORDS };
    }

    /// Adds the steps that add up several rows of numbers into one row.
    pub(super) fn fold(&mut self, rows: u64, pitch: u64) {
        let mut left = rows;
        while left > 1 {
            self.vector(1, left / 2 * pitch);
            left -= left / 2;
        }
    }

    /// Adds the steps of `Least`, which finds the smallest number in several rows of counts.
    pub(super) fn least(&mut self, rows: u64, pitch: u64) {
        self.vector(1, (rows - rows / 2) * pitch);
        self.fold(rows, pitch);
        self.reduce(pitch);
    }

    /// Adds the steps of `LeastOf` after rows are combined: the smallest or largest of all numbers.
    pub(super) fn reduce(&mut self, count: u64) {
        self.vector(2, count);
        let mut left = count;
        while left > 1 {
            self.calls += u64::from(left >= LANES) + u64::from(left % LANES != 0);
            left = left.div_ceil(LANES);
            self.repeats += left;
        }
        self.waits += 1;
        self.scalars += 1;
    }

    /// Adds the steps of `StoreInterleaved`, which stores several lists with their numbers alternating in memory.
    pub(super) fn interleaved(&mut self, lists: u64, count: u64) {
        self.waits += 2;
        self.scalars += lists * BLOCK_WORDS;
        self.doubled(lists * BLOCK_WORDS, PATTERN_WORDS);
        let mut left = lists * count;
        while left > 0 {
            let words = left.min(PATTERN_WORDS);
            self.gather(words);
            self.store(words);
            left -= words;
        }
    }
}

impl Add for RoutingSteps {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for RoutingSteps {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.repeats += other.repeats;
        self.gathers += other.gathers;
        self.scalars += other.scalars;
        self.waits += other.waits;
        self.copies += other.copies;
        self.trips += other.trips;
        self.bytes += other.bytes;
    }
}
