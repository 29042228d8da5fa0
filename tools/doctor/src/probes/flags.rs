//! Checks flags between the scalar unit of a matrix core and its MTE3.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{Request, Which};
use hpmoe_runtime::abi::HPMOE_LINE;

pub(super) static PROBE: Probe = Probe {
    name: "flags",
    assumption: "on a matrix core, the scalar unit and MTE3 wait for each other's flags",
    needs: &["order"],
    ranks: 1,
    run,
    means: "the scalar unit goes on before MTE3 has written, or MTE3 before the scalar unit has stored",
    falls: "signals of matrix cores: `Fence` waits for a flag of MTE3 before it uses that flag again",
    change: "`CubeCore` in kernels/include/hpmoe/cube.h: a barrier of MTE3 in place of MTE3_S flags",
};

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let (cores, tries) = (examination.cores, examination.tries);
    examination.each_die(|_, die| {
        let request = Request::new(Which::Flags, tries);
        let alone = die.run_alone(request, (cores.matrix * HPMOE_LINE) as usize, |_, _, _| Ok(()))?;
        alone.seen.expect_done()
    })?;
    Ok(format!("the scalar unit and MTE3 of {} matrix cores took turns at a word {tries} times", cores.matrix))
}
