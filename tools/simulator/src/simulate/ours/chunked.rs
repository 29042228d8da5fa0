//! A routing divided into chunks of tokens.

use crate::simulate::Routing;
use hpmoe_core::graph::{Sizes, TaskGraph};
use hpmoe_core::schedule::Schedule;
use hpmoe_core::validate::default_rows;
use hpmoe_kernels::route::{choose_chunks, chunk_tokens};
use std::borrow::Cow;
use std::ops::Range;

/// The number of chunks that launches of a routing choose: the smallest number for which no rank receives more than `capacity` rows of a
/// chunk.
///
/// # Errors
///
/// If no number of chunks fits: the maximum number of rows of a chunk that a rank receives with the largest number of chunks.
pub fn chosen_chunks(sizes: &Sizes, routing: &Routing, capacity: usize) -> Result<usize, usize> {
    let fullest = |chunks| {
        let chunked = Chunked::new(&Sizes { chunks, ..*sizes }, routing);
        let received = |experts: Range<u32>| -> usize {
            let rows = |expert| (0..routing.ranks()).map(move |source| (source, expert));
            experts.flat_map(rows).map(|(source, expert)| chunked.rows(routing, source, expert) as usize).sum()
        };
        let of_chunk = |at: u32| received(at * chunked.own..(at + 1) * chunked.own);
        (0..routing.ranks() * chunked.count).map(of_chunk).max().unwrap_or(0)
    };
    let most = sizes.chunk_counts().last().unwrap_or(1);
    choose_chunks(sizes.chunk_counts(), capacity, fullest).ok_or_else(|| fullest(most))
}

/// The number of chunks in a launch of a routing, in a group with the default capacity: the constant of the kernel, or the number that
/// launches choose.
///
/// # Errors
///
/// If launches choose the number of chunks and none fits: the maximum number of rows of a chunk that a rank receives with the largest
/// number of chunks.
pub fn default_chunks(graph: &TaskGraph, routing: &Routing) -> Result<usize, usize> {
    match graph.sizes.chunks_at_most {
        None => Ok(graph.sizes.chunks),
        Some(_) => chosen_chunks(&graph.sizes, routing, default_rows(graph, routing.ranks()) as usize),
    }
}

/// The schedule for launches with `chunks` chunks, if launches choose the number; `schedule` itself if it has none for that number.
#[must_use]
pub fn schedule_in_chunks(schedule: &Schedule, chunks: usize) -> Cow<'_, Schedule> {
    let chosen = schedule.in_chunks().find(|(count, _)| *count == chunks);
    chosen.map_or(Cow::Borrowed(schedule), |(_, schedule)| Cow::Owned(schedule))
}

/// The numbers of rows and tokens of each chunk. Expert chunks are numbered as in the tables: by owner, chunk, local expert.
#[derive(Clone, Debug)]
pub(super) struct Chunked {
    pub(super) count: u32,
    /// Maximum number of chunks, if launches choose the number; `None` if it is a constant.
    at_most: Option<usize>,
    /// Number of local experts of each rank.
    own: u32,
    /// Number of rows by source and expert chunk; empty if there is only one chunk.
    rows: Vec<Vec<u32>>,
}

impl Chunked {
    pub(super) fn new(sizes: &Sizes, routing: &Routing) -> Self {
        let (count, at_most) = (sizes.chunks as u32, sizes.chunks_at_most);
        let mut chunked = Self { count, at_most, own: routing.local_experts(), rows: Vec::new() };
        if count > 1 {
            let rows = |source| chunked.tokens_of_rows(routing, source).iter().map(|rows| rows.len() as u32).collect();
            chunked.rows = (0..routing.ranks()).map(rows).collect();
        }
        chunked
    }

    /// Number of rows from a source to an expert chunk.
    pub(super) fn rows(&self, routing: &Routing, source: u32, expert: u32) -> u32 {
        match self.rows.get(source as usize) {
            None => routing.rows(source, expert),
            Some(rows) => rows[expert as usize],
        }
    }

    /// The tokens of a rank that belong to a chunk.
    pub(super) fn tokens(&self, routing: &Routing, rank: u32, chunk: u32) -> Range<u32> {
        let all = routing.tokens(rank);
        let most = chunk_tokens(all as usize, self.count as usize, self.at_most) as u32;
        all.min(chunk * most)..all.min((chunk + 1) * most)
    }

    /// The tokens of a source's rows, for each expert chunk. They are numbered from the first token of their chunk.
    pub(super) fn tokens_of_rows(&self, routing: &Routing, source: u32) -> Vec<Vec<u32>> {
        let all = routing.tokens_of_rows(source);
        let tokens_of_experts = |(owner, chunk): (u32, u32)| {
            let tokens = self.tokens(routing, source, chunk);
            let experts = &all[(owner * self.own) as usize..((owner + 1) * self.own) as usize];
            let in_chunk = move |rows: &Vec<u32>| {
                rows.iter().filter(|token| tokens.contains(token)).map(|token| token - tokens.start).collect()
            };
            experts.iter().map(in_chunk).collect::<Vec<_>>()
        };
        let pairs = (0..routing.ranks()).flat_map(|owner| (0..self.count).map(move |chunk| (owner, chunk)));
        pairs.flat_map(tokens_of_experts).collect()
    }
}
