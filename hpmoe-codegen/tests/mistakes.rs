//! Kernels with one edit that the front end accepts: each gets a schedule and a program, or is refused with a reason that its
//! author can act on.

use hpmoe_codegen::compile::back;
use hpmoe_codegen::schedule::Choices;
use hpmoe_codegen::target::Target;
use hpmoe_language::artifacts::Artifact;
use hpmoe_language::fingerprint::Fingerprint;
use hpmoe_language::fixture::mutants::{Mutant, mutants};

/// Every so many edits of the front end's own test are tried here.
const STEP: usize = 31;

/// What the back end says of the taskflows that it refuses.
fn refused(mutant: &Mutant) -> Vec<String> {
    let Ok(front) = mutant.front() else { return Vec::new() };
    let target = Target::ascend_a3();
    let artifact = |flow: &str| Artifact::new("mistakes", "kernel", flow, Fingerprint::default());
    let flows = front.flows.iter().filter_map(|checked| {
        let artifact = artifact(&checked.graph().taskflow);
        back(checked, (&target, &Choices::default()), "kernel.rs", &artifact, "0").err()
    });
    flows.collect()
}

#[test]
fn what_the_front_end_accepts_is_built_or_refused_for_a_reason() {
    let (mut tried, mut told) = (0, 0);
    let step = std::env::var("STEP").map_or(STEP, |step| step.parse().expect("a number"));
    for mutant in mutants(step) {
        let refused = std::panic::catch_unwind(|| refused(&mutant));
        let refused = refused.unwrap_or_else(|_| panic!("{}: the compiler fails\n{}", mutant.name, mutant.source));
        tried += 1;
        for text in &refused {
            assert!(!text.contains("fault of hpmoe") && text.contains("help: "), "{}: {text}", mutant.name);
            told += 1;
        }
    }
    println!("{tried} tried, {told} refused");
    assert!(tried > 200, "only {tried} edits were tried");
}
