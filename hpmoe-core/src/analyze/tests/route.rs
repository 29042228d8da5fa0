//! Faults of a route's ids, and the calls at which they are reported.

use super::super::{analyze, hazards, route};
use crate::finding::{Diagnostic, Errors};
use crate::fixture::{Layer, moe_ffn, routed, router};
use crate::graph::{Access, Columns, Region, Storage, TaskGraph};
use crate::ids::{Arena, PhaseId, TensorId};

const SQUARE: PhaseId = PhaseId(0);
const SCORE: PhaseId = PhaseId(1);
const CHOOSE: PhaseId = PhaseId(2);
const COMBINE: PhaseId = PhaseId(9);

/// The fault that the analysis finds after a change to the ids of a layer that chooses experts, with the line of the reported call.
fn found(change: impl FnOnce(&mut TaskGraph, TensorId)) -> Vec<(String, Option<usize>)> {
    let mut graph = router(&Layer::TINY).graph().clone();
    let ids = graph.route.as_ref().unwrap().ids;
    change(&mut graph, ids);
    let mut errors = Errors::default();
    route::ids(&graph, &mut errors);
    let place = |fault: &Diagnostic| {
        let words = fault.words();
        (words.message, words.also.first().map(|(writer, _)| writer.start().line))
    };
    errors.checkpoint().err().unwrap_or_default().iter().map(place).collect()
}

/// Makes the calls write the first `width` columns of the ids.
fn write(graph: &mut TaskGraph, ids: TensorId, width: u32, calls: &[PhaseId]) {
    let columns = Columns::Tile { range: None, index: 0, width };
    let written = *graph.phases[CHOOSE].accesses_of(ids, true).next().unwrap();
    let part = Access { region: Region { columns, ..written.region }, ..written };
    for phase in graph.phases.ids().collect::<Vec<_>>() {
        graph.phases[phase].accesses.retain(|access| access.tensor != ids || !access.write);
    }
    calls.iter().for_each(|&call| graph.phases[call].accesses.push(part));
}

#[test]
fn only_ids_that_the_kernel_writes_are_awaited() {
    assert!(router(&Layer::TINY).route_input().is_some());
    assert!(routed(&Layer::TINY).route_input().is_none(), "ids of the caller");
    assert!(moe_ffn(&Layer::TINY).route_input().is_none(), "a route of the host");
}

#[test]
fn the_route_waits_for_all_calls_that_write_ids() {
    let mut graph = router(&Layer::TINY).graph().clone();
    let ids = graph.route.as_ref().unwrap().ids;
    // The first call has four columns of tiles, the other one has one.
    graph.phases[SQUARE].ranges = vec![4];
    write(&mut graph, ids, 1, &[SQUARE, CHOOSE]);
    let input = route::input(&graph, &mut Arena::new()).unwrap();
    assert_eq!(input.signals.iter().map(|(phase, _)| *phase).collect::<Vec<_>>(), [SQUARE, CHOOSE]);
    assert_eq!(input.wait.need.per_row, 4 + graph.phases[CHOOSE].columns());
}

#[test]
fn the_analysis_refuses_ids_that_are_written_after_the_route() {
    let mut graph = router(&Layer::TINY).graph().clone();
    let ids = graph.route.as_ref().unwrap().ids;
    write(&mut graph, ids, 2, &[CHOOSE, COMBINE]);
    let mut errors = Errors::default();
    assert!(analyze(graph, &mut errors).is_none());
    let faults = errors.checkpoint().unwrap_err();
    assert!(faults.iter().any(|fault| fault.words().message.contains("after the route has been made")));
}

#[test]
fn ids_are_complete_when_the_route_is_made_and_stay_as_they_are() {
    let checked = router(&Layer::TINY);
    let graph = checked.graph();
    let line = |phase: PhaseId| graph.phases[phase].span.start().line;
    let (made, declared) = (graph.route.as_ref().unwrap(), graph.route.as_ref().unwrap().ids);
    let (made, declared) = (made.span.start().line, graph.tensors[declared].span.start().line);
    let fault = |text: &str, line: usize| (text.to_owned(), Some(line));
    let by_score =
        ("`score` runs on matrix cores, but ids for a route must be written by vector cores".to_owned(), None);

    assert_eq!(found(|_, _| ()), []);
    let unwritten = found(|graph, ids| write(graph, ids, 2, &[]));
    assert_eq!(unwritten, [fault("`ids` is read, but no call writes it", declared)]);
    // The first call of those that write later, or too little, is shown.
    let late = found(|graph, ids| {
        write(graph, ids, 2, &[CHOOSE, COMBINE]);
        graph.route.as_mut().unwrap().before = 1;
    });
    assert_eq!(late, [fault("`ids` is read before it is written", line(CHOOSE))]);
    let partly = found(|graph, ids| write(graph, ids, 1, &[SCORE, CHOOSE]));
    let missing = fault("columns 1 to 2 of `ids` are read, but no call writes them", line(SCORE));
    assert_eq!(partly, [missing, by_score.clone()]);
    // Complete, and then written again.
    let again = found(|graph, ids| write(graph, ids, 2, &[CHOOSE, COMBINE]));
    assert_eq!(again, [fault("this call writes `ids` after the route has been made from it", made)]);
    assert_eq!(found(|graph, ids| write(graph, ids, 2, &[SCORE])), [by_score]);
    // So are ids that the caller gets back.
    let returned = |calls: &'static [PhaseId]| {
        found(move |graph, ids| {
            write(graph, ids, 2, calls);
            graph.tensors[ids].storage = Storage::Argument;
        })
    };
    assert_eq!(returned(&[CHOOSE]), []);
    assert_eq!(returned(&[]), unwritten);
    assert_eq!(returned(&[CHOOSE, COMBINE]), again);
    // What the caller gives is complete.
    let given = found(|graph, ids| {
        write(graph, ids, 1, &[]);
        graph.tensors[ids].writable = false;
    });
    assert_eq!(given, []);
}

#[test]
fn a_kept_route_is_the_only_output_that_no_call_writes() {
    let checked = router(&Layer::TINY);
    let graph = checked.graph();
    let of_caller = |id: &TensorId| graph.tensors[*id].storage.is_argument() && graph.tensors[*id].writable;
    let output = graph.tensors.ids().find(of_caller).unwrap();
    let unwritten = |keeps: Option<TensorId>| {
        let mut graph = graph.clone();
        for phase in graph.phases.ids().collect::<Vec<_>>() {
            graph.phases[phase].accesses.retain(|access| access.tensor != output || !access.write);
        }
        graph.route.as_mut().unwrap().keeps = keeps;
        let mut errors = Errors::default();
        hazards::hazards(&graph, &mut errors);
        errors.checkpoint().err().unwrap_or_default().len()
    };
    let other = graph.tensors.ids().find(|&id| id != output).unwrap();
    assert_eq!([unwritten(None), unwritten(Some(other)), unwritten(Some(output))], [1, 1, 0]);
}
