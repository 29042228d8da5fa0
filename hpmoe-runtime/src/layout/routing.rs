//! A host's route, in the form that one rank's kernel reads.

use hpmoe_kernels::route::{Pair, chunk_tokens};
use hpmoe_kernels::{Rank, Route};

use super::RouteChunks;
use crate::KernelTables;
use crate::abi::{HpmoeExpert, HpmoePair};

/// First row and number of rows of each local expert, chunk by chunk.
pub(crate) fn experts(chunks: &RouteChunks<'_>, rank: Rank) -> Vec<HpmoeExpert> {
    let of_chunk = |(half, route): (usize, &Route)| -> Vec<HpmoeExpert> {
        let with_rows = |e| expert(route.pair(Rank::new(0), e), half, route.expert_rows(e));
        route.experts_of(rank).map(with_rows).collect()
    };
    chunks.halves().flat_map(of_chunk).collect()
}

/// The pairs that the rank sends, by owner, chunk and expert of the owner.
pub(crate) fn sends(chunks: &RouteChunks<'_>, rank: Rank) -> Vec<HpmoePair> {
    let before = |before: &mut usize, route: &Route| {
        let order = *before;
        *before += route.order(rank).len();
        Some(order)
    };
    let orders: Vec<usize> = chunks.routes().iter().scan(0, before).collect();
    let to = |owner: Rank| {
        let of_chunk = move |((half, route), &order): ((usize, &Route), &usize)| -> Vec<HpmoePair> {
            route.experts_of(owner).map(|e| pair(route.pair(rank, e), half, order)).collect()
        };
        chunks.halves().zip(&orders).flat_map(of_chunk).collect::<Vec<_>>()
    };
    chunks.routes()[0].ranks().into_iter().flat_map(to).collect()
}

/// The pairs that the rank receives, by source, chunk and local expert.
pub(crate) fn arrivals(chunks: &RouteChunks<'_>, rank: Rank) -> Vec<HpmoePair> {
    let from = |source| {
        let of_chunk = move |(half, route): (usize, &Route)| -> Vec<HpmoePair> {
            let arrival = |e| HpmoePair { order: 0, ..pair(route.pair(source, e), half, 0) };
            route.experts_of(rank).map(arrival).collect()
        };
        chunks.halves().flat_map(of_chunk).collect::<Vec<_>>()
    };
    chunks.routes()[0].ranks().into_iter().flat_map(from).collect()
}

/// The rank's slots in the order of experts, chunk by chunk. In each chunk, slots are numbered from the chunk's first
/// slot.
pub(crate) fn order(chunks: &RouteChunks<'_>, rank: Rank) -> Vec<i32> {
    let of_chunk = |route: &Route| -> Vec<i32> {
        let first = word(route.first_token(rank) * route.top_k());
        route.order(rank).iter().map(|slot| slot - first).collect()
    };
    chunks.routes().iter().flat_map(of_chunk).collect()
}

/// For each local expert, chunk by chunk: the number of its rows before those of each source and part of that source's
/// tokens, then the number of all its rows.
pub(crate) fn parts(tables: &KernelTables, chunks: &RouteChunks<'_>, rank: Rank) -> Vec<i32> {
    let (whole, parts) = (chunks.whole(), tables.chunk_parts());
    let of_chunk = |route: &Route| -> Vec<i32> {
        let of_expert = |e| {
            let of_source = move |source| {
                let tokens = chunk_tokens(whole.tokens(source), tables.chunks * parts, tables.chunks_at_most());
                route.rows_before_parts(source, e, parts, tokens)
            };
            route.ranks().into_iter().flat_map(of_source).chain([route.expert_rows(e)]).collect::<Vec<_>>()
        };
        route.experts_of(rank).flat_map(of_expert).map(word).collect()
    };
    chunks.routes().iter().flat_map(of_chunk).collect()
}

/// A word per slot of the rank: negative if the slot is empty, otherwise 0. `None` if no slot is empty.
pub(crate) fn ids(route: &Route, rank: Rank) -> Option<Vec<i32>> {
    let empty = route.empty_slots(rank);
    (!empty.is_empty()).then(|| empty.into_iter().map(|empty| if empty { -1 } else { 0 }).collect())
}

/// A pair in the kernel's form. `before` is the first row of the chunk's memory, and `sent` the number of slots before
/// the chunk in the sender's list.
pub(super) fn pair(pair: Pair, before: usize, sent: usize) -> HpmoePair {
    HpmoePair {
        rows: word(pair.rows),
        at: word(pair.at),
        base: word(before + pair.base),
        order: word(sent + pair.order),
    }
}

/// An expert in the kernel's form, from any of its pairs. `before` is the first row of the chunk's memory.
pub(super) fn expert(pair: Pair, before: usize, rows: usize) -> HpmoeExpert {
    HpmoeExpert { first: word(before + pair.base), rows: word(rows) }
}

