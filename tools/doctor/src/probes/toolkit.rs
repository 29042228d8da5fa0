//! Checks that CANN's compiler makes both halves of a kernel.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::kernel::compiled;
use hpmoe_runtime::printable::printable_path;
use std::time::Instant;

pub(super) static PROBE: Probe = Probe {
    name: "toolkit",
    assumption: "one call of CANN's compiler makes both halves of a kernel, with the kernel type and core ratio that launches need",
    needs: &[],
    ranks: 1,
    run,
    means: "no suitable toolkit is installed, or the compiler does not take sources or options as documented",
    falls: "no kernel can be built for NPUs",
    change: "see the line above `means`; the command line is in hpmoe-core/build/src/cann/compiler.rs",
};

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let compile = |examination: &mut Examination| {
        let start = Instant::now();
        let object = compiled(&examination.folder).map_err(Failure::new)?;
        let seen = format!(
            "CANN {}, `{}`: {} bytes in {:.1} s",
            object.version,
            printable_path(&object.toolkit),
            object.object.len(),
            start.elapsed().as_secs_f64()
        );
        examination.object = Some(object);
        Ok(seen)
    };
    // Rank 0 compiles for all that share its folder.
    let first = if examination.team.tells() { compile(examination) } else { Ok(String::new()) };
    examination.team.together(first.clone().map(drop))?;
    if examination.team.tells() { first } else { compile(examination) }
}
