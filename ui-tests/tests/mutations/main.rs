//! Removes each flag pair, barrier, fence, dcci, wait, signal and atomic of the device library and of generated code,
//! one at a time, and asks that some run finds it: by other bits, by a broken rule, or by a report that says who waits.
//!
//! ```text
//! cargo test --release -p hpmoe-ui-tests --test mutations -- --ignored [WORDS OF A MUTATION'S LINE]
//! ```
//!
//! What no run can find stands in `survivors.txt`, each with the reason. An entry that is found, or that no mutation
//! has, is stale; both fail, and so does a mutant that waits for ever.
//!
//! With `--expressions`, changes expressions of the same sources instead: numbers, operators, conditions, names of counters and
//! calls. 97 % of those that compile must be found; `expressions.txt` lists what can't be, each with the reason. What is known
//! of unchanged sources is kept, so that a run that was stopped goes on. `--every N` takes one of N.

mod attack;
mod compile;
mod expressions;
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
    let mut words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if !arguments.iter().any(|argument| argument == "--expressions") {
        return sweep::sweep(&words);
    }
    let every = arguments.iter().position(|argument| argument == "--every").and_then(|at| arguments.get(at + 1));
    words.retain(|word| every != Some(word));
    match every.map_or(Ok(1), |every| every.parse()) {
        Ok(every @ 1..) => attack::attack(&words, every),
        _ => {
            println!("error: --every takes a number from 1 on");
            ExitCode::FAILURE
        }
    }
}