/// A row number in the kernel's form.
fn word(rows: usize) -> i32 {
    i32::try_from(rows).expect("a route numbers rows by i32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::ChunkedSchedules;
    use crate::testing::{TABLES, route, sizes};

    #[test]
    fn pairs_lie_by_peer_and_expert() {
        // Rank 0's tokens go to experts 0, 1 | 1, 3; rank 1's to 2, 1.
        let route = route(&[&[0, 1, 1, 3], &[2, 1]], 4);
        let route = RouteChunks::new(&TABLES, &route, &sizes(&TABLES, 2, 4));
        let numbers = |pairs: Vec<HpmoePair>| -> Vec<[i32; 4]> {
            pairs.iter().map(|p| [p.rows, p.at, p.base, p.order]).collect()
        };
        let (zero, one) = (Rank::new(0), Rank::new(1));
        assert_eq!(numbers(sends(&route, zero)), [[1, 0, 0, 0], [2, 0, 1, 1], [0, 0, 0, 3], [1, 0, 1, 3]]);
        assert_eq!(numbers(sends(&route, one)), [[0, 1, 0, 0], [1, 2, 1, 0], [1, 0, 0, 1], [0, 1, 1, 2]]);
        assert_eq!(numbers(arrivals(&route, zero)), [[1, 0, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [1, 2, 1, 0]]);
        let rows: Vec<_> = experts(&route, zero).iter().map(|e| (e.first, e.rows)).collect();
        assert_eq!(rows, [(0, 1), (1, 3)]);
    }

    /// Checks that the parts of a single chunk have the rows that the chunks of launches with more chunks have.
    #[test]
    fn parts_of_a_chunk_are_smaller_chunks() {
        let chosen: Vec<_> = [2, 4].map(|chunks| ChunkedSchedules { chunks, schedules: TABLES.schedules }).into();
        let tables = KernelTables { chosen: chosen.leak(), ..TABLES };
        // Rank 0 has four tokens, one in each part. Rank 1 has two, so two of its parts are empty.
        let route = route(&[&[0, 1, 1, 3, 0, 2, 1, 0], &[2, 1, 0, 1]], 4);
        let of = |chunks: usize| {
            let tables = tables.in_chunks(chunks);
            parts(&tables, &RouteChunks::new(&tables, &route, &sizes(&tables, 2, 20)), Rank::new(0))
        };
        // Expert 0 has rows of rank 0's tokens 0, 2 and 3 and of rank 1's token 1; expert 1 of rank 0's tokens 0, 1 and
        // 3 and of both tokens of rank 1.
        assert_eq!(of(1), [0, 1, 1, 2, 3, 3, 4, 4, 4, 0, 1, 2, 2, 3, 4, 5, 5, 5]);
        assert_eq!(of(2), [0, 1, 1, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 2, 2, 0, 0, 1, 1, 1]);
        assert_eq!(of(4).len(), 4 * 2 * 3);
    }

    #[test]
    fn chunks_lie_in_two_halves() {
        // Three chunks with one token of each rank; rank 1 has none in the last two.
        let route = route(&[&[0, 1, 1, 3, 0, 2], &[2, 1]], 4);
        let tables = KernelTables { chunks: 3, ..TABLES };
        let sizes = sizes(&tables, 2, 10);
        let route = RouteChunks::new(&tables, &route, &sizes);
        let (zero, one) = (Rank::new(0), Rank::new(1));
        assert_eq!([zero, one].map(|rank| route.received(rank)), [3, 1]);
        let rows: Vec<_> = experts(&route, zero).iter().map(|e| (e.first, e.rows)).collect();
        assert_eq!(rows, [(0, 1), (1, 2), (10, 0), (10, 1), (0, 1), (1, 0)]);
        let numbers: Vec<_> = sends(&route, zero).iter().map(|p| (p.rows, p.base, p.order)).collect();
        let to_zero = [(1, 0, 0), (1, 1, 1), (0, 10, 2), (1, 10, 2), (1, 0, 4), (0, 1, 5)];
        let to_one = [(0, 0, 2), (0, 1, 2), (0, 10, 3), (1, 10, 3), (1, 0, 5), (0, 1, 6)];
        assert_eq!(numbers, [to_zero, to_one].concat());
        assert_eq!(order(&route, zero), [0, 1, 0, 1, 0, 1]);
        let from_one: Vec<_> = arrivals(&route, zero)[6..].iter().map(|p| (p.rows, p.at)).collect();
        assert_eq!(from_one, [(0, 1), (1, 1), (0, 0), (0, 1), (0, 1), (0, 0)]);
        assert_eq!(order(&route, one), [1, 0]);
    }
}
