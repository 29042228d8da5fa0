//! Checks that NPUs can write the memory of others.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{Request, Which};

pub(super) static PROBE: Probe = Probe {
    name: "reach",
    assumption: "kernels can write the memory of every peer: at its plain address or, if the peer is another process, at the shared address",
    needs: &["cores"],
    ranks: 2,
    run,
    means: "the NPUs are not connected, the process lacks rights to the memory of others, or addresses differ from those assumed",
    falls: "no kernel runs on these ranks together",
    change: "the NPUs or rights, if the message says so; what gives the memory (HPMOE_SYMMETRIC_MEMORY); else hpmoe-runtime/src/backend/npu/fabric.rs",
};

/// Number of words of the block that each rank writes to each other rank.
const WORDS: u32 = 1024;

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let heaps = examination.make_heaps();
    examination.team.together(heaps.as_ref().map(|_| ()).map_err(Clone::clone))?;
    examination.heaps = Some(heaps?);
    let request = Request { words: WORDS, ..Request::new(Which::Reach, 1) };
    let seen = examination.run_with_peers(request)?;
    seen.iter().try_for_each(|seen| seen.expect_done())?;
    let ranks = examination.team.ranks;
    if let Some(heaps) = &examination.heaps {
        let mut block = vec![0_i32; WORDS as usize];
        for (rank, heap) in examination.team.own().zip(&heaps.own) {
            for peer in (0..ranks).filter(|peer| *peer != rank) {
                heap.read(heaps.plan.data + peer * 4 * WORDS as usize, bytemuck::cast_slice_mut(&mut block))?;
                let expected = 1 + peer as i32;
                if let Some((word, have)) = block.iter().enumerate().find(|(_, have)| **have != expected) {
                    let text = format!("word {word} that rank {peer} wrote is {have} instead of {expected}");
                    return Err(Failure::new(text).of_rank(rank, ranks));
                }
            }
        }
    }
    let how = if examination.team.is_processes() { "mapped by a fabric handle" } else { "at its plain address" };
    Ok(format!("each of {ranks} ranks wrote {} bytes at every other, {how}", 4 * WORDS))
}
