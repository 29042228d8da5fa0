use super::*;
use crate::fixture::{Layer, moe_backward, moe_ffn, once};
use crate::graph::{Outer, Region};

#[test]
fn items_of_a_phase_hold_each_row_once() {
    for checked in [moe_ffn(&Layer::TINY), once(&Layer::TINY), moe_backward(&Layer::TINY)] {
        let (graph, instance) = (checked.graph(), Instance::new(&checked));
        for (id, phase) in graph.phases.iter() {
            let space = graph.spaces[phase.space];
            let sends_once = space.kind == SpaceKind::SendsOnce;
            let by_token = space.kind == SpaceKind::Blocks;
            let all_items =
                || ranks().flat_map(|rank| items(graph, &instance, id, rank).into_iter().map(move |item| (rank, item)));
            let mut held = Vec::new();
            for (rank, (peer, expert, rows)) in all_items() {
                let group = if by_token { rank } else { expert };
                held.extend(rows.clone().map(|row| (group, row)));
                let all_rows = instance.rows(sends_once, expert);
                let from = |source: usize| all_rows[rows.clone()].iter().all(|row| row.source == source);
                match space.kind {
                    SpaceKind::Sends | SpaceKind::SendsOnce => assert!(peer == owner(expert) && from(rank)),
                    SpaceKind::Arrivals => assert!(rank == owner(expert) && from(peer)),
                    SpaceKind::Blocks => assert_eq!((peer, expert), (rank, 0)),
                    _ => assert_eq!((rank, peer), (owner(expert), owner(expert))),
                }
            }
            held.sort_unstable();
            let groups = if by_token { ranks() } else { 0..instance.experts() };
            let len = |group: usize| {
                if by_token { instance.tokens[group] } else { instance.rows(sends_once, group).len() }
            };
            let all: Vec<_> = groups.flat_map(|group| (0..len(group)).map(move |row| (group, row))).collect();
            assert_eq!(held, all, "{space:?}");
            if space.kind == SpaceKind::Experts {
                assert_eq!(all_items().count(), instance.experts(), "with rows or without");
            }
        }
    }
}

#[test]
fn columns_of_a_tensor_are_cut_without_gaps() {
    let checked = moe_ffn(&Layer::SMALL);
    let gate = &checked.graph().phases[PhaseId(1)];
    let made = gate.accesses.iter().find(|access| access.write).unwrap();
    let cut = Cut::of_columns(made).unwrap();
    let ends: Vec<u32> = (0..gate.columns()).map(|column| cut.span(gate, column).end).collect();
    let starts: Vec<u32> = (0..gate.columns()).map(|column| cut.span(gate, column).start).collect();
    assert_eq!((starts[0], &starts[1..]), (0, &ends[..ends.len() - 1]));
    assert_eq!(ends.last(), Some(&checked.graph().tensors[made.tensor].columns));
}

#[test]
fn tiles_of_other_sizes_are_looked_at_where_they_meet() {
    let mut graph = moe_ffn(&Layer::SMALL).graph().clone();
    let [gate, up, swiglu, down] = [1, 2, 3, 4].map(PhaseId);
    let columns = |width| Columns::Tile { range: Some(0), index: 0, width };
    // 64 columns in tiles of 4, of 16, and of 1.
    for (phase, tiles, width) in [(gate, 16, 4), (up, 4, 16), (swiglu, 64, 1)] {
        graph.phases[phase].ranges = vec![tiles];
        for access in graph.phases[phase].accesses.iter_mut().filter(|access| access.write) {
            access.region.columns = columns(width);
        }
    }
    let [of_gate, of_up] = [gate, up].map(|phase| {
        let writes = graph.phases[phase].accesses.iter().find(|access| access.write);
        writes.unwrap().tensor
    });
    for access in &mut graph.phases[swiglu].accesses {
        if access.tensor == of_gate || access.tensor == of_up {
            access.region.columns = columns(1);
        }
    }
    let values = values_of_all(&graph);
    // Gate's tiles 0, 1 and 15 start at columns 0, 4 and 60; up's tiles start at 0, 16, 32 and 48.
    assert_eq!(values[gate], [SortedSet::from_iter([0, 1, 4, 8, 12, 15])]);
    assert_eq!(values[up], [SortedSet::from_iter([0, 1, 2, 3])]);
    assert_eq!(values[swiglu], [SortedSet::from_iter([0, 1, 4, 16, 32, 48, 60, 63])]);
    assert!(values[down].iter().all(|set| set.iter().len() <= 4), "{:?}", values[down]);
    // Columns depend on one range, so other ranges meet nothing.
    assert!(!meeting(&graph, gate, 0, 3).is_empty());
    assert_eq!(meeting(&graph, gate, 1, 3), []);
}

/// Rows of an outer tile are counted from its first row, and none belong to the next matrix.
#[test]
fn tiles_of_a_tile_end_with_it() {
    let mut graph = moe_ffn(&Layer::SMALL).graph().clone();
    let [gate, up] = [1, 2].map(PhaseId);
    let rows = |first| Rows::Expert { range: Some(0), index: 0, height: 32, outer: Outer { first, rows: 80 } };
    let weights = |access: &&mut Access| Cut::of_rows(access).is_some();
    let matrix = graph.phases[gate].accesses.iter_mut().find(weights).unwrap();
    matrix.region.rows = rows(0);
    let tensor = matrix.tensor;
    let matrix = graph.phases[up].accesses.iter_mut().find(weights).unwrap();
    (matrix.region.rows, matrix.tensor) = (rows(80), tensor);
    let cut = Cut::of_rows(matrix).unwrap();
    graph.phases[gate].ranges = vec![3];
    graph.phases[up].ranges = vec![3];
    assert_eq!([0, 1, 2].map(|column| cut.span(&graph.phases[up], column)), [80..112, 112..144, 144..160]);
    assert_eq!(
        [79, 80, 111, 112, 159, 160].map(|row| cut.holding(row)),
        [None, Some(0), Some(0), Some(1), Some(2), None]
    );
    assert_eq!(meeting(&graph, gate, 0, 2).iter().filter(|(phase, ..)| *phase == up).count(), 0);
}

