//! The phases that wait for the memory of an earlier chunk, and the phases that free it.

use super::super::{Amount, CheckedGraph, Whose};
use super::{dispatch, in_chunks, project, squares, swiglu, tiles};

/// The tasks that wait for freed memory, and the rank whose freed word each waits for.
fn waits(checked: &CheckedGraph) -> Vec<String> {
    let graph = checked.graph();
    let reuse = checked.reuse().unwrap();
    let text = |(phase, whose): (_, &Option<Whose>)| {
        let task: &str = &graph.tasks[graph.phases[phase].task].name;
        whose.map(|whose| format!("{task}: {whose:?}"))
    };
    reuse.waits.iter().filter_map(text).collect()
}

/// The waits before memory is freed: the tasks that touch the rows of a chunk last, and the amounts that they add to counters.
fn frees(checked: &CheckedGraph) -> Vec<String> {
    let graph = checked.graph();
    let frees = checked.reuse().unwrap().frees;
    let dependencies = checked.dependencies().iter().filter(|dependency| dependency.after == frees);
    let text = |dependency: &super::super::Dependency| {
        let amount = if dependency.signal.amount == Amount::One { "1" } else { "rows" };
        let through = if checked.counters()[dependency.wait.counter].through { "" } else { " (as data)" };
        let task = &graph.tasks[graph.phases[dependency.before].task].name;
        let tensor = &graph.tensors[dependency.tensor].name;
        format!("{task} with {tensor}: {amount}, {}{through}", dependency.wait.need)
    };
    dependencies.map(text).collect()
}

const BOTH_ENDS: [&str; 2] = ["give_back with a: rows, 1 per row", "sum_over_k with back: rows, 1 per row"];

#[test]
fn what_writes_to_a_rank_first_waits_until_it_has_freed_its_memory() {
    let checked = in_chunks(&(dispatch("x") + &project(8, 16, "recv", "a")), "a").unwrap();
    // `project` follows `dispatch` on the rank that freed. A block of the sum may have empty slots alone, and so follow nothing.
    assert_eq!(waits(&checked), ["dispatch: Peer", "give_back: Peer", "sum_over_k: Own"]);
    assert_eq!(frees(&checked), BOTH_ENDS);
}

#[test]
fn rows_come_back_to_a_rank_that_freed_its_memory_before_it_sent_them() {
    let calls = squares(4, "x", "z") + &dispatch("z") + &project(8, 16, "recv", "a");
    let checked = in_chunks(&calls, "a").unwrap();
    assert_eq!(waits(&checked), ["square: Own", "dispatch: Peer", "sum_over_k: Own"]);
    // Squares of tokens whose slots are all empty are sent to no rank.
    let squares = "square with z: rows, 1 per row";
    assert_eq!(frees(&checked), [[squares].as_slice(), &BOTH_ENDS].concat());
}

#[test]
fn a_block_follows_what_it_reads_whatever_is_sent_of_it() {
    let calls = squares(4, "x", "z") + &squares(4, "z", "v") + &dispatch("v") + &project(8, 16, "recv", "a");
    let checked = in_chunks(&calls, "a").unwrap();
    // The second squares follow the first ones, and are the last to touch what these wrote.
    assert_eq!(waits(&checked), ["square: Own", "dispatch: Peer", "sum_over_k: Own"]);
    assert_eq!(frees(&checked), [["square with z: rows, 1 per row"].as_slice(), &BOTH_ENDS].concat());
}

#[test]
fn the_last_reader_of_its_rank_frees_for_those_before_it() {
    // Both readers of `a` are followed by the call that gives rows back, whichever reads last.
    let call = "swiglu::<64, _>(&a[r].group(e, t), &recv[r].group(e, t), &mut b[r].group(e, t));";
    let calls = dispatch("x") + &project(8, 16, "recv", "a") + &tiles(8, call);
    assert_eq!(frees(&in_chunks(&calls, "b").unwrap()), BOTH_ENDS.map(|text| text.replace("with a", "with b")));
}

#[test]
fn rows_that_travel_twice_are_freed_where_they_end() {
    let there_and_back = "for src in ep { for e in route.experts() { for s in route.sends::<4>(src, e) {
            give_back(&a[e.owner()].rows_of(&s), &mut parts[src].scatter(&s));
        } } }
        for src in ep { for e in route.experts() { for s in route.sends::<4>(src, e) {
            put_again(&parts[src].gather(&s), &mut there[e.owner()].rows_of(&s));
        } } }";
    let last = "swiglu::<64, _>(&there[r].group(e, t), &a[r].group(e, t), &mut c[r].group(e, t));";
    let calls = dispatch("x") + &swiglu(8, 16, "recv", "a") + there_and_back + &tiles(8, last);
    let checked = in_chunks(&calls, "c").unwrap();
    // The rows that `give_back` brings the second time come to ranks that had freed when they sent them again.
    assert_eq!(waits(&checked), ["dispatch: Peer", "give_back: Peer", "put_again: Peer", "sum_over_k: Own"]);
    assert_eq!(frees(&checked), BOTH_ENDS.map(|text| text.replace("with a", "with c")));
}

#[test]
fn a_tensor_of_a_chunk_is_read() {
    let calls = dispatch("x") + &project(8, 16, "recv", "a") + &swiglu(8, 16, "recv", "b");
    let unread = "no call reads `a`, so it is unknown when a later chunk can reuse its memory";
    assert_eq!(in_chunks(&calls, "b").unwrap_err(), [unread]);
}

#[test]
fn only_what_touches_a_chunk_s_memory_on_its_rank_frees_it() {
    // Rows that do not come back: the last to touch them is the gradient, and the puts of what they are sent from.
    let gradient = "for r in ep { for e in route.experts_of(r) {
            weight_grad_onto::<64, 64>(&recv[r].expert(e), &recv[r].expert(e), &mut sum[r].expert(e));
        } }
        for r in ep { for t in route.token_blocks::<4>(r) { square::<4>(&x[r].rows(t), &mut y[r].rows(t)); } }";
    let taskflow = |calls: &str| {
        let source = super::source(&format!("{calls}{gradient}"), "b").replace("weight_grad}", "weight_grad_onto}");
        let source = source.replace("y: &mut", "sum: &mut PerRank<Experts<f32, 64, 64>>, y: &mut");
        let (before, rest) = source.split_at(source.find(gradient).unwrap() + gradient.len());
        let end = &rest[rest.find("\n            }\n        }").unwrap()..];
        super::read(&super::chunked(&format!("{before}\n{end}"))).unwrap()
    };
    let of_received = "weight_grad_onto with recv: 1, 1 per expert with rows";
    assert_eq!(frees(&taskflow(&dispatch("x"))), [of_received]);
    let sent = taskflow(&(squares(4, "x", "z") + &dispatch("z")));
    let of_sent = ["square with z: rows, 1 per row", "dispatch with z: rows, 1 per slot"];
    assert_eq!(frees(&sent), [of_sent.as_slice(), &[of_received]].concat());
}
