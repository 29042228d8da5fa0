//! Checks that a poll sees another core's writes.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{Request, Which};
use hpmoe_runtime::abi::HPMOE_LINE;

pub(super) static PROBE: Probe = Probe {
    name: "poll",
    assumption: "after a dcci of its line, a core's load sees what another core has written by DMA",
    needs: &["cores"],
    ranks: 1,
    run,
    means: "the load returns a stale cached copy, or the write does not reach memory",
    falls: "no wait ends: every launch of a kernel ends with a report, at its time limit",
    change: "`Read` in kernels/include/hpmoe/core.h: ReadGmByPassDCache, or a DMA to UB",
};

/// How often a word passes through all cores.
const ROUNDS: u32 = 16;

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let cores = examination.cores.count();
    let words = ROUNDS as usize * cores;
    examination.each_die(|_, die| {
        let request = Request::new(Which::Poll, ROUNDS);
        die.run_alone(request, words * HPMOE_LINE as usize, |_, _, _| Ok(()))?.seen.expect_done()
    })?;
    Ok(format!("a word went {ROUNDS} times through {cores} cores of both kinds"))
}
