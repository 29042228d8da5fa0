//! If anything is removed from a checked graph, the derivation reports it, unless something else in the graph implies it.

use super::*;
use std::collections::BTreeSet;

use crate::analyze::{Amount, Counter, Cover, Dependency, Grid, Hazard, Index, Need, Signal, Wait, Whose};
use crate::fixture::{Layer, chunked, gated, moe_backward, moe_ffn, once, prepared, sums};
use crate::graph::{Access, Columns, Outer, Region, Rows, Storage};
use crate::schedule::{Cores, Schedule, schedule};
use crate::validate::execute::runs;
use crate::validate::kernels::kernels;
use crate::validate::programs::program;
use crate::validate::validate;
use std::fmt::Write as _;

/// Cores on which a missing wait is missed as well as on all cores of a machine, for which a schedule takes twice as long to make.
const FEW_CORES: Cores = Cores { aic: 3, aiv: 8 };

fn derived(checked: &CheckedGraph) -> Vec<Violation> {
    let mut found = Vec::new();
    derive(checked, &mut found);
    found
}

fn texts(checked: &CheckedGraph, found: &[Violation]) -> Vec<String> {
    found.iter().map(|violation| violation.text(checked)).collect()
}

fn without_dependency(checked: &CheckedGraph, number: usize) -> CheckedGraph {
    let mut less = checked.clone();
    less.dependencies_mut().remove(number);
    less
}

fn without_wait_for_word(checked: &CheckedGraph, phase: PhaseId) -> CheckedGraph {
    let mut less = checked.clone();
    less.reuse_mut().as_mut().expect("its chunks take memory in turn").waits[phase] = None;
    less
}

/// The phases that wait for a freed word.
fn waits_for_words(checked: &CheckedGraph) -> Vec<PhaseId> {
    let waits = checked.reuse().into_iter().flat_map(|reuse| reuse.waits.iter());
    waits.filter(|(_, whose)| whose.is_some()).map(|(phase, _)| phase).collect()
}

#[test]
fn what_the_analysis_finds_is_enough() {
    let layers = [Layer::TINY, Layer::SMALL, Layer::DEEPSEEK];
    let of_layers = layers.iter().flat_map(|layer| {
        [
            moe_ffn(layer),
            gated(layer),
            prepared(layer),
            once(layer),
            moe_backward(layer),
            chunked(layer, 4),
            sums(layer, 3),
        ]
    });
    for checked in kernels().into_iter().map(|(_, checked)| checked).chain(of_layers) {
        let found = derived(&checked);
        assert!(found.is_empty(), "{}: {:#?}", checked.graph().kernel, texts(&checked, &found));
    }
}

#[test]
fn a_word_that_waits_for_nothing_is_missed() {
    let mut checked = chunked(&Layer::TINY, 3);
    checked.reuse_mut().as_mut().unwrap().frees = PhaseId(0);
    assert!(derived(&checked).iter().any(|violation| matches!(violation, Violation::FreedEarly { .. })));
}

/// A dependency whose signal and wait have different counters orders nothing.
#[test]
fn a_dependency_on_other_counters_is_missed_like_one_that_is_gone() {
    let mut missed = 0;
    for whole in [moe_ffn(&Layer::TINY), chunked(&Layer::TINY, 4)] {
        for number in 0..whole.dependencies().len() {
            let gone = derived(&without_dependency(&whole, number));
            let found_with = |change: &dyn Fn(&mut Dependency)| {
                let mut checked = whole.clone();
                change(&mut checked.dependencies_mut()[number]);
                derived(&checked)
            };
            let counter = whole.dependencies()[number].signal.counter;
            let alike =
                |other: &Counter| *other != whole.counters()[counter] && other.grid == whole.counters()[counter].grid;
            if let Some(other) = whole.counters().position(alike) {
                assert_eq!(found_with(&|dependency| dependency.signal.counter = other), gone, "dependency {number}");
            }
            for index in [Index::RowTile, Index::Rank] {
                if index != whole.dependencies()[number].wait.index {
                    assert_eq!(found_with(&|dependency| dependency.wait.index = index), gone, "dependency {number}");
                }
            }
            missed += usize::from(!gone.is_empty());
        }
    }
    assert!(missed > 10, "{missed}");
}

#[test]
fn the_word_of_another_rank_is_none() {
    let mut checked = chunked(&Layer::TINY, 4);
    let dispatch = PhaseId(1);
    let waits = &mut checked.reuse_mut().as_mut().unwrap().waits;
    assert_eq!(waits[dispatch], Some(Whose::Peer));
    waits[dispatch] = Some(Whose::Own);
    let early =
        |violation: &Violation| matches!(violation, Violation::WrittenEarly { phase, .. } if *phase == dispatch);
    assert!(derived(&checked).iter().any(early));
}

