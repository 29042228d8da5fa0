//! The order in which an expert's row tiles become complete.

use super::PairTurns;

/// The numbers of an expert's row tiles of `height` rows, in the order in which the tiles become complete if all ranks send
/// in [turns](PairTurns) of `turn` rows. `rows` has the number of rows that each rank sends to the expert.
///
/// A tile is complete in the last turn that any of its rows is sent in (exactly so if `turn` is a multiple of `height`). Among tiles that become complete in the same turn,
/// the distance from rank `own` decides: tiles of rank `own` come first, then those of rank `own + 1`, and so on modulo
/// the number of ranks. If several ranks send a tile's rows in its last turn, the farthest of these ranks counts.
///
/// ```
/// use hpmoe_kernels::route::arrival_order;
///
/// // Two ranks send four rows each, in turns of two: tiles 0 and 2 are complete before 1 and 3.
/// assert_eq!(arrival_order(&[4, 4], 0, 2, 2), [0, 2, 1, 3]);
/// // Each rank sends all of its rows in one turn, and rank 1 is this rank.
/// assert_eq!(arrival_order(&[4, 4], 1, 2, 4), [2, 3, 0, 1]);
/// ```
#[must_use]
pub fn arrival_order(rows: &[usize], own: usize, height: usize, turn: usize) -> Vec<usize> {
    let ranks = rows.len();
    let all: usize = rows.iter().sum();
    // For each tile: the last turn that it waits for, and the distance of the rank that sends it.
    let mut complete = vec![(0, 0); all.div_ceil(height)];
    let mut first = 0;
    for (rank, &of_rank) in rows.iter().enumerate() {
        let end = first + of_rank;
        let far = (rank + ranks - own) % ranks;
        let touched = first / height..end.div_ceil(height);
        let turns = PairTurns::new(first..end, turn);
        for (tile, complete) in touched.clone().zip(&mut complete[touched]).filter(|_| of_rank > 0) {
            let [from, last] = [first.max(tile * height), end.min((tile + 1) * height) - 1];
            *complete = (*complete).max((turns.of_row(from).max(turns.of_row(last)), far));
        }
        first = end;
    }
    let mut tiles: Vec<usize> = (0..complete.len()).collect();
    tiles.sort_by_key(|&tile| complete[tile]);
    tiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tile_waits_for_the_last_of_its_ranks() {
        // Tile 1 has the last row of rank 0 and the first of rank 1, tile 3 the last of rank 1 and one of rank 2.
        assert_eq!(arrival_order(&[3, 4, 3], 1, 2, 1), [0, 2, 4, 1, 3]);
        assert_eq!(arrival_order(&[0, 0], 0, 2, 1), [0; 0]);
    }

    proptest! {
        #[test]
        fn every_tile_comes_once(rows in prop::collection::vec(0usize..40, 1..9), own in 0usize..8, height in 1usize..9, turn in 1usize..20) {
            let mut tiles = arrival_order(&rows, own % rows.len(), height, turn);
            tiles.sort_unstable();
            prop_assert!(tiles.into_iter().eq(0..rows.iter().sum::<usize>().div_ceil(height)));
        }
    }
}
