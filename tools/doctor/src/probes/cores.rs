//! Checks that all cores of a launch run, and have the expected numbers.

use super::probe::Probe;
use crate::answer::Failure;
use crate::cores::Cores;
use crate::examination::Examination;
use crate::launch::{Die, Seen, observation_lines};
use crate::request::{Observation, Request, Which};
use bytemuck::Zeroable as _;

pub(super) static PROBE: Probe = Probe {
    name: "cores",
    assumption: "both halves of a kernel run: one matrix and two vector cores for each block, numbered from 0",
    needs: &["argument"],
    ranks: 1,
    run,
    means: "CANN starts only one half of a kernel, starts cores in another ratio, or numbers them differently",
    falls: "tiles of cores that don't run are never made: launches end with a report, at their time limit",
    change: "kernel type and ratio of the object (hpmoe-core/build/src/cann/object), or `Open` in kernels/include/hpmoe/core.h",
};

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let cores = examination.cores;
    examination.each_die(|_, die| expect_all(die))?;
    Ok(format!("{} matrix and {} vector cores ran with the right numbers", cores.matrix, cores.vector()))
}

/// Checks that each core writes the right number, number of blocks and ratio.
pub(super) fn expect_all(die: &Die) -> Result<(), Failure> {
    let request = Request { words: observation_lines(die.cores) as u32, ..Request::new(Which::Cores, 1) };
    let alone = die.run_alone(request, 0, |_, _, _| Ok(()))?;
    compare(&alone.seen, die.cores, request.mark)
}

fn compare(seen: &Seen, cores: Cores, mark: u32) -> Result<(), Failure> {
    for (slot, found) in seen.observations.iter().enumerate() {
        let expected = expected(slot, cores, mark);
        if *found == expected {
            continue;
        }
        let text = match (expected.mark, found.mark) {
            (0, _) => format!("a core ran that should not be there: number {} of {} blocks", found.index, found.blocks),
            (_, 0) => format!("{} did not run", cores.name(slot)),
            _ => format!(
                "{} found that it is number {} of {} blocks, with a ratio of 1:{}",
                cores.name(slot),
                found.index,
                found.blocks,
                found.ratio
            ),
        };
        return Err(Failure::new(text));
    }
    Ok(())
}

/// The expected result of a core, given its number among all cores, matrix cores first.
fn expected(slot: usize, cores: Cores, mark: u32) -> Observation {
    let (slot, blocks) = (slot as u32, cores.matrix);
    match slot {
        slot if slot < blocks => Observation { mark, matrix: 1, index: slot, blocks, ..Observation::zeroed() },
        slot if slot < blocks + cores.vector() => {
            Observation { mark, index: slot - blocks, blocks, ratio: 2, ..Observation::zeroed() }
        }
        _ => Observation::zeroed(),
    }
}