#[test]
fn what_the_caller_keeps_waits_for_no_word() {
    let checked = chunked(&Layer::TINY, 4);
    let squares = PhaseId(0);
    let without_wait = without_wait_for_word(&checked, squares);
    let early = |checked: &CheckedGraph| {
        let early =
            |violation: &Violation| matches!(violation, Violation::WrittenEarly { phase, .. } if *phase == squares);
        derived(checked).iter().any(early)
    };
    assert!(early(&without_wait));
    let made = checked.graph().phases[squares].accesses.iter().find(|access| access.write).unwrap().tensor;
    let mut kept = checked.changed(|graph| graph.tensors[made].storage = Storage::Argument);
    *kept.reuse_mut() = without_wait.reuse().cloned();
    assert!(!early(&kept));
}

#[test]
fn tiles_of_one_phase_that_write_the_same_are_missed() {
    let checked = moe_ffn(&Layer::SMALL);
    let swiglu = PhaseId(3);
    let accesses = &checked.graph().phases[swiglu].accesses;
    let written = accesses.iter().position(|access| access.write).unwrap();
    let tensor = accesses[written].tensor;
    let checked = checked.changed(|graph| graph.phases[swiglu].accesses[written].region.columns = Columns::All);
    let twice = Violation::Unordered { before: swiglu, after: swiglu, tensor };
    assert!(derived(&checked).contains(&twice));
    assert!(twice.text(&checked).starts_with("tiles of phase 3"), "{}", twice.text(&checked));
}

#[test]
fn matrices_that_chunks_share_are_only_added_to() {
    let whole = sums(&Layer::TINY, 3);
    let phases = whole.graph().phases.ids();
    let adding: Vec<PhaseId> = phases.filter(|&phase| whole.graph().adds_up(phase)).collect();
    let [first, second] = adding[..] else { panic!("two gradients: {adding:?}") };
    let sum = *whole.graph().phases[first].accesses.iter().find(|access| access.write).unwrap();
    // The second gradient waits for the first one of its chunk, as if it read that.
    let mut counters = whole.counters().clone();
    let counter = counters.push(Counter { tensor: sum.tensor, grid: Grid::Experts, through: false });
    let mut dependencies = whole.dependencies().to_vec();
    dependencies.push(Dependency {
        before: first,
        after: second,
        tensor: sum.tensor,
        hazard: Hazard::ReadAfterWrite,
        cover: Cover::Counter,
        signal: Signal { counter, index: Index::Expert, amount: Amount::One, remote: false },
        wait: Wait { counter, index: Index::Expert, need: Need::default() },
    });
    let missed = |change: &dyn Fn(&mut TaskGraph)| {
        let mut graph = whole.graph().clone();
        change(&mut graph);
        let mut violations = derived(&CheckedGraph::for_tests(graph, counters.clone(), dependencies.clone()));
        violations.retain(|violation| matches!(violation, Violation::Unordered { .. }));
        violations
    };
    assert_eq!(missed(&|_| ()), []);
    let read = missed(&|graph| graph.phases[second].accesses.push(Access { write: false, ..sum }));
    assert_eq!(read, [Violation::Unordered { before: first, after: second, tensor: sum.tensor }]);
    // Rows of another outer tile are other sums.
    let halves = |second_first: u32| {
        missed(&|graph| {
            let half = |first: u32| {
                let Rows::Expert { range, index, height, .. } = sum.region.rows else { unreachable!("a matrix") };
                let rows = Rows::Expert { range, index, height, outer: Outer { first, rows: 8 } };
                Access { region: Region { rows, ..sum.region }, ..sum }
            };
            let written = graph.phases[first].accesses.iter_mut().find(|access| access.tensor == sum.tensor);
            *written.expect("the sum") = half(0);
            graph.phases[second].accesses.push(half(second_first));
        })
    };
    assert_eq!(halves(8), []);
    assert_ne!(halves(7), []);
    // One shared tile is enough, at any position in either call.
    let tile = |first: u32| {
        let Rows::Expert { range, index, height, .. } = sum.region.rows else { unreachable!("a matrix") };
        let rows = Rows::Expert { range, index, height, outer: Outer { first, rows: 8 } };
        Access { region: Region { rows, ..sum.region }, ..sum }
    };
    let meet = |of_first: [u32; 2], of_second: [u32; 2]| {
        let mut graph = whole.graph().clone();
        for (phase, tiles) in [(first, of_first), (second, of_second)] {
            graph.phases[phase].accesses.retain(|access| access.tensor != sum.tensor);
            graph.phases[phase].accesses.extend(tiles.map(tile));
        }
        [(first, second), (second, first)].map(|(one, other)| rows_meet(&graph, sum.tensor, [one, other]))
    };
    assert_eq!(meet([0, 8], [16, 24]), [false; 2]);
    for (of_first, of_second) in [([0, 8], [8, 16]), ([8, 0], [16, 8]), ([0, 8], [16, 0]), ([0, 8], [15, 40])] {
        assert_eq!(meet(of_first, of_second), [true; 2], "{of_first:?} {of_second:?}");
    }
    let of_rank = missed(&|graph| graph.tensors[sum.tensor].rows = RowKind::Matrix(16));
    let overwritten = Violation::Unordered { before: first, after: first, tensor: sum.tensor };
    assert_eq!(of_rank, std::slice::from_ref(&overwritten));
    // Even if the tiles of one chunk were ordered.
    let mut graph = whole.graph().clone();
    graph.tensors[sum.tensor].rows = RowKind::Matrix(16);
    let mut violations = Vec::new();
    across_chunks(&graph, &mut violations);
    assert_eq!(violations, [overwritten]);
}

