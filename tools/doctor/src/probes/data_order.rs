//! Checks that data are in memory once their pipe is drained.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{BLOCK, DEPTH, Request, TILE, Which};
use hpmoe_runtime::prelude::bf16;

pub(super) static PROBE: Probe = Probe {
    name: "order",
    assumption: "data that a core wrote on its own rank are in memory after a barrier of the pipe or a wait for its flag, so the core can signal then",
    needs: &["poll", "adds"],
    ranks: 1,
    run,
    means: "a signal can overtake the data that it announces",
    falls: "equal bits: some results are wrong at random",
    change: "`Fence` in kernels/include/hpmoe/vector_core.h and cube.h: a barrier of all pipes",
};

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let (cores, tries) = (examination.cores, examination.tries);
    examination.each_die(|_, die| {
        let blocks = (cores.vector() + cores.matrix) as usize * BLOCK;
        let ones = vec![bf16::from_f32(1.0).to_bits(); TILE * DEPTH];
        let request = Request::new(Which::DataOrder, tries);
        let alone = die.run_alone(request, blocks + size_of_val(ones.as_slice()), |heap, plan, request| {
            let at = plan.data + blocks;
            (request.left, request.right) = (at as u64, at as u64);
            heap.write(at, bytemuck::cast_slice(&ones))
        })?;
        alone.seen.expect_done()
    })?;
    Ok(format!(
        "{} vector cores read {tries} blocks of their neighbours, and {tries} products of each of {} matrix cores",
        cores.vector(),
        cores.matrix
    ))
}
