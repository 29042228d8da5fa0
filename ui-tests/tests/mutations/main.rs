//! Removes each flag pair, barrier, fence, dcci, wait, signal and atomic of the device library and of generated code,
//! one at a time, and asks that some run finds it: by other bits, by a broken rule, or by a report that says who waits.
//!
//! ```text
//! cargo test --release -p hpmoe-ui-tests --test mutations -- --ignored [WORDS OF A MUTATION'S LINE]
//! ```
//!
//! What no run can find stands in `survivors.txt`, each with the reason. An entry that is found, or that no mutation
//! has, is stale; both fail, and so does a mutant that waits for ever.

mod compile;
mod kernels;
mod mutant;
#[path = "../random/mod.rs"]
#[allow(dead_code, reason = "shared with tests that use other parts")]
mod random;
mod rows;
mod sites;
#[path = "../../kernels/mod.rs"]
mod small_kernels;
mod source;
mod survivors;
mod sweep;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, kernel, library] = arguments.as_slice()
        && first == mutant::ARGUMENT
    {
        mutant::run(kernel, library);
        return ExitCode::SUCCESS;
    }
    if !arguments.iter().any(|argument| argument == "--ignored" || argument == "--include-ignored") {
        println!("mutations: ignored, takes minutes: pass --ignored");
        return ExitCode::SUCCESS;
    }
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    sweep::sweep(&words)
}
