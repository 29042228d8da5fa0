//! Runs the launches of one rank on the host.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hpmoe_kernels::Rank;

use super::rank_end::{RankEnd, is_done};
use super::shared::LaunchShared;
use crate::abi::HpmoeRecord;
use crate::backend::host::{HostStatistics, MemoryRegion, Outcome, RankRun};
use crate::layout::stamps::RankStamps;
use crate::layout::tables::{RankTables, record_bytes};
use crate::memory::LineMemory;

/// The tables of one rank, with its records and time stamps.
pub(super) struct RankLaunch {
    pub(super) rank: Rank,
    /// The tables, by step of the row.
    pub(super) steps: Vec<RankTables>,
    pub(super) records: LineMemory,
    /// Time stamps, if the kernel records them.
    pub(super) stamps: LineMemory,
}

impl RankLaunch {
    /// Runs launch after launch, until all are done or one fails on any rank. Ranks don't wait for each other between
    /// launches.
    pub(super) fn run(&mut self, shared: &LaunchShared<'_>, regions: &[Vec<MemoryRegion>]) -> RankEnd {
        let mut host = HostStatistics::default();
        let mut number = shared.first;
        loop {
            let outcome = self.run_one(shared, regions, number);
            let records = self.records(shared);
            if let Outcome::Left(statistics) = &outcome {
                host.add(statistics);
            }
            let left = matches!(outcome, Outcome::Left(_)) && is_done(&records);
            if !left {
                shared.failed.store(true, Ordering::Release);
            }
            number += 1;
            let last = number == shared.first + shared.launches() as i32;
            if last || shared.failed.load(Ordering::Acquire) {
                let stamps = self.time_stamps(shared);
                return RankEnd { outcome, records, number: number - 1, host, stamps };
            }
        }
    }

    fn run_one(&mut self, shared: &LaunchShared<'_>, regions: &[Vec<MemoryRegion>], number: i32) -> Outcome {
        let (tables, options) = (shared.kernel.tables(), shared.options);
        let is_over = || shared.attend(self.rank);
        if let Some(delay) = options.delays.get(&self.rank.id()) {
            wait(*delay, shared.stop, is_over);
        }
        if options.is_cancelled() {
            shared.end_all();
        }
        let step = &mut self.steps[shared.step(number)];
        self.records.bytes_mut().fill(0);
        self.stamps.bytes_mut().fill(0);
        let run = RankRun {
            entry: shared.kernel.entry(),
            launch: step.launch_address(),
            rank: u32::try_from(self.rank.id()).expect("ranks are numbered by u32"),
            aic: tables.aic,
            aiv: tables.aiv,
            threads: options.threads(shared.sizes.ranks),
            alone: options.alone(),
            checks: shared.checks,
            is_over: Some(&is_over),
            // A different order in each launch.
            seed: options.seed.wrapping_add(u64::from(number as u32) << 32),
            regions: &regions[shared.step(number)],
            races: shared.races.as_ref(),
            writer: shared.writer,
            fault: options.fault(self.rank),
        };
        run.run(shared.stop)
    }

    fn time_stamps(&self, shared: &LaunchShared<'_>) -> RankStamps {
        RankStamps::read(shared.kernel.tables(), shared.sizes.ranks, shared.options.stamp_room, self.stamps.bytes())
    }

    fn records(&self, shared: &LaunchShared<'_>) -> Vec<HpmoeRecord> {
        bytemuck::cast_slice(&self.records.bytes()[..record_bytes(shared.kernel.tables())]).to_vec()
    }
}

/// Sleeps for `delay`, or until the launches are ended.
fn wait(delay: Duration, stop: &AtomicI32, is_over: impl Fn() -> bool) {
    let deadline = Instant::now() + delay;
    while stop.load(Ordering::SeqCst) == 0 && !is_over() {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return;
        }
        sleep(rest.min(PAUSE));
    }
}

/// Time between two checks whether the launches are ended.
const PAUSE: Duration = Duration::from_millis(20);
