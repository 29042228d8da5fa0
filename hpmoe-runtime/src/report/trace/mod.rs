//! The times at which each core ran its tiles: a launch's time stamps, on one clock.

mod clocks;
mod write;

use std::fmt;

use super::words::counted;
use crate::KernelTables;
use crate::abi::HpmoeStamp;
use crate::layout::stamps::{CoreStamps, RankStamps};
pub use clocks::ClockOffset;

/// Nanoseconds of a cycle of the system counter.
const CYCLE_NS: i64 = 20;

/// The times at which each core ran its tiles in the last launch of a row, from time stamps that the kernel recorded.
///
/// A core's scalar unit takes the time stamps. It issues instructions to the pipes and continues before they have
/// finished, so a time stamp can be early by up to about one tile.
///
/// [`write`](Self::write) uses the same format as `hpmoe simulate --trace`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Trace {
    /// Name of the kernel and its taskflow, `module::taskflow`.
    pub kernel: &'static str,
    /// The kernel's source file, as given to the build script.
    pub file: &'static str,
    /// The hardware that ran the kernel, as written into the file: the chip's name, or this machine's CPU.
    pub on: String,
    /// The cores of each rank.
    pub ranks: Vec<RankTrace>,
}

/// The cores of one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RankTrace {
    /// The cores, matrix cores first.
    pub cores: Vec<CoreTrace>,
    /// The offset of this rank's clock from rank 0's. `None` if the offset is unknown; this rank's times are then those of its own clock.
    pub clock: Option<ClockOffset>,
}

/// The tiles of one core. Times are nanoseconds on rank 0's clock, counted from the start of the first core of any
/// rank.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CoreTrace {
    /// `AIC` or `AIV`.
    pub kind: &'static str,
    /// The core's number among the cores of its kind on the rank.
    pub number: usize,
    /// Time at which the core began.
    pub begun_ns: i64,
    /// Time at which the core finished its queue.
    pub ended_ns: i64,
    /// The first tiles that the core ran, up to the number of time stamps that fit.
    pub tiles: Vec<TileTrace>,
    /// Number of later tiles, for which no time stamps were recorded.
    pub lost: usize,
}

/// The times of one tile on a core: when the core reached the tile, how long it waited, and when it continued after the tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TileTrace {
    /// Name of the call, as in `project→g`; `tables of the route` while the kernel makes its route.
    pub task: &'static str,
    /// Line of the call in the kernel's source file.
    pub line: u32,
    /// Number of the group: a local expert, a pair of peer and expert, or a chunk.
    pub group: u32,
    /// Number of the item within the group.
    pub item: u32,
    /// Number of the column within the item.
    pub column: u32,
    /// Time at which the core reached the tile.
    pub came_ns: i64,
    /// Time that the core waited for the tile's dependencies.
    pub waited_ns: i64,
    /// Time from reaching the tile to continuing after it, including the wait.
    pub lasted_ns: i64,
}

impl Trace {
    /// Makes a trace from the time stamps of all ranks of a host run.
    pub(crate) fn new(tables: &KernelTables, stamps: &[RankStamps]) -> Self {
        let clocks: Vec<Option<ClockOffset>> = (0..stamps.len()).map(|rank| clocks::offset(stamps, rank)).collect();
        let ahead = |rank: usize| clocks[rank].map_or(0, |clock| clock.ahead);
        let cores = stamps.iter().enumerate().flat_map(|(rank, rank_stamps)| {
            rank_stamps.cores.iter().map(move |core| core.head.begun as i64 - ahead(rank))
        });
        let first = cores.min().unwrap_or(0);
        let rank = |(rank, stamps): (usize, &RankStamps)| {
            let ns = |cycles: u64| (cycles as i64 - ahead(rank) - first) * CYCLE_NS;
            let core = |(number, core): (usize, &CoreStamps)| CoreTrace::new(tables, number, core, ns);
            RankTrace { cores: stamps.cores.iter().enumerate().map(core).collect(), clock: clocks[rank] }
        };
        let ranks = stamps.iter().enumerate().map(rank).collect();
        let on = "this machine's CPU, whose times mean nothing for an NPU".to_owned();
        Self { kernel: tables.name, file: tables.file, on, ranks }
    }

