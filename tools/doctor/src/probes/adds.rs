//! Checks that no addition by DMA is lost.

use super::probe::Probe;
use crate::answer::Failure;
use crate::cores::Cores;
use crate::examination::Examination;
use crate::request::{Request, SUMMED, Which, amount};

pub(super) static OWN: Probe = Probe {
    name: "adds",
    assumption: "atomic adds by DMA from many cores to the same words are not lost",
    needs: &["cores"],
    ranks: 1,
    run: own,
    means: "two adds to one word can become one",
    falls: "counters stay below their thresholds: launches end with a report, at their time limit",
    change: "`Signal` in kernels/include/hpmoe/vector_core.h and cube.h: a word for each core in place of a sum",
};

pub(super) static PEERS: Probe = Probe {
    name: "peer-adds",
    assumption: "atomic adds by DMA from many cores to the same words of a peer are not lost",
    needs: &["adds", "reach"],
    ranks: 2,
    run: peers,
    means: "adds through the link between NPUs are not atomic",
    falls: "counters of rows that peers put stay below their thresholds: launches end with a report",
    change: "`SignalPeer` in kernels/include/hpmoe/vector_core.h: a word for each sending core in place of a sum",
};

fn own(examination: &mut Examination) -> Result<String, Failure> {
    let (cores, tries) = (examination.cores, examination.tries);
    let expected = (tries * cores.matrix) as i32 + of_vector_cores(cores, tries);
    examination.each_die(|_, die| {
        let alone = die.run_alone(Request::new(Which::Adds, tries), 0, |_, _, _| Ok(()))?;
        alone.seen.expect_done()?;
        compare(&alone.plan.sums(&alone.heap, SUMMED)?, expected)
    })?;
    Ok(format!("{} cores added {tries} times to each of {SUMMED} words, each of which is {expected}", cores.count()))
}

fn peers(examination: &mut Examination) -> Result<String, Failure> {
    let (cores, tries) = (examination.cores, examination.tries);
    let seen = examination.run_with_peers(Request::new(Which::PeerAdds, tries))?;
    seen.iter().try_for_each(|seen| seen.expect_done())?;
    let others = examination.team.ranks - 1;
    let expected = (others as i32) * of_vector_cores(cores, tries);
    if let Some(heaps) = &examination.heaps {
        for (rank, heap) in examination.team.own().zip(&heaps.own) {
            let sums = compare(&heaps.plan.sums(heap, SUMMED)?, expected);
            sums.map_err(|failure| failure.of_rank(rank, examination.team.ranks))?;
        }
    }
    Ok(format!(
        "{} cores of each peer added {tries} times to each of {SUMMED} words, each of which is {expected} with {} ranks",
        cores.vector(),
        examination.team.ranks
    ))
}

/// The sum that the vector cores of a rank add to a word.
fn of_vector_cores(cores: Cores, tries: u32) -> i32 {
    tries as i32 * (0..cores.vector()).map(amount).sum::<i32>()
}

fn compare(sums: &[i32], expected: i32) -> Result<(), Failure> {
    match sums.iter().find(|sum| **sum != expected) {
        None => Ok(()),
        Some(sum) => Err(Failure::new(format!("a word is {sum} instead of {expected}; all of them: {sums:?}"))),
    }
}
