//! Tests of searches on a small kernel, and of files.

use super::score::{Limit, Outcome};
use super::{FailedAt, NoResult, Score, SearchProgress, SearchResult, SearchSpace, SearchStep, Trial, search};
use crate::simulate::{Routing, RoutingSizes};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::front::{front, modules};
use hpmoe_core::schedule::Choices;
use hpmoe_core::syntax::Overrides;
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{BuildSizes, Candidate, NamedSizes, OtherSize, Tuned, TunedKernel, overrides, shape, sizes};

const KERNEL: &str = include_str!("../../../../ui-tests/kernels/ffn.rs");

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
    let known = |kernel, tokens, cores| tuned.for_shape(kernel, &shape(tokens), "ascend-a3", cores).count();
    assert_eq!(known("ffn", 33, 24), 1);
    assert_eq!((known("ffn", 32, 24), known("ffn", 33, 23), known("other", 33, 24)), (0, 0, 0));
    let better = TunedKernel { candidate: Candidate::default(), ..tuned.kernels[1].clone() };
    let none = NamedSizes::new();
    tuned.keep(better.clone(), BuildSizes { set: &none, all: &none });
    assert_eq!((tuned.kernels.len(), &tuned.kernels[1]), (2, &better));
}

#[test]
fn what_is_found_is_for_its_tile_sizes_alone() {
    let one = |name: &str, size| NamedSizes::from([(name.to_owned(), size)]);
    let mut tuned = tuned();
    let own = tuned.kernels[0].clone();
    let none = NamedSizes::new();
    let others = |kernel: &TunedKernel, set: &NamedSizes, all: &NamedSizes| -> Vec<OtherSize> {
        kernel.other_sizes(BuildSizes { set, all })
    };
    // The schedule replaces the size of the source, but not one that is set.
    assert_eq!(others(&own, &none, &one("PUT", 8)), []);
    assert_eq!(others(&own, &one("PUT", 4), &one("PUT", 4)), []);
    let other = |name: &str, found, given| [OtherSize { name: name.to_owned(), found, given }];
    assert_eq!(others(&own, &one("PUT", 8), &one("PUT", 8)), other("PUT", 4, 8));
    // Files without other sizes may be for any.
    assert_eq!(others(&own, &none, &one("TILE_M", 32)), []);
    let mut left = own.clone();
    left.shape.extend(one("TILE_M", 64));
    assert_eq!(others(&left, &none, &one("TILE_M", 64)), []);
    assert_eq!(others(&left, &none, &one("TILE_M", 32)), other("TILE_M", 64, 32));
    // A search with other sizes leaves the schedule that was known.
    let mut set_otherwise = own.clone();
    set_otherwise.candidate.sizes = one("PUT", 8);
    tuned.keep(set_otherwise.clone(), BuildSizes { set: &one("PUT", 8), all: &one("PUT", 8) });
    assert_eq!((tuned.kernels.len(), &tuned.kernels[0], &tuned.kernels[2]), (3, &own, &set_otherwise));
    tuned.keep(left.clone(), BuildSizes { set: &none, all: &one("PUT", 16) });
    assert_eq!((tuned.kernels.len(), &tuned.kernels[0]), (3, &left));
    assert_eq!(Tuned::read(&tuned.to_string()), Ok(tuned));
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

/// A kernel with its routings, on which tests search.
struct Subject {
    target: Target,
    routings: Vec<Routing>,
    sizes: NamedSizes,
}

impl Subject {
    fn new() -> Self {
        let module = modules(KERNEL).unwrap().remove(0);
        let kernel = front(&module, &Overrides::new()).unwrap().kernel;
        let (shape, sizes) = (shape(&module, &kernel), sizes(&module, &kernel));
        assert!(!shape.contains_key("PUT") && sizes.contains_key("PUT"), "{shape:?} {sizes:?}");
        let constant = |name: &str| shape[name] as u32;
        let drawn_for = RoutingSizes {
            ranks: 4,
            experts: constant("EXPERTS"),
            top_k: constant("TOP_K"),
            tokens: constant("TOKENS"),
        };
        let routings = vec![Routing::balanced(drawn_for), Routing::zipf(drawn_for, 1.2, 3)];
        Self { target: Target::ascend_a3(), routings, sizes }
    }

    fn build(&self, sizes: &NamedSizes) -> Option<Vec<CheckedGraph>> {
        Some(front(&modules(KERNEL).ok()?[0], &overrides(&Overrides::new(), sizes)).ok()?.flows)
    }

    fn space(&self, start: Candidate, with_default: bool) -> SearchSpace {
        SearchSpace { sizes: self.sizes.clone(), flows: vec!["forward".to_owned()], start, with_default, seed: 7 }
    }

    /// Runs the search on this subject.
    fn search(
        &self,
        space: &SearchSpace,
        going: &mut dyn FnMut(&SearchProgress<'_>) -> bool,
    ) -> Result<SearchResult, NoResult> {
        search(
            &Trial { target: &self.target, routings: &self.routings, kernels: &|sizes| self.build(sizes) },
            space,
            going,
        )
    }

    fn score(&self, candidate: &Candidate) -> Option<Score> {
        Trial { target: &self.target, routings: &self.routings, kernels: &|sizes| self.build(sizes) }.score(candidate)
    }
}

fn with_size(name: &str, size: usize) -> Candidate {
    Candidate { sizes: [(name.to_owned(), size)].into(), ..Candidate::default() }
}

#[test]
fn a_search_finds_no_less_than_the_default_and_the_same_again() {
    let subject = Subject::new();
    let space = subject.space(Candidate::default(), true);
    let run = || subject.search(&space, &mut |progress| progress.tried < 60).unwrap();
    let result = run();
    assert_eq!(result, run());
    assert!(result.default.as_ref() == Some(&result.start) && result.score.never_slower_than(&result.start));
    assert_eq!(subject.score(&result.best), Some(result.score.clone()));
    assert!(result.score.relative_to(&result.start) <= 1.5);
    assert_eq!(result.tried, 60);
}

/// Checks that stopping simulations early only saves time: no candidate that is stopped would have been better.
#[test]
fn candidates_that_are_given_up_are_worse_than_the_one_at_hand() {
    let subject = Subject::new();
    let trial = Trial { target: &subject.target, routings: &subject.routings, kernels: &|sizes| subject.build(sizes) };
    let default = subject.score(&Candidate::default()).unwrap();
    let mut given_up = 0;
    for (name, &own) in &subject.sizes {
        for size in [own / 4, own / 2, own * 2].into_iter().filter(|&size| size > 0) {
            let candidate = with_size(name, size);
            let Some(whole) = trial.score(&candidate) else { continue };
            let value = whole.relative_to(&default);
            for below in [0.5, 1.4, 1.5, 1.6, 3.0] {
                let limit = Limit { below, reference: &default };
                match trial.outcome(&candidate, Some(limit), &mut |_| true) {
                    Outcome::Score(score) => assert_eq!(score, whole),
                    Outcome::TooSlow(least) => {
                        assert!(least >= below && least <= value, "{candidate:?}: {below} {least} {value}");
                        given_up += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(given_up >= 5, "{given_up} given up");
}

#[test]
fn a_search_starts_from_other_sizes_and_compares_them_with_the_default() {
    let subject = Subject::new();
    // Small puts and tiles take longer.
    let slow = Candidate { sizes: [("TILE_M".to_owned(), 1), ("PUT".to_owned(), 1)].into(), ..Candidate::default() };
    let first = |start: &Candidate, with_default, most| {
        subject.search(&subject.space(start.clone(), with_default), &mut |progress| progress.tried < most).unwrap()
    };
    let [default, slower] = [&Candidate::default(), &slow].map(|candidate| subject.score(candidate).unwrap());
    assert!(!slower.never_slower_than(&default));
    let result = first(&slow, true, 2);
    assert_eq!(
        (&result.best, &result.start, &result.default),
        (&Candidate::default(), &slower, &Some(default.clone()))
    );
    let alone = first(&slow, false, 1);
    assert_eq!((alone.best, alone.score, alone.default, alone.tried), (slow.clone(), slower, None, 1));
    // From there it finds sizes that are as good as the default's.
    let found = first(&slow, false, 60);
    assert!(found.score.relative_to(&default) <= 1.6, "{found:?}");
}

#[test]
fn a_search_ends_within_a_candidate_and_says_how_far_it_came() {
    let subject = Subject::new();
    let space = subject.space(with_size("PUT", 2), true);
    let ends = |step, tried| subject.search(&space, &mut |at| (at.step, at.simulated, at.tried) != (step, 1, tried));
    for (step, tried) in [(SearchStep::Start, 0), (SearchStep::Default, 1)] {
        assert_eq!(ends(step, tried), Err(NoResult::Ended { step, simulated: 1 }));
    }
    // A later candidate that is stopped after its first simulation doesn't count as tried.
    assert_eq!(ends(SearchStep::Candidates, 2).map(|result| result.tried), Ok(2));
}

#[test]
fn a_start_that_is_no_kernel_is_refused() {
    let subject = Subject::new();
    let impossible = subject.space(with_size("TILE_N", 1 << 20), true);
    assert_eq!(subject.search(&impossible, &mut |_| true), Err(NoResult::Impossible(FailedAt::default())));
}

#[test]
fn a_start_that_cannot_be_simulated_names_taskflow_and_routing() {
    let mut subject = Subject::new();
    let of_another_layer = RoutingSizes { ranks: 4, experts: 4096, top_k: 2, tokens: 1 };
    subject.routings.insert(1, Routing::balanced(of_another_layer));
    let failed = FailedAt { taskflow: Some(0), routing: Some(1) };
    let space = subject.space(Candidate::default(), true);
    assert_eq!(subject.search(&space, &mut |_| true), Err(NoResult::Impossible(failed)));
}
