//! A mutant in a process of its own: it may crash.

use crate::kernels::{ALL, Kernel};
use crate::rows::Row;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{CompiledKernel, CoreReport};
use std::time::Duration;

/// First argument of the process; kernel and library follow.
pub const ARGUMENT: &str = "--mutant";
/// What a verdict's line begins with.
pub const FOUND: &str = "found: ";
pub const SURVIVED: &str = "survived";

/// Longer than any wait of a kernel that is as it should be, if the machine has little else to do.
const LIMIT: Duration = Duration::from_secs(2);
/// The same if it has much else to do.
const LONG_LIMIT: Duration = Duration::from_secs(10);

/// Runs the kernel from the library until something is wrong, and prints the verdict.
pub fn run(kernel: &str, library: &str) {
    let kernel = ALL.iter().find(|known| known.name == kernel).expect("the sweep names one of its kernels");
    let mutant = mutant(kernel, library);
    for row in kernel.rows() {
        if let Some(problem) = problem(kernel, &mutant, &row) {
            println!("{FOUND}{problem} [{}, seed {}, {} ranks]", kernel.name, row.seed, row.ranks);
            return;
        }
    }
    println!("{SURVIVED}");
}

/// The kernel with the library's entry point.
#[expect(unsafe_code, reason = "mutants come as libraries")]
fn mutant(kernel: &Kernel, library: &str) -> CompiledKernel {
    let symbol = symbol(kernel.text);
    // SAFETY: the library has no code that runs when it is loaded. Its kernel was generated for these tables, but for one
    // statement; that this may break anything is why it has a process of its own.
    unsafe {
        let library = libloading::Library::new(library).expect("the mutant's library can be loaded");
        let entry = *library.get(symbol.as_bytes()).expect("the mutant has the kernel's symbol");
        std::mem::forget(library);
        CompiledKernel::new(entry, *kernel.compiled.tables())
    }
}

fn symbol(text: &str) -> &str {
    let rest = text.split("extern \"C\"").nth(1).expect("generated files end with the kernel");
    let name = rest.split(" void ").nth(1).and_then(|declaration| declaration.split('(').next());
    name.expect("the kernel is a function that returns nothing")
}

fn problem(kernel: &Kernel, mutant: &CompiledKernel, row: &Row) -> Option<String> {
    let launch = |limit| {
        let mut group = Group::new(row.ranks).seed(row.seed).time_limit(limit).find_races(true);
        if let Some(rank) = row.late {
            group = group.delay(rank, Duration::from_millis(12));
        }
        (kernel.launch)(mutant, &group, &row.launches)
    };
    let found = match launch(LIMIT) {
        Err(LaunchError::Stuck(_)) => launch(LONG_LIMIT),
        found => found,
    };
    match found {
        Ok(true) => None,
        Ok(false) => Some("other bits".to_owned()),
        Err(error) => Some(words(&error)),
    }
}

fn words(error: &LaunchError) -> String {
    match error {
        LaunchError::Rule { message, .. } => format!("broken rule: {message}"),
        LaunchError::Stuck(report) => {
            let waiting = report.cores.iter().find(|core| core.text.contains("gave up"));
            let who =
                |core: &CoreReport| format!(": {} {} of rank {} {}", core.kind, core.number, core.rank, core.text);
            format!("no progress{}", waiting.map(who).unwrap_or_default())
        }
        other => format!("refused: {other}"),
    }
}
