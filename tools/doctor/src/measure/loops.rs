//! The timed loops of the probes' kernel; each value is the fastest of three launches.

use super::measured::Measured;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::launch::{Die, Seen};
use crate::options::Options;
use crate::request::{BLOCK, DEEP, Loop, Request, TILE, WIDE};
use hpmoe_core::target::Target;

/// Number of launches of each loop. The fastest one counts, because anything else that the NPU does makes a loop slower.
const LAUNCHES: usize = 3;
/// Nanoseconds per cycle of the system counter.
const CYCLE_NS: f64 = 20.0;
const ROUNDS: u32 = 1000;
/// Number of products of each matrix core.
const PRODUCTS: u32 = 8;

/// All constants that are measured: those of one NPU and, if there are several ranks, those of links. All processes call this function.
pub(super) fn all(examination: &Examination, options: &Options, target: &Target) -> Result<Vec<Measured>, Failure> {
    let own = if examination.team.tells() { of_one(&examination.dies[0], options, target) } else { Ok(Vec::new()) };
    examination.team.together(own.as_ref().map(|_| ()).map_err(Clone::clone))?;
    let mut measured = own?;
    if examination.team.ranks > 1 {
        let meet = with_peers(examination, Loop::Barrier, 0)? / f64::from(ROUNDS) / 1e3;
        let by = format!("a signal to and from each of {} ranks", examination.team.ranks);
        measured.push(Measured { section: "launch", key: "rank_sync_us", value: meet, by });
    }
    let visible =
        measured.iter().find(|measured| measured.key == "counter_visible_ns").map_or(0.0, |found| found.value);
    for same in [true, false] {
        let of_kind = |peer: &usize| examination.places[0].shares_package(&examination.places[*peer]) == same;
        if let Some(peer) = (1..examination.team.ranks).find(of_kind) {
            // If ranks of both kinds have a constant, it is that of the farther rank.
            let links = of_link(examination, peer, same, visible)?;
            measured.retain(|known| !links.iter().any(|link| (link.section, link.key) == (known.section, known.key)));
            measured.extend(links);
        }
    }
    if !examination.team.tells() {
        measured.clear();
    }
    Ok(measured)
}

fn of_one(die: &Die, options: &Options, target: &Target) -> Result<Vec<Measured>, Failure> {
    let per_round = |what: Loop| Ok::<f64, Failure>(alone(die, what, ROUNDS, BLOCK)? / f64::from(ROUNDS));
    let clock_ghz = target.cores.clock_ghz;
    let (block, blocks) = (BLOCK as f64, options.hbm_mib * ((1 << 20) / BLOCK as u32));
    // Blocks that each core reads.
    let share = blocks.div_ceil(die.cores.vector()).max(1);
    let streamed = share as usize * die.cores.vector() as usize * BLOCK;
    let cores =
        |key, value: u32| Measured { section: "cores", key, value: f64::from(value), by: "as CANN reports".to_owned() };
    let timed = |section, key, value, by: &str| Measured { section, key, value, by: by.to_owned() };
    Ok(vec![
        cores("aic", die.cores.matrix),
        cores("aiv", die.cores.vector()),
        timed("vector", "bytes_per_cycle", block / per_round(Loop::Add)? / clock_ghz, "sums of 64 KiB in UB"),
        timed("memory", "gm_ub_bytes_per_cycle", block / per_round(Loop::Copy)? / clock_ghz, "64 KiB to UB, from L2"),
        timed(
            "memory",
            "hbm_gb_per_s",
            streamed as f64 / alone(die, Loop::Stream, share, streamed)?,
            &format!("{} MiB, which all vector cores read once", streamed >> 20),
        ),
        timed(
            "memory",
            "hbm_bytes_per_cycle_core",
            block * f64::from(blocks) / alone(die, Loop::StreamToL1, blocks, blocks as usize * BLOCK)? / clock_ghz,
            &format!("{} MiB, which one matrix core reads once", options.hbm_mib),
        ),
        timed(
            "memory",
            "l2_read_bytes_per_cycle_core",
            block / per_round(Loop::CopyToL1)? / clock_ghz,
            "64 KiB to L1, of one matrix core",
        ),
        product(die, target)?,
        timed(
            "launch",
            "kernel_us",
            die.time_empty(ROUNDS / 10)?.as_secs_f64() * 1e6,
            "consecutive launches of an empty kernel",
        ),
        timed("sync", "counter_visible_ns", per_round(Loop::Trip)? / 2.0, "half of a signal's round trip"),
        timed("sync", "wait_ns", per_round(Loop::Wait)?, "reads of a counter that has reached its threshold"),
        timed("sync", "signal_ns", per_round(Loop::Signal)?, "consecutive signals"),
    ])
}

