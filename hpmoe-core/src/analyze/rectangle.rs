//! The union of all elements that an access touches over all iterations: columns of a tensor, and for a matrix also
//! rows.

use crate::finding::Dimension;
use crate::graph::{Access, Columns, Phase, RowKind, Rows, Tensor};
use std::ops::Range;

/// Rows of a matrix and columns. Every other tensor has one row here, because its rows follow from the items of spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Rectangle {
    rows: Range<u32>,
    columns: Range<u32>,
}

impl Rectangle {
    /// The part of a tensor that an access touches.
    pub(super) fn of(access: &Access, phase: &Phase, tensor: &Tensor) -> Self {
        // The tiles that a range chooses, or the only one, as far as there is something to cut.
        let tiles = |range: Option<u32>, index: u32, size: u32, extent: u32| {
            let steps = range.map_or(1, |range| phase.ranges[range as usize]);
            let start = |tile: u32| extent.min(tile.saturating_mul(size));
            start(index)..start(index.saturating_add(steps))
        };
        let rows = match access.region.rows {
            Rows::Expert { range, index, height, outer } => {
                let rows = tiles(range, index, height, outer.rows);
                outer.first + rows.start..outer.first + rows.end
            }
            _ => 0..1,
        };
        let columns = match access.region.columns {
            Columns::All => 0..tensor.columns,
            Columns::Tile { range, index, width } => tiles(range, index, width, tensor.columns),
        };
        Self { rows, columns }
    }

    /// The rectangle of a whole tensor.
    pub(super) fn whole(tensor: &Tensor) -> Self {
        let rows = match tensor.rows {
            RowKind::Expert(rows) | RowKind::Matrix(rows) => 0..rows,
            _ => 0..1,
        };
        Self { rows, columns: 0..tensor.columns }
    }

