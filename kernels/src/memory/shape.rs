//! The properties of a kernel that determine its memory.

use super::{Grid, RowKind, SpaceTable, Storage};
use crate::op::ElementType;
use crate::route::{COUNT_LINE, chunk_counts, chunk_tokens, most_of_a_token};

/// Sizes of the layer that a kernel is built for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelSizes {
    /// `EXPERTS`: number of logical experts; ids name logical experts.
    pub experts: usize,
    /// `SPARE`: number of places for experts on each rank beyond its even share of the experts, which is rounded up.
    pub spare: usize,
    /// `TOP_K`: number of experts per token.
    pub top_k: usize,
    /// `TOKENS`: maximum number of tokens per rank.
    pub tokens: usize,
    /// Number of chunks that each rank's tokens are divided into, at least 1. If launches choose the number,
    /// [`chunk_tokens`](Self::chunk_tokens) and [`RankSizes`](super::RankSizes) are for launches with this number.
    pub chunks: usize,
    /// Maximum number of chunks, a power of two, if launches choose the number; `None` if the number is a constant.
    pub chunks_at_most: Option<usize>,
    /// Number of expert groups if routing is group-limited (every token picks the same number of experts from each group); 1
    /// otherwise.
    pub groups: usize,
    /// Whether a kernel that makes its route and chooses the number of chunks always counts rows in the largest number of chunks, even if
    /// no launch needs so many. This is so if the kernel keeps its route, takes a kept one, or adds up sums by parts of the tokens.
    pub counts_parts: bool,
}

impl KernelSizes {
    /// Number of places for experts on each of `ranks` ranks, including places that stay empty.
    #[must_use]
    pub const fn local_experts(&self, ranks: usize) -> usize {
        crate::local_experts(self.experts, self.spare, ranks)
    }

    /// Maximum number of tokens of a chunk of one rank.
    #[must_use]
    pub fn chunk_tokens(&self) -> usize {
        chunk_tokens(self.tokens, self.chunks, self.chunks_at_most)
    }

    /// Maximum number of tokens of a chunk of one rank in launches with the fewest chunks.
    pub(super) fn chunk_tokens_of_fewest(&self) -> usize {
        chunk_tokens(self.tokens, self.chunk_counts().next().unwrap_or(1), self.chunks_at_most)
    }

    /// Maximum number of rows that one rank receives for one token.
    pub(super) fn rows_of_a_token(&self, ranks: usize) -> usize {
        most_of_a_token((self.experts, self.spare), self.top_k, self.groups, ranks)
    }

    /// The numbers of chunks that a launch may have, ascending.
    pub fn chunk_counts(&self) -> impl Iterator<Item = usize> + use<> {
        chunk_counts(self.chunks, self.chunks_at_most)
    }
}

/// The properties of a kernel that determine its memory, in addition to the group and the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelShape<'a> {
    /// Sizes of the layer.
    pub sizes: KernelSizes,
    /// Number of cores per rank: matrix and vector cores together.
    pub cores: usize,
    /// Whether cores record time stamps of their tiles.
    pub time_stamps: bool,
    /// Whether the kernel makes its route; ranks then exchange counts.
    pub makes_route: bool,
    /// Tensors; their indices are the tensors' numbers.
    pub tensors: Vec<TensorShape<'a>>,
    /// Iteration spaces; their indices are the spaces' numbers.
    pub spaces: Vec<SpaceTable>,
    /// Arrays of readiness counters; their indices are the arrays' numbers.
    pub counters: Vec<Grid>,
}

/// A tensor of a kernel; it has the same shape on every rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorShape<'a> {
    /// Name in the taskflow.
    pub name: &'a str,
    /// Element type of the tensor.
    pub element: ElementType,
    /// Elements per row.
    pub columns: u32,
    /// Distance between the starts of consecutive rows, in elements; at least `columns`.
    pub pitch: u32,
    /// The kind of the rows.
    pub row_kind: RowKind,
    /// The memory that holds the tensor.
    pub storage: Storage,
    /// Whether the taskflow writes the tensor.
    pub writable: bool,
}

impl TensorShape<'_> {
    /// Distance between the starts of consecutive rows, in bytes.
    #[must_use]
    pub const fn row_bytes(&self) -> usize {
        self.pitch as usize * self.element.bytes()
    }
}

impl KernelShape<'_> {
    /// Whether the kernel sends tokens once to each rank.
    #[must_use]
    pub fn sends_once(&self) -> bool {
        self.tensors.iter().any(|tensor| tensor.row_kind == RowKind::Once)
    }

    /// Distance between the counts of consecutive ranks, in words: a multiple of 128. A rank has one count (two if tokens are sent once)
    /// for each place of the group and each chunk. The number of chunks is the largest that a launch may have.
    #[must_use]
    pub fn count_pitch(&self, ranks: usize) -> usize {
        let parts = if self.sends_once() { 2 } else { 1 };
        let chunks = self.sizes.chunks_at_most.unwrap_or(self.sizes.chunks);
        (ranks * self.sizes.local_experts(ranks) * chunks * parts).next_multiple_of(COUNT_LINE)
    }
}