#[test]
fn of_a_long_range_its_ends_and_what_meets_a_fixed_region_are_looked_at() {
    let mut graph = moe_ffn(&Layer::SMALL).graph().clone();
    let [gate, swiglu] = [1, 3].map(PhaseId);
    let place = |write| {
        graph.phases[gate]
            .accesses
            .iter()
            .position(|access| {
                access.write == write
                    && Cut::of_columns(access).is_some() == write
                    && (write || Cut::of_rows(access).is_some())
            })
            .unwrap()
    };
    let (made, weights) = (place(true), place(false));
    graph.phases[gate].ranges = vec![20, 20];
    let columns = |range, index, width| Columns::Tile { range, index, width };
    graph.phases[gate].accesses[made].region.columns = columns(Some(0), 0, 1);
    let (height, outer) = (32, Outer::whole(640));
    graph.phases[gate].accesses[weights].region.rows = Rows::Expert { range: Some(1), index: 0, height, outer };
    let [made, weights] = [made, weights].map(|place| graph.phases[gate].accesses[place]);
    let values_of =
        |graph: &TaskGraph, range| values(graph, &graph.phases[gate], range, 20).into_iter().collect::<Vec<_>>();
    assert_eq!(values_of(&graph, 0), [0, 1, 19]);
    // Regions that move with their range, and those of other tensors, are met only at the range's ends.
    for access in &mut graph.phases[swiglu].accesses {
        let range = (access.tensor == made.tensor).then_some(0);
        access.region.columns = columns(range, if range.is_some() { 0 } else { 2 }, 8);
    }
    assert_eq!(values_of(&graph, 0), [0, 1, 19]);
    let fixed = |access: Access, region| Access { region, write: false, ..access };
    let made_at = |index, width| fixed(made, Region { columns: columns(None, index, width), ..made.region });
    // Columns 3 to 5, 16 to 19, and 24 to 27, which the phase does not have.
    graph.phases[swiglu].accesses.extend([made_at(1, 3), made_at(4, 4), made_at(6, 4)]);
    assert_eq!(values_of(&graph, 0), [0, 1, 3, 5, 16, 19]);
    assert_eq!(values_of(&graph, 1), [0, 1, 19]);
    let rows = Rows::Expert { range: None, index: 2, height: 96, outer };
    graph.phases[swiglu].accesses.push(fixed(weights, Region { rows, ..weights.region }));
    assert_eq!(values_of(&graph, 0), [0, 1, 3, 5, 16, 19]);
    assert_eq!(values_of(&graph, 1), [0, 1, 6, 8, 19]);
    let phase = &graph.phases[gate];
    assert_eq!([4, 5].map(|length| values(&graph, phase, 1, length).iter().len()), [4, 3]);
}

#[test]
fn regions_that_do_not_begin_with_their_range_are_met_at_their_ends() {
    let mut graph = moe_ffn(&Layer::SMALL).graph().clone();
    let gate = PhaseId(1);
    let place = |cut_of: fn(&Access) -> Option<Cut>, write: bool| {
        let is_it = |access: &Access| access.write == write && cut_of(access).is_some();
        graph.phases[gate].accesses.iter().position(is_it).unwrap()
    };
    let (made, weights) = (place(Cut::of_columns, true), place(Cut::of_rows, false));
    let tensors = [made, weights].map(|place| graph.phases[gate].accesses[place].tensor);
    for other in graph.phases.ids().filter(|&id| id != gate).collect::<Vec<_>>() {
        graph.phases[other].accesses.retain(|access| !tensors.contains(&access.tensor));
    }
    let mut met = |region: &dyn Fn(Region) -> Region, place: usize, cut_of, steps: u32| {
        graph.phases[gate].ranges = vec![steps];
        let access = &mut graph.phases[gate].accesses[place];
        access.region = region(access.region);
        let tensor = access.tensor;
        fixed(&graph, tensor, cut_of).collect::<SortedSet<u32>>().into_iter().collect::<Vec<u32>>()
    };
    for (range, index, steps, wanted) in [
        (Some(0), 0, 7, &[][..]),
        (Some(0), 1, 7, &[5, 9, 10, 14, 35, 39]),
        (Some(0), 2, 7, &[10, 14, 15, 19, 40, 44]),
        (Some(0), 2, 2, &[10, 14, 15, 19]),
        (Some(0), 2, 1, &[10, 14]),
        (None, 0, 7, &[0, 4]),
        (None, 3, 7, &[15, 19]),
    ] {
        let columns = Columns::Tile { range, index, width: 5 };
        let found = met(&|region| Region { columns, ..region }, made, Cut::of_columns, steps);
        assert_eq!(found, wanted, "{range:?} {index} {steps}");
    }
    for (first, wanted) in [(0, &[][..]), (1, &[1, 32, 33, 64, 129, 160]), (80, &[80, 111, 112, 143, 208, 239])] {
        let rows = Rows::Expert { range: Some(0), index: 0, height: 32, outer: Outer { first, rows: 160 } };
        assert_eq!(met(&|region| Region { rows, ..region }, weights, Cut::of_rows, 5), wanted, "from {first}");
    }
}