/// A phase as text: the name of its task, and its number.
fn task(checked: &CheckedGraph, phase: PhaseId) -> String {
    let graph = checked.graph();
    format!("{} {}", graph.tasks[graph.phases[phase].task].name, phase.0)
}

fn dependency_name(checked: &CheckedGraph, dependency: &Dependency) -> String {
    let tensor = &checked.graph().tensors[dependency.tensor].name;
    format!("{} -> {} by `{tensor}`", task(checked, dependency.before), task(checked, dependency.after))
}

fn word_name(checked: &CheckedGraph, phase: PhaseId) -> String {
    format!("word -> {}", task(checked, phase))
}

/// The paths between two ends, in words. Checks that each step starts at the end of the previous one.
fn texts_of_ways(checked: &CheckedGraph, before: Option<PhaseId>, after: Option<PhaseId>) -> Vec<String> {
    let ways = ways(checked, before, after).expect("all that is required is ordered");
    assert!(!ways.is_empty(), "something is required");
    let text = |way: &Vec<OrderStep>| {
        let mut at = before;
        let step = |step: &OrderStep| match *step {
            OrderStep::Dependency(number) => {
                let dependency = &checked.dependencies()[number];
                assert_eq!(at, Some(dependency.before));
                at = Some(dependency.after);
                dependency_name(checked, dependency)
            }
            OrderStep::Word(phase) => {
                assert_eq!(at, None);
                at = Some(phase);
                word_name(checked, phase)
            }
        };
        let steps: Vec<String> = way.iter().map(step).collect();
        assert_eq!(at, after.or(checked.reuse().map(|reuse| reuse.frees)));
        steps.join(", ")
    };
    ways.iter().map(text).collect()
}

/// Each dependency and each wait for a word without which validation accepts the graph, with the paths that imply it.
fn implied(checked: &CheckedGraph) -> Vec<(String, Vec<String>)> {
    let mut implied = Vec::new();
    let frees = checked.reuse().map(|reuse| reuse.frees);
    for (number, removed) in checked.dependencies().iter().enumerate() {
        let less = without_dependency(checked, number);
        let after = (Some(removed.after) != frees).then_some(removed.after);
        let missed = if after.is_none() {
            |violation: &Violation, phase| matches!(violation, Violation::FreedEarly { phase: of, .. } if *of == phase)
        } else {
            |violation: &Violation, phase| matches!(violation, Violation::Unordered { before, .. } if *before == phase)
        };
        if !refused(&less, |violation| missed(violation, removed.before)) {
            implied.push((dependency_name(checked, removed), texts_of_ways(&less, Some(removed.before), after)));
        }
    }
    for phase in waits_for_words(checked) {
        let less = without_wait_for_word(checked, phase);
        let missed =
            |violation: &Violation| matches!(violation, Violation::WrittenEarly { phase: of, .. } if *of == phase);
        if !refused(&less, missed) {
            implied.push((word_name(checked, phase), texts_of_ways(&less, None, Some(phase))));
        }
    }
    implied
}

