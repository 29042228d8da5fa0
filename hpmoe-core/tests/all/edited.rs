//! Kernels with one edit that the front end accepts: each gets a schedule and a program, or an error that its author
//! can act on.

use hpmoe_core::artifacts::Artifact;
use hpmoe_core::compile::back;
use hpmoe_core::fingerprint::Fingerprint;
use hpmoe_core::fixture::mutants::{Mutant, mutants};
use hpmoe_core::schedule::Choices;
use hpmoe_core::target::Target;

/// Every `STEP`-th edit of the front end's own test is tried here.
const STEP: usize = 31;

/// Every `COMPILED`-th of these is compiled, too.
const COMPILED: usize = 131;

fn step(default: usize) -> usize {
    std::env::var("STEP").map_or(default, |step| step.parse().expect("a number"))
}

/// The C++ that the back end generates for each taskflow, or the reason why it refuses the taskflow.
fn built(mutant: &Mutant) -> Vec<Result<String, String>> {
    let Ok(front) = mutant.front() else { return Vec::new() };
    let target = Target::ascend_a3();
    let flows = front.flows.iter().map(|checked| {
        let artifact = Artifact::new("mistakes", "kernel", &checked.graph().taskflow, Fingerprint::default());
        let program = back(checked, (&target, &Choices::default()), "kernel.rs", &artifact, "0", false)?;
        let cpp = program.files.into_iter().find(|file| file.name.ends_with("cpp")).expect("a program has C++");
        Ok(String::from_utf8(cpp.bytes).expect("C++ is text"))
    });
    flows.collect()
}

#[test]
fn what_the_front_end_accepts_is_built_or_refused_for_a_reason() {
    let (mut tried, mut told) = (0, 0);
    for mutant in mutants(step(STEP)) {
        let built = std::panic::catch_unwind(|| built(&mutant));
        let built = built.unwrap_or_else(|_| panic!("{}: the compiler fails\n{}", mutant.name, mutant.source));
        tried += 1;
        for text in built.iter().filter_map(|built| built.as_ref().err()) {
            assert!(!text.contains("fault of hpmoe") && text.contains("help: "), "{}: {text}", mutant.name);
            told += 1;
        }
    }
    println!("{tried} tried, {told} refused");
    assert!(tried > 200, "only {tried} edits were tried");
}

#[test]
fn what_is_built_is_cpp_without_a_warning() {
    let mut compiled = 0;
    for mutant in mutants(step(COMPILED)) {
        for cpp in built(&mutant).iter().flatten() {
            let said = crate::support::said_of(cpp);
            assert!(said.is_empty(), "{}: {said}", mutant.name);
            compiled += 1;
        }
    }
    println!("{compiled} compiled");
    assert!(compiled > 3, "only {compiled} were compiled");
}