/// The share of the cube's peak that products reach in kernels.
fn product(die: &Die, target: &Target) -> Result<Measured, Failure> {
    let results = (die.cores.matrix * PRODUCTS) as usize * TILE * WIDE * 4;
    let operand = vec![0x3f80_u16; WIDE * DEEP]; // ones
    let ns = fastest(|| {
        let request = Request { words: DEEP as u32, ..Request::timed(Loop::Product, PRODUCTS, 0) };
        let alone = die.run_alone(request, results + size_of_val(&operand[..]), |heap, plan, request| {
            request.right = (plan.data + results) as u64;
            heap.write(plan.data + results, bytemuck::cast_slice(&operand))
        })?;
        slowest(&alone.seen, Loop::Product)
    })?;
    let flop = 2.0 * (TILE * WIDE * DEEP) as f64 * f64::from(PRODUCTS);
    let share = flop / (ns * 1e-9) / target.cube_flops();
    let by = format!("products of {TILE} x {WIDE} x {DEEP} on all matrix cores, {share:.6} of the peak of each");
    // The range of values that a target can have.
    Ok(Measured { section: "fitted", key: "gemm_fused_efficiency", value: share.clamp(0.001, 1.0), by })
}

/// The link from rank 0 to a peer; `visible` is the latency of a signal on one NPU.
fn of_link(examination: &Examination, peer: usize, same: bool, visible: f64) -> Result<Vec<Measured>, Failure> {
    let (rate, latency) = if same {
        ("same_package_gb_per_s", "same_package_ns")
    } else {
        ("other_package_gb_per_s", "other_package_ns")
    };
    let per_round = |what: Loop| Ok::<f64, Failure>(with_peers(examination, what, peer)? / f64::from(ROUNDS));
    let (block, cores) = (BLOCK as f64, f64::from(examination.cores.vector()));
    let timed = |section, key, value, by: &str| Measured { section, key, value, by: format!("{by}, rank {peer}") };
    let values = [per_round(Loop::PutAll)?, per_round(Loop::FarTrip)?, per_round(Loop::Put)?, per_round(Loop::Fence)?];
    let [put_all, trip, put, fence] = values;
    if !examination.team.tells() {
        return Ok(Vec::new());
    }
    Ok(vec![
        timed("link", rate, cores * block / put_all, "64 KiB at a time from all vector cores"),
        timed("link", latency, (trip / 2.0 - visible).max(0.0), "latency of a signal in excess of that on one NPU"),
        timed("link", "put_gb_per_s_per_aiv", block / put, "64 KiB at a time from one vector core"),
        timed("sync", "fence_remote_ns", fence, "a line and a barrier of all pipes"),
    ])
}

/// The time in nanoseconds of a loop that one NPU runs alone.
fn alone(die: &Die, what: Loop, rounds: u32, data: usize) -> Result<f64, Failure> {
    fastest(|| {
        let alone = die.run_alone(Request::timed(what, rounds, 0), data, |_, _, _| Ok(()))?;
        slowest(&alone.seen, what)
    })
}

/// Like [`alone`], for a loop of rank 0 with a peer. All processes call this function; only rank 0's process gets the result.
fn with_peers(examination: &Examination, what: Loop, peer: usize) -> Result<f64, Failure> {
    fastest(|| {
        let seen = examination.run_with_peers(Request::timed(what, ROUNDS, peer))?;
        let own = match examination.team.tells() {
            true => slowest(&seen[0], what),
            false => seen[0].expect_done().map(|()| 0.0),
        };
        examination.team.together(own.as_ref().map(|_| ()).map_err(Clone::clone))?;
        own
    })
}

/// The time in nanoseconds of the fastest launch.
fn fastest(run: impl Fn() -> Result<f64, Failure>) -> Result<f64, Failure> {
    (0..LAUNCHES).try_fold(f64::INFINITY, |least, _| Ok(least.min(run()?)))
}

/// The time in nanoseconds of the slowest core.
fn slowest(seen: &Seen, what: Loop) -> Result<f64, Failure> {
    seen.expect_done()?;
    match seen.observations.iter().map(|observation| observation.cycles).max() {
        Some(cycles) if cycles > 0 => Ok(f64::from(cycles) * CYCLE_NS),
        _ => Err(Failure::new(format!("the loop {what:?} took no cycle of the system counter"))),
    }
}