/// Whether the derivation reports that something is missing. Checks that this is the removed edge, and that validation
/// of a schedule then fails.
fn refused(less: &CheckedGraph, missed: impl Fn(&Violation) -> bool) -> bool {
    let found = derived(less);
    let refused = found.iter().any(missed);
    assert!(refused || found.is_empty(), "something else is missing: {:#?}", texts(less, &found));
    assert!(!refused || validate(less, schedule(less, FEW_CORES)).is_err());
    refused
}

#[test]
fn each_dependency_and_each_word_is_missed_or_implied() {
    let mut text = String::new();
    for (name, checked) in kernels() {
        let implied = implied(&checked);
        let edges = checked.dependencies().len() + waits_for_words(&checked).len();
        let missed = edges - implied.len();
        let _ = writeln!(text, "{name}: {edges} edges, of which {missed} are missed and {} implied", implied.len());
        for (edge, ways) in implied {
            let _ = writeln!(text, "  {edge}");
            text.extend(ways.iter().map(|way| format!("    {way}\n")));
        }
    }
    golden("implied_edges", &text);
}

fn golden(name: &str, text: &str) {
    println!("a golden that should change is renewed by\n  INSTA_UPDATE=always cargo test -p hpmoe-core --lib derive");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../tests/goldens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Zero, and one less than `count`.
fn lesser_counts(count: u32) -> BTreeSet<u32> {
    (0..count).filter(|&less| less == 0 || less + 1 == count).collect()
}

/// The need with one of its terms removed or reduced by one.
fn lesser(need: &Need) -> Vec<Need> {
    let mut lesser = Vec::new();
    for less in lesser_counts(need.fixed) {
        lesser.push(Need { fixed: less, ..need.clone() });
    }
    for less in lesser_counts(need.per_row) {
        lesser.push(Need { per_row: less, ..need.clone() });
    }
    for less in lesser_counts(need.per_slot) {
        lesser.push(Need { per_slot: less, ..need.clone() });
    }
    for (piece, &(height, count)) in need.pieces.iter().enumerate() {
        for less in lesser_counts(count) {
            let mut pieces = need.pieces.clone();
            pieces[piece] = (height, less);
            lesser.push(Need { pieces, ..need.clone() });
        }
    }
    lesser
}

#[test]
fn each_need_is_missed_or_awaited_by_nobody() {
    for (name, checked) in kernels() {
        let waits: BTreeSet<(PhaseId, &Wait)> = checked.dependencies().iter().map(|d| (d.after, &d.wait)).collect();
        for (phase, wait) in waits {
            for need in lesser(&wait.need) {
                let lesser = Wait { need, ..wait.clone() };
                let mut less = checked.clone();
                for dependency in less.dependencies_mut().iter_mut().filter(|d| (d.after, &d.wait) == (phase, wait)) {
                    dependency.wait = lesser.clone();
                }
                let schedule = schedule(&less, FEW_CORES);
                let awaited = schedule.phases[phase].waits.contains(&lesser);
                let found = validate(&less, schedule).err().unwrap_or_default();
                let missed = found.iter().any(|violation| {
                    matches!(violation, Violation::Threshold { phase: of, counter, .. }
                             if (*of, *counter) == (phase, wait.counter))
                });
                let of_phase = task(&checked, phase);
                assert_eq!(missed, awaited, "{name}: {lesser:?} of {of_phase}: {:#?}", texts(&less, &found));
            }
        }
    }
}

/// Random programs are accepted and run. If a dependency or a wait for a word is removed, but something else implies
/// it, the program is still accepted and still runs.
#[test]
fn random_programs_run_without_what_is_implied() {
    let cores = Cores { aic: 3, aiv: 5 };
    let (mut missed, mut without) = (0, 0);
    for seed in 0..20 {
        let checked = program(seed);
        let runs_right = |checked: &CheckedGraph, schedule: Schedule| {
            let accepted = validate(checked, schedule).map_err(|found| texts(checked, &found));
            accepted.map(|valid| assert_eq!(runs(checked, valid.schedule(), seed..seed + 3), Ok(()), "program {seed}"))
        };
        assert_eq!(runs_right(&checked, schedule(&checked, cores)), Ok(()), "program {seed}");
        let words = waits_for_words(&checked).into_iter().map(|phase| without_wait_for_word(&checked, phase));
        let dependencies = (0..checked.dependencies().len()).map(|number| without_dependency(&checked, number));
        for less in dependencies.chain(words) {
            if derived(&less).is_empty() {
                without += usize::from(runs_right(&less, schedule(&less, cores)).is_ok());
            } else {
                missed += 1;
            }
        }
    }
    assert!(missed > 100 && without > 30, "{missed} missed, {without} run without");
}