    /// Whether both have an element in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let sides = [(&self.rows, &other.rows), (&self.columns, &other.columns)];
        sides.iter().all(|(a, b)| a.start < b.end && b.start < a.end)
    }

    /// The first columns or rows that no rectangle in `covers` contains.
    pub(super) fn missing(&self, covers: &[Self]) -> Option<(Dimension, Range<u32>)> {
        // Between two edges, what is covered is the same for all rows.
        let mut edges: Vec<u32> = covers.iter().flat_map(|cover| [cover.rows.start, cover.rows.end]).collect();
        edges.extend([self.rows.start, self.rows.end]);
        edges.sort_unstable();
        let bands = edges.windows(2).map(|edges| edges[0]..edges[1]);
        let mut bands =
            bands.filter(|band| !band.is_empty() && self.rows.start <= band.start && band.end <= self.rows.end);
        bands.find_map(|band| {
            let mut spans: Vec<&Range<u32>> = covers
                .iter()
                .filter(|cover| cover.rows.start <= band.start && band.end <= cover.rows.end)
                .map(|cover| &cover.columns)
                .collect();
            spans.sort_unstable_by_key(|span| span.start);
            let extend =
                |covered: u32, span: &&Range<u32>| if span.start <= covered { covered.max(span.end) } else { covered };
            let covered = spans.iter().fold(self.columns.start, extend);
            match spans.is_empty() {
                true if band != self.rows => Some((Dimension::Rows, band)),
                _ => (covered < self.columns.end).then_some((Dimension::Columns, covered..self.columns.end)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::graph::{Outer, Region};
    use crate::ids::PhaseId;
    use std::collections::BTreeSet;

    fn at(rows: Range<u32>, columns: Range<u32>) -> Rectangle {
        Rectangle { rows, columns }
    }

    #[test]
    fn what_no_rectangle_covers_is_found() {
        let whole = at(0..8, 0..4);
        let halves = [at(4..8, 0..4), at(0..4, 0..4)];
        assert_eq!(whole.missing(&halves), None);
        assert_eq!(whole.missing(&halves[..1]), Some((Dimension::Rows, 0..4)));
        assert_eq!(at(5..7, 1..2).missing(&halves[..1]), None);
        assert_eq!(whole.missing(&[]), Some((Dimension::Columns, 0..4)));
        // The second half lacks columns; three cover it as two.
        assert_eq!(whole.missing(&[at(0..8, 0..2), at(0..4, 2..4)]), Some((Dimension::Columns, 2..4)));
        assert_eq!(whole.missing(&[at(0..8, 0..2), at(0..4, 2..4), at(3..8, 1..4)]), None);
    }

    #[test]
    fn a_rectangle_is_all_that_a_range_chooses_of_what_there_is() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut phase = checked.graph().phases[PhaseId(1)].clone();
        let weights = |access: &&Access| matches!(access.region.rows, Rows::Expert { .. });
        let access = *phase.accesses.iter().find(weights).unwrap();
        let tensor = Tensor { columns: 50, ..checked.graph().tensors[access.tensor].clone() };
        let tiles = |range: Option<u32>, index: u32, size: u32, extent: u32| {
            let tiles = index..index + range.map_or(1, |range| [3, 4][range as usize]);
            let all = tiles.flat_map(move |tile| tile * size..(tile + 1) * size).filter(move |&at| at < extent);
            all.collect::<BTreeSet<u32>>()
        };
        phase.ranges = vec![3, 4];
        let choices = [(None, 0), (None, 2), (Some(0), 0), (Some(1), 0), (Some(0), 1), (Some(1), 2)];
        for (range, index) in choices {
            for (height, first, extent) in [(8, 0, 64), (8, 64, 64), (8, 5, 20), (30, 40, 100)] {
                for (by, column) in choices {
                    let rows = Rows::Expert { range, index, height, outer: Outer { first, rows: extent } };
                    let columns = Columns::Tile { range: by, index: column, width: 16 };
                    let access = Access { region: Region { rows, columns }, ..access };
                    let found = Rectangle::of(&access, &phase, &tensor);
                    let of_rows: BTreeSet<u32> = found.rows.map(|at| at - first).collect();
                    assert_eq!(of_rows, tiles(range, index, height, extent), "{rows:?}");
                    assert_eq!(found.columns.collect::<BTreeSet<_>>(), tiles(by, column, 16, 50), "{columns:?}");
                }
            }
        }
        // A tile that begins after the largest number lies after all columns, as one does that begins at it.
        for (index, width) in [(1 << 28, 16), (u32::MAX, 16), (u32::MAX, 1), (3, u32::MAX)] {
            let columns = Columns::Tile { range: Some(0), index, width };
            let access = Access { region: Region { rows: Rows::Tile, columns }, ..access };
            assert_eq!(Rectangle::of(&access, &phase, &tensor), at(0..1, 50..50), "{columns:?}");
        }
        let other = Access { region: Region { rows: Rows::Tile, columns: Columns::All }, ..access };
        assert_eq!(Rectangle::of(&other, &phase, &tensor), at(0..1, 0..50));
        let whole = |rows: RowKind| Rectangle::whole(&Tensor { rows, ..tensor.clone() });
        assert_eq!(whole(RowKind::Expert(7)), at(0..7, 0..50));
        assert_eq!(whole(RowKind::Matrix(9)), at(0..9, 0..50));
        assert_eq!(whole(RowKind::Token), at(0..1, 0..50));
    }

    #[test]
    fn rectangles_meet_where_rows_and_columns_do() {
        let one = at(4..8, 2..4);
        assert!([at(0..5, 0..3), at(7..9, 3..9), one.clone()].iter().all(|other| one.meets(other)));
        assert!(![at(0..4, 0..9), at(8..9, 0..9), at(0..9, 0..2), at(0..9, 4..5)].iter().any(|other| one.meets(other)));
    }

    /// All ranges within this number of rows or columns, including empty ones.
    fn ranges(end: u32) -> impl Iterator<Item = Range<u32>> + Clone {
        (0..=end).flat_map(move |from| (from..=end).map(move |to| from..to))
    }

    #[test]
    fn what_is_missing_is_the_first_element_that_no_rectangle_has() {
        let wanted = at(1..3, 1..3);
        let covers: Vec<Rectangle> =
            ranges(4).flat_map(|rows| ranges(3).map(move |columns| at(rows.clone(), columns))).collect();
        let has =
            |cover: &Rectangle, row: u32, column: u32| cover.rows.contains(&row) && cover.columns.contains(&column);
        for (first, second) in covers.iter().flat_map(|first| covers.iter().map(move |second| (first, second))) {
            let both = [first.clone(), second.clone()];
            let covered = |row: u32, column: u32| both.iter().any(|cover| has(cover, row, column));
            let mut elements =
                wanted.rows.clone().flat_map(|row| wanted.columns.clone().map(move |column| (row, column)));
            let lacking = elements.find(|&(row, column)| !covered(row, column));
            match (wanted.missing(&both), lacking) {
                (None, None) => {}
                (Some((Dimension::Columns, columns)), Some((_, column))) => {
                    assert_eq!(columns, column..wanted.columns.end, "{both:?}");
                }
                // As many rows as there is nothing of, where there is something of others.
                (Some((Dimension::Rows, rows)), Some((row, _))) => {
                    let none = |row: u32| both.iter().all(|cover| !cover.rows.contains(&row));
                    assert!(rows.start == row && rows.clone().all(none) && rows != wanted.rows, "{both:?} {rows:?}");
                    let ends = rows.end == wanted.rows.end || both.iter().any(|cover| cover.rows.start == rows.end);
                    assert!(ends || both.iter().any(|cover| cover.rows.end == rows.end), "{both:?} {rows:?}");
                }
                (found, lacking) => panic!("{both:?}: {found:?}, but {lacking:?}"),
            }
        }
    }

    #[test]
    fn rectangles_meet_where_they_have_an_element_in_common() {
        let some: Vec<Range<u32>> = ranges(3).filter(|range| !range.is_empty()).collect();
        for (rows, columns) in some.iter().flat_map(|rows| some.iter().map(move |columns| (rows, columns))) {
            for (other_rows, other_columns) in
                some.iter().flat_map(|rows| some.iter().map(move |columns| (rows, columns)))
            {
                let shares = |one: &Range<u32>, other: &Range<u32>| one.clone().any(|at| other.contains(&at));
                let meet = at(rows.clone(), columns.clone()).meets(&at(other_rows.clone(), other_columns.clone()));
                assert_eq!(meet, shares(rows, other_rows) && shares(columns, other_columns));
            }
        }
    }
}
