//! Searches on a small kernel, and files.

use super::{Trial, search};
use crate::simulate::{Routing, RoutingSizes};
use hpmoe_codegen::schedule::Choices;
use hpmoe_codegen::target::Target;
use hpmoe_codegen::tuned::{Candidate, NamedSizes, Tuned, TunedKernel, overrides, shape, sizes};
use hpmoe_language::front::{front, modules};
use hpmoe_language::syntax::Overrides;

const KERNEL: &str = include_str!("../../../ui-tests/kernels/ffn.rs");

fn tuned() -> Tuned {
    let mut candidate = Candidate::default();
    candidate.sizes.insert("PUT".to_owned(), 4);
    candidate.choices.insert("forward".to_owned(), Choices::read("put_cores=8 put_band=2").unwrap());
    let shape = NamedSizes::from([("HIDDEN".to_owned(), 64), ("TOKENS".to_owned(), 40)]);
    let (kernel, target) = ("ffn".to_owned(), "ascend-a3".to_owned());
    let note = "simulated: 0.9 of the default's time".to_owned();
    let tuned = TunedKernel { kernel, target, matrix_cores: 24, shape, candidate, note };
    Tuned { kernels: vec![tuned.clone(), TunedKernel { matrix_cores: 20, ..tuned }] }
}

#[test]
fn a_file_comes_back_as_written() {
    let written = tuned();
    assert_eq!(Tuned::read(&written.to_string()), Ok(written));
}

#[test]
fn what_is_found_is_for_its_shape_and_target_alone() {
    let mut tuned = tuned();
    let shape = |tokens| NamedSizes::from([("HIDDEN".to_owned(), 64), ("TOKENS".to_owned(), tokens)]);
    assert!(tuned.find("ffn", &shape(33), ("ascend-a3", 24)).is_some());
    assert!(tuned.find("ffn", &shape(32), ("ascend-a3", 24)).is_none());
    assert!(tuned.find("ffn", &shape(33), ("ascend-a3", 23)).is_none());
    assert!(tuned.find("other", &shape(33), ("ascend-a3", 24)).is_none());
    let better = TunedKernel { candidate: Candidate::default(), ..tuned.kernels[1].clone() };
    tuned.keep(better.clone());
    assert_eq!((tuned.kernels.len(), &tuned.kernels[1]), (2, &better));
}

#[test]
fn a_broken_file_is_told_line_by_line() {
    let text = tuned().to_string();
    let faults = |text: &str| Tuned::read(text).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>();
    let line = |what: &str| 1 + text.lines().position(|line| line.contains(what)).unwrap();
    assert_eq!(
        faults(&text.replacen("kernel =", "kernal =", 1)),
        [format!("line {}: unknown key `kernal`", line("kernel ="))]
    );
    let put = faults(&text.replacen("PUT = 4", "HIDDEN = 4", 1));
    assert!(put[0].starts_with(&format!("line {}: `HIDDEN` is not a tile size", line("PUT = 4"))), "{put:?}");
    let choice = faults(&text.replacen("put_band = 2", "put_band = 0", 1));
    assert!(choice[0].starts_with(&format!("line {}: `put_band` is `0`", line("put_band"))), "{choice:?}");
    assert!(faults("tuned = 3\n")[0].starts_with("line 1: unknown key"));
    assert!(faults("[[tuned]]\nkernel = \"a\"\n")[0].contains("`target` is missing"));
    assert!(faults("[[tuned]\n")[0].starts_with("line 1: "));
}

#[test]
fn a_search_finds_no_less_than_the_default_and_the_same_again() {
    let module = modules(KERNEL).unwrap().remove(0);
    let kernel = front(&module, &Overrides::new()).unwrap().kernel;
    let (shape, sizes) = (shape(&module, &kernel), sizes(&module, &kernel));
    assert!(!shape.contains_key("PUT") && sizes.contains_key("PUT"), "{shape:?} {sizes:?}");
    let target = Target::ascend_a3();
    let constant = |name: &str| shape[name] as u32;
    let drawn_for =
        RoutingSizes { ranks: 4, experts: constant("EXPERTS"), top_k: constant("TOP_K"), tokens: constant("TOKENS") };
    let routings = [Routing::balanced(drawn_for), Routing::zipf(drawn_for, 1.2, 3)];
    let kernels = |sizes: &NamedSizes| Some(front(&module, &overrides(&Overrides::new(), sizes)).ok()?.flows);
    let trial = Trial { target: &target, routings: &routings, kernels: &kernels };
    let flows = ["forward".to_owned()];
    let run = || search(&trial, (&sizes, &flows), 7, &mut |progress| progress.tried < 60).unwrap();
    let result = run();
    assert_eq!(result, run());
    assert!(result.score.never_slower_than(&result.default));
    assert_eq!(trial.score(&result.best), Some(result.score.clone()));
    assert!(result.score.relative_to(&result.default) <= 1.5);
    assert!(result.tried >= 60);
}
