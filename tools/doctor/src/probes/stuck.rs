//! Checks that a kernel ends if its wait never does, and that the NPU remains usable.

use super::cores;
use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::heap::HeapPlan;
use crate::launch::{Die, Launch, Seen};
use crate::request::{Request, Which};
use hpmoe_runtime::abi::{HPMOE_GAVE_UP, HPMOE_STOPPED};
use hpmoe_runtime::npus::DeviceMemory;
use std::time::{Duration, Instant};

pub(super) static PROBE: Probe = Probe {
    name: "stuck",
    assumption: "a kernel whose waits never succeed ends within its time limit (the system counter has 50 MHz), and its NPU stays usable",
    needs: &["poll"],
    ranks: 1,
    run,
    means: "the counter has another frequency or stands still, or an NPU is not usable after a kernel that gave up",
    falls: "no launch hangs: CANN's own limit ends the kernel instead, and the process must be restarted",
    change: "`time_limit_cycles` in hpmoe-runtime/src/group/options.rs, or `MayGoOn` in kernels/include/hpmoe/core.h",
};

/// Maximum time that cores wait in this probe.
const LIMIT: Duration = Duration::from_millis(500);
/// Maximum time that CANN lets the kernel run, in seconds.
const SECONDS: u16 = 5;

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let times = examination.each_die(|_, die| {
        let time = time_to_leave(die)?;
        cores::expect_all(die)
            .map_err(|failure| Failure { seen: format!("after a kernel that gave up: {}", failure.seen), ..failure })?;
        Ok(time)
    })?;
    let most = times.into_iter().max().unwrap_or_default();
    Ok(format!("all cores had left {most:.2?} after a launch with a limit of {LIMIT:?}, and the next launch ran"))
}

/// The time from the launch until all cores have left, which is at least the limit of waits.
fn time_to_leave(die: &Die) -> Result<Duration, Failure> {
    let plan = HeapPlan::new(1, die.cores, 0);
    let heap = DeviceMemory::poisoned(&die.npu, plan.bytes, 0)?;
    let request = Request::new(Which::Stuck, 1);
    let launch = Launch { request, plan: &plan, heaps: &[heap.address()], rank: 0 };
    let start = Instant::now();
    let running = die.start_short(&launch, LIMIT, SECONDS)?;
    let waited = die.wait_for(Duration::from_secs(2 * u64::from(SECONDS)));
    let time = start.elapsed();
    if let Err(failure) = waited {
        std::mem::forget((running, heap));
        let seen = format!("the cores had not left by themselves after {time:.1?}: {}", failure.seen);
        return Err(Failure { seen, ..failure });
    }
    expect_left(&running.seen()?)?;
    // Shows whether the system counter has another frequency. On the host, it is exact; on an NPU, within 0.1 %.
    match time >= LIMIT.mul_f64(0.9) {
        true => Ok(time),
        false => Err(Failure::new(format!("the cores left after {time:.2?}, before their limit of {LIMIT:?}"))),
    }
}

/// Checks that every core gave up, or left because another one gave up.
fn expect_left(seen: &Seen) -> Result<(), Failure> {
    let left = |state| [HPMOE_GAVE_UP, HPMOE_STOPPED].contains(&state);
    match seen.records.iter().position(|record| !left(record.state)) {
        None => Ok(()),
        Some(slot) => {
            let state = seen.records[slot].state;
            Err(Failure::new(format!("{} ended in state {state}", seen.cores.name(slot))))
        }
    }
}
