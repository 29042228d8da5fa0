//! The chunks of a launch.

use std::borrow::Cow;
use std::slice;

use hpmoe_kernels::route::ExpertOrder;
use hpmoe_kernels::{Rank, Route};

use crate::KernelTables;
use crate::abi::CHUNK_BUFFERS;

/// The chunks of a route: cut once for a launch, since that takes all tokens of all ranks.
pub(crate) struct RouteChunks<'a> {
    whole: &'a Route,
    routes: Cow<'a, [Route]>,
    /// The experts of each rank in the order of its queues, chunk by chunk.
    orders: Vec<Vec<usize>>,
    /// Rows of a chunk that a rank has room for.
    capacity: usize,
}

impl<'a> RouteChunks<'a> {
    /// Cuts a route as the kernel does.
    pub(crate) fn new(tables: &KernelTables, route: &'a Route, capacity: usize) -> Self {
        let routes = match tables.chunks {
            1 => Cow::Borrowed(slice::from_ref(route)),
            count => Cow::Owned((0..count).map(|chunk| route.chunk(chunk, count)).collect()),
        };
        let orders = expert_orders(&routes, tables.expert_orders.on(route.ranks().count() as u32));
        Self { whole: route, routes, orders, capacity }
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

    /// Most rows of a chunk that a rank receives.
    pub(crate) fn received(&self, rank: Rank) -> usize {
        self.routes.iter().map(|route| route.received(rank)).max().unwrap_or(0)
    }

    /// Each chunk with the row where its memory begins.
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
