//! The chunks of a launch.

use std::borrow::Cow;
use std::slice;

use hpmoe_kernels::route::{ExpertOrder, choose_chunks, chunk_counts};
use hpmoe_kernels::{Rank, Route};

use super::RankSizes;
use crate::KernelTables;
use crate::abi::CHUNK_BUFFERS;

/// The chunks of a route. They are made once per launch, because making them reads all tokens of all ranks.
pub(crate) struct RouteChunks<'a> {
    whole: &'a Route,
    routes: Cow<'a, [Route]>,
    /// The experts of each rank in the order of its queues, chunk by chunk.
    orders: Vec<Vec<usize>>,
    /// Maximum number of rows that a rank can receive in a chunk.
    capacity: usize,
}

impl<'a> RouteChunks<'a> {
    /// Divides a route into chunks, as the kernel does.
    pub(crate) fn new(tables: &KernelTables, route: &'a Route, sizes: &RankSizes) -> Self {
        let capacity = sizes.capacity;
        let chosen = sizes.chosen_chunks();
        let routes = match tables.chunks {
            1 if chosen.is_none() || !route.has_copies() => Cow::Borrowed(slice::from_ref(route)),
            count => Cow::Owned((0..count).map(|chunk| route.chunk_of(chunk, count, chosen)).collect()),
        };
        let orders = expert_orders(&routes, tables.expert_orders.on(route.ranks().count() as u32));
        Self { whole: route, routes, orders, capacity }
    }

    /// The number of chunks of a launch with this route, if launches choose it: the smallest one for which each rank
    /// has room for its rows of every chunk. If there is none, it is the largest one.
    pub(crate) fn choose(tables: &KernelTables, route: &Route, sizes: &RankSizes) -> usize {
        let chosen = sizes.chosen_chunks();
        let received = |route: &Route| route.ranks().into_iter().map(|rank| route.received(rank)).max().unwrap_or(0);
        let fullest = |count| match count {
            1 if !route.has_copies() => received(route),
            count => (0..count).map(|chunk| received(&route.chunk_of(chunk, count, chosen))).max().unwrap_or(0),
        };
        let counts = || chunk_counts(tables.chunks, sizes.chunks_at_most);
        choose_chunks(counts(), sizes.capacity, fullest).or_else(|| counts().last()).unwrap_or(1)
    }

    /// The route of all chunks together.
    pub(crate) const fn whole(&self) -> &'a Route {
        self.whole
    }

    /// The routes of the chunks, first to last.
    pub(crate) fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The experts of each rank in the order of its queues, chunk by chunk.
    pub(crate) fn orders(&self) -> &[Vec<usize>] {
        &self.orders
    }

    /// Maximum number of rows that a rank receives in a chunk.
    pub(crate) fn received(&self, rank: Rank) -> usize {
        self.routes.iter().map(|route| route.received(rank)).max().unwrap_or(0)
    }

    /// The route of each chunk, after the first row of the memory that the chunk uses.
    pub(super) fn halves(&self) -> impl Iterator<Item = (usize, &Route)> {
        let half = |(chunk, route)| (chunk % CHUNK_BUFFERS * self.capacity, route);
        self.routes.iter().enumerate().map(half)
    }
}

pub(super) fn expert_orders(chunks: &[Route], order: ExpertOrder) -> Vec<Vec<usize>> {
    let of_rank = |rank| {
        let of_chunk = |route: &Route| route.experts_of(rank).map(|e| route.expert_rows(e)).collect::<Vec<_>>();
        let rows: Vec<usize> = chunks.iter().flat_map(of_chunk).collect();
        order.of(&rows, chunks.len())
    };
    chunks[0].ranks().into_iter().map(of_rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::ChunkedSchedules;
    use crate::testing::{TABLES, route, sizes};

    const COUNTS: [usize; 4] = [1, 2, 4, 8];

    /// Number of rows that each rank receives in each chunk, counted id by id.
    fn rows(ids: &[Vec<i32>], chunks: usize) -> Vec<usize> {
        let mut rows = vec![0; ids.len() * chunks];
        for ids in ids {
            let part = (ids.len() / 2).div_ceil(8) * (8 / chunks);
            for (slot, expert) in ids.iter().enumerate() {
                rows[*expert as usize / 2 * chunks + slot / 2 / part] += 1;
            }
        }
        rows
    }

    /// Compares [`RouteChunks::choose`] with a search by hand on `PROPTEST_CASES` random routings.
    #[test]
    fn a_launch_has_the_least_number_of_chunks_that_fits() {
        let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500);
        let chosen = COUNTS[1..].iter().map(|&chunks| ChunkedSchedules { chunks, schedules: TABLES.schedules });
        let tables = KernelTables { chosen: chosen.collect::<Vec<_>>().leak(), ..TABLES };
        let (mut state, mut found) = (1_u64, [0; 5]);
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        for case in 0..cases {
            let ranks = 1 + below(4);
            let favourite = below(2 * ranks);
            let ids_of = |below: &mut dyn FnMut(usize) -> usize| -> Vec<i32> {
                let tokens = below(60);
                let id = |other: usize, often: usize| if often == 0 { favourite } else { other };
                let token = |_| {
                    let first = id(below(2 * ranks), below(3));
                    [first as i32, ((first + 1 + below(2 * ranks - 1)) % (2 * ranks)) as i32]
                };
                (0..tokens).flat_map(token).collect()
            };
            let ids: Vec<Vec<i32>> = (0..ranks).map(|_| ids_of(&mut below)).collect();
            let parts: Vec<&[i32]> = ids.iter().map(Vec::as_slice).collect();
            let route = route(&parts, 2 * ranks);
            let most = rows(&ids, 1).into_iter().max().unwrap();
            let capacity = below(most + 2);
            let fits = |chunks: &usize| rows(&ids, *chunks).into_iter().max().unwrap() <= capacity;
            let least = COUNTS.into_iter().find(fits);
            assert_eq!(
                RouteChunks::choose(&tables, &route, &sizes(&tables, ranks, capacity)),
                least.unwrap_or(8),
                "case {case}"
            );
            found[COUNTS.iter().position(|chunks| Some(*chunks) == least).unwrap_or(4)] += 1;
        }
        assert!(cases < 500 || found.iter().all(|found| *found > cases / 100), "{found:?}");
    }
}
