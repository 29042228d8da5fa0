//! The elements that a tile reads and writes.

use super::instance::{Instance, Row, owner};
use super::tiles::{Cut, Tile};
use crate::graph::{Access, RowKind, Rows, SpaceKind, TaskGraph};
use crate::ids::TensorId;
use std::ops::Range;

/// Position of elements: tensor, rank, and a row, or an expert with its matrix.
pub(super) type ElementRow = (TensorId, usize, usize, usize);

/// The row range of tensors that are not matrices, whose row is part of the position; also the column range of origins.
const ONE: Range<u32> = 0..1;

/// Elements at one position.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) place: ElementRow,
    /// The rows of an expert's or a rank's matrix; a single one for all other tensors.
    pub(super) rows: Range<u32>,
    pub(super) columns: Range<u32>,
    pub(super) write: bool,
}

impl Touched {
    /// Whether two sets of elements at the same position have an element in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let sides = [(&self.rows, &other.rows), (&self.columns, &other.columns)];
        sides.iter().all(|(a, b)| a.start < b.end && b.start < a.end)
    }
}

/// All elements that a tile touches.
pub(super) fn touched(graph: &TaskGraph, instance: &Instance, tile: &Tile) -> Vec<Touched> {
    let phase = &graph.phases[tile.phase];
    let mut all = Vec::new();
    for access in &phase.accesses {
        let most = graph.tensors[access.tensor].columns;
        let columns = Cut::of_columns(access).map_or(0..most, |cut| {
            let span = cut.span(phase, tile.column);
            span.start.min(most)..span.end.min(most)
        });
        let rows = Cut::of_rows(access).map_or(ONE, |cut| cut.span(phase, tile.column));
        for (rank, group, row) in places(graph, instance, tile, access) {
            let place = (access.tensor, rank, group, row);
            all.push(Touched { place, rows: rows.clone(), columns: columns.clone(), write: access.write });
        }
    }
    if let Some(origins) = phase.origins {
        for row in tile.rows.clone() {
            let place = (origins.tensor, owner(tile.expert), tile.expert, row);
            all.push(Touched { place, rows: ONE, columns: ONE, write: origins.write });
        }
    }
    all
}

/// The rank, the expert (0 for rows of tokens) and the row of each row that an access refers to.
fn places(graph: &TaskGraph, instance: &Instance, tile: &Tile, access: &Access) -> Vec<(usize, usize, usize)> {
    let once = graph.spaces[graph.phases[tile.phase].space].kind == SpaceKind::SendsOnce;
    let all_rows = instance.rows(once, tile.expert);
    let rows = || all_rows[tile.rows.clone()].iter();
    let of_expert = |rows: Range<usize>| rows.map(|row| (owner(tile.expert), tile.expert, row)).collect();
    let slot = |row: &Row| row.token * instance.top_k + row.k;
    match access.region.rows {
        Rows::Tile | Rows::Piece => of_expert(tile.rows.clone()),
        Rows::Group => of_expert(0..all_rows.len()),
        Rows::Gather => rows().map(|row| (row.source, 0, row.token)).collect(),
        Rows::Scatter => rows().map(|row| (row.source, 0, slot(row))).collect(),
        Rows::Once => {
            let place = |&row: &Row| instance.place_once(tile.rank, row);
            rows().map(place).map(|(expert, row)| (tile.rank, expert, row)).collect()
        }
        Rows::Block => tile.rows.clone().map(|token| (tile.rank, 0, token)).collect(),
        Rows::BlockSlots => {
            let slots = tile.rows.start * instance.top_k..tile.rows.end * instance.top_k;
            slots.map(|slot| (tile.rank, 0, slot)).collect()
        }
        Rows::Expert { .. } => {
            let by_expert = matches!(graph.tensors[access.tensor].rows, RowKind::Expert(_));
            vec![(tile.rank, if by_expert { tile.expert } else { 0 }, 0)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tiles;
    use super::*;
    use crate::fixture::{Layer, moe_backward, moe_ffn};
    use crate::ids::TensorId;
    use std::collections::BTreeMap;

    #[test]
    fn elements_meet_in_rows_and_columns() {
        let at = |rows: Range<u32>, columns: Range<u32>| Touched {
            place: (TensorId(0), 0, 0, 0),
            rows,
            columns,
            write: true,
        };
        let all = at(2..4, 16..32);
        assert!([at(3..4, 31..40), at(0..3, 0..17), at(2..3, 20..21)].iter().all(|other| all.meets(other)));
        let others = [at(4..5, 16..32), at(0..2, 16..32), at(2..4, 0..16), at(2..4, 32..33)];
        assert!(!others.iter().any(|other| all.meets(other) || other.meets(&all)));
    }

    #[test]
    fn each_column_of_a_row_is_written_once() {
        // The last tile of the columns is cut short.
        let checked = moe_ffn(&Layer { inter: 48, tile_n: 32, ..Layer::TINY });
        let (graph, instance) = (checked.graph(), Instance::new(&checked));
        let mut written: BTreeMap<ElementRow, Vec<(u32, u32)>> = BTreeMap::new();
        for touched in tiles(graph, &instance).iter().flat_map(|tile| touched(graph, &instance, tile)) {
            if touched.write {
                written.entry(touched.place).or_default().push((touched.columns.start, touched.columns.end));
            }
        }
        for (place, mut columns) in written {
            columns.sort_unstable();
            let end = columns.iter().try_fold(0, |end, &(first, next)| (first == end).then_some(next));
            assert_eq!(end, Some(graph.tensors[place.0].columns), "{place:?}: {columns:?}");
        }
    }

    #[test]
    fn a_gradient_reads_all_rows_of_its_expert_and_no_more() {
        let checked = moe_backward(&Layer::TINY);
        let (graph, instance) = (checked.graph(), Instance::new(&checked));
        let of_all_rows = |access: &&Access| access.region.rows == Rows::Group;
        let mut seen = 0;
        for tile in tiles(graph, &instance) {
            for access in graph.phases[tile.phase].accesses.iter().filter(of_all_rows) {
                let rows = places(graph, &instance, &tile, access);
                assert_eq!(rows.len(), instance.rows(false, tile.expert).len());
                assert!(rows.iter().enumerate().all(|(row, place)| *place == (tile.rank, tile.expert, row)));
                seen += rows.len();
            }
        }
        assert!(seen > 0, "a gradient reads rows");
    }
}
