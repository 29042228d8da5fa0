//! Checks launches that follow each other without a barrier.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::launch::Seen;
use crate::request::{Request, Which};

pub(super) static PROBE: Probe = Probe {
    name: "ready",
    assumption: "a word that a rank writes to a peer when its launch begins arrives, and not before that launch, so launches need no barrier",
    needs: &["landed"],
    ranks: 2,
    run,
    means: "ready words are lost or arrive late, or a launch begins before the one before it on its NPU has ended",
    falls: "consecutive launches: a put can overwrite rows of the previous launch, or waits until its time limit",
    change: "`Start` and `AwaitReady` in kernels/include/hpmoe/vector_core.h; hpmoe-runtime/src/backend/npu/chain.rs",
};

/// The maximum number of launches, and how many of them are started before the host waits for any.
const LAUNCHES: u32 = 100;
const ROW: usize = 8;

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let launches = examination.tries.min(LAUNCHES) as i32;
    for first in (1..=launches).step_by(ROW) {
        let last = (first + ROW as i32 - 1).min(launches);
        let all = examination.run_row_with_peers(Request::new(Which::Ready, 1), first..=last)?;
        examination.team.together(expect_done(examination, &all, first))?;
    }
    Ok(format!("{launches} launches on each of {} ranks; in some, one rank started late", examination.team.ranks))
}

/// Checks that all launches succeeded on the local ranks; otherwise, returns each rank's first failed launch.
fn expect_done(examination: &Examination, all: &[Vec<Seen>], first: i32) -> Result<(), Failure> {
    let failure = |(rank, of_rank): (usize, &Vec<Seen>)| {
        let mut failures =
            (first..).zip(of_rank).filter_map(|(number, seen)| Some((number, seen.expect_done().err()?)));
        let (number, failure) = failures.next()?;
        let seen = format!("launch {number}: {}", failure.seen);
        Some(Failure { seen, ..failure }.of_rank(rank, examination.team.ranks))
    };
    Failure::joined(examination.team.own().zip(all).filter_map(failure).collect())
}
