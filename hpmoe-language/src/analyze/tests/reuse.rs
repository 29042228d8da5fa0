//! Who waits for the memory of an earlier chunk, and what frees it.

use super::super::{Amount, CheckedGraph, Whose};
use super::{in_chunks, project, squares, swiglu, tiles};

/// Sends the rows of `from` to `recv`.
fn dispatch(from: &str) -> String {
    format!(
        "for src in ep {{ for e in route.experts() {{ for s in route.sends::<2>(src, e) {{
            dispatch(&{from}[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
        }} }} }}\n"
    )
}

/// The tasks that wait for freed memory, and of which rank.
fn waits(checked: &CheckedGraph) -> Vec<String> {
    let graph = checked.graph();
    let reuse = checked.reuse().unwrap();
    let text = |(phase, whose): (_, &Option<Whose>)| {
        let task: &str = &graph.tasks[graph.phases[phase].task].name;
        whose.map(|whose| format!("{task}: {whose:?}"))
    };
    reuse.waits.iter().filter_map(text).collect()
}

/// What frees the memory waits for: the tasks that touch the rows of a chunk last, and what they add.
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
    // `project` follows `dispatch` on the rank that freed, the sum follows `give_back`.
    assert_eq!(waits(&checked), ["dispatch: Peer", "give_back: Peer"]);
    assert_eq!(frees(&checked), BOTH_ENDS);
}

#[test]
fn rows_come_back_to_a_rank_that_freed_its_memory_before_it_sent_them() {
    let calls = squares(4, "x", "z") + &dispatch("z") + &project(8, 16, "recv", "a");
    let checked = in_chunks(&calls, "a").unwrap();
    assert_eq!(waits(&checked), ["square: Own", "dispatch: Peer"]);
    assert_eq!(frees(&checked), BOTH_ENDS);
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
    assert_eq!(waits(&checked), ["dispatch: Peer", "give_back: Peer", "put_again: Peer"]);
    assert_eq!(frees(&checked), BOTH_ENDS.map(|text| text.replace("with a", "with c")));
}

#[test]
fn a_tensor_of_a_chunk_is_read() {
    let calls = dispatch("x") + &project(8, 16, "recv", "a") + &swiglu(8, 16, "recv", "b");
    let unread = "no call reads `a`, so nothing tells when another chunk can take its memory";
    assert_eq!(in_chunks(&calls, "b").unwrap_err(), [unread]);
}