    fn cores(&self) -> impl Iterator<Item = &CoreTrace> {
        self.ranks.iter().flat_map(|rank| &rank.cores)
    }

    /// Number of tiles that have no time stamp for lack of room, and number of cores that ran such tiles.
    #[must_use]
    pub fn lost(&self) -> (usize, usize) {
        let lost = self.cores().map(|core| core.lost).filter(|lost| *lost > 0);
        lost.fold((0, 0), |(tiles, cores), lost| (tiles + lost, cores + 1))
    }
}

impl CoreTrace {
    /// The trace of core number `core` (matrix cores first). `ns` converts cycles of the core's clock to nanoseconds on
    /// the trace's clock.
    fn new(tables: &KernelTables, core: usize, stamps: &CoreStamps, ns: impl Fn(u64) -> i64) -> Self {
        let aic = tables.aic as usize;
        let (kind, number) = if core < aic { ("AIC", core) } else { ("AIV", core - aic) };
        let tile = |stamp: &HpmoeStamp| {
            let phase = tables.phases.get(stamp.phase as usize).map(|phase| (phase.name, phase.line));
            let route = || ("tables of the route", tables.route.map_or(0, |route| route.line));
            let (task, line) = phase.unwrap_or_else(route);
            TileTrace {
                task,
                line,
                group: stamp.group,
                item: stamp.item,
                column: stamp.column,
                came_ns: ns(stamp.came),
                waited_ns: i64::from(stamp.waited) * CYCLE_NS,
                lasted_ns: i64::from(stamp.lasted) * CYCLE_NS,
            }
        };
        Self {
            kind,
            number,
            begun_ns: ns(stamps.head.begun),
            ended_ns: ns(stamps.head.ended),
            tiles: stamps.tiles.iter().map(tile).collect(),
            lost: stamps.head.tiles as usize - stamps.tiles.len(),
        }
    }
}

/// Prints how many tiles have a time stamp, and how many have none.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept: usize = self.cores().map(|core| core.tiles.len()).sum();
        write!(f, "time stamps of {}", counted(kept as u64, "tile", "tiles"))?;
        let (lost, cores) = self.lost();
        if lost > 0 {
            let (lost, cores) = (counted(lost as u64, "tile", "tiles"), counted(cores as u64, "core", "cores"));
            write!(f, "; {lost} of {cores} had no room for theirs: raise Group::stamp_room")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TABLES;

    #[test]
    fn stamps_are_times_on_one_clock_and_lost_ones_are_told() {
        let mut stamps = vec![RankStamps::for_test(), RankStamps::for_test()];
        // Rank 1's clock is 1,000 cycles ahead, and its cores began 10 cycles later.
        let core = &mut stamps[1].cores[0];
        (core.head.begun, core.head.ended, core.head.tiles) = (1_100, 1_300, 2);
        core.tiles.iter_mut().for_each(|tile| tile.came += 1_010);
        stamps[1].cores[1].head.begun = 1_101;
        clocks::tests::exchange(&mut stamps, 1, 1_000);
        let trace = Trace::new(&KernelTables { aic: 1, aiv: 1, ..TABLES }, &stamps);
        assert_eq!(trace.ranks[1].clock.map(|clock| clock.ahead), Some(1_000));
        let cores: Vec<_> = trace.cores().map(|core| (core.kind, core.begun_ns, core.tiles.len(), core.lost)).collect();
        assert_eq!(cores, [("AIC", 0, 2, 1), ("AIV", 20, 0, 3), ("AIC", 200, 2, 0), ("AIV", 220, 0, 3)]);
        let tile = trace.ranks[1].cores[0].tiles[0];
        assert_eq!((tile.task, tile.line, tile.came_ns, tile.waited_ns, tile.lasted_ns), ("combine", 57, 400, 40, 100));
        assert_eq!(
            trace.to_string(),
            "time stamps of 4 tiles; 7 tiles of 3 cores had no room for theirs: raise Group::stamp_room"
        );
    }
}
