//! Numbers of chunks, numbers of tokens in a chunk, and the parts of a chunk.

use std::iter;

/// The division of tokens into chunks if launches choose the number of chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChosenChunks {
    /// The kernel's largest number of chunks. The tokens of each rank are divided into this many parts of
    /// `⌈tokens / at_most⌉` tokens; the last parts may have fewer tokens, or none.
    pub at_most: usize,
    /// Number of parts of each rank's tokens for which the copies of an expert share rows separately. The rows that a copy
    /// gets in a chunk are the sum over the parts of that chunk. A kernel that makes its route counts rows in this number
    /// of chunks.
    pub shared: usize,
}

/// Number of tokens per chunk, for a rank with `tokens` tokens; the last chunks of a rank may have fewer, or none. If
/// launches choose the number of chunks (`at_most` is not `None`), the tokens of every rank are divided into `at_most`
/// parts, and each chunk consists of `at_most / chunks` whole parts. For any two powers of two, the larger chunks then
/// consist of whole smaller ones.
///
/// ```
/// use hpmoe_kernels::route::chunk_tokens;
///
/// assert_eq!([1, 2, 4, 8].map(|chunks| chunk_tokens(9, chunks, None)), [9, 5, 3, 2]);
/// assert_eq!([1, 2, 4, 8].map(|chunks| chunk_tokens(9, chunks, Some(8))), [9, 8, 4, 2]);
/// ```
#[must_use]
pub fn chunk_tokens(tokens: usize, chunks: usize, at_most: Option<usize>) -> usize {
    match at_most {
        None => tokens.div_ceil(chunks),
        Some(most) => tokens.div_ceil(most).saturating_mul(most / chunks).min(tokens),
    }
}

/// The numbers of chunks that a launch may have, ascending: only `chunks` if `at_most` is `None`, otherwise the powers of two
/// up to `at_most`, from which launches choose.
pub fn chunk_counts(chunks: usize, at_most: Option<usize>) -> impl Iterator<Item = usize> + use<> {
    let chosen = at_most
        .into_iter()
        .flat_map(|most| iter::successors(Some(1), |count| Some(count * 2)).take_while(move |count| *count <= most));
    at_most.is_none().then_some(chunks).into_iter().chain(chosen)
}

/// Chooses the number of chunks of a launch: the first of `counts` for which every rank has room for its rows of every
/// chunk, `capacity` rows; `None` if no count has room. For a number of chunks, `fullest` returns the largest number of
/// rows that any rank receives in any chunk.
///
/// ```
/// use hpmoe_kernels::route::choose_chunks;
///
/// let fullest = |chunks| 16 / chunks;
/// assert_eq!([16, 12, 8, 2, 1].map(|room| choose_chunks([1, 2, 4, 8], room, fullest)), [Some(1), Some(2), Some(2), Some(8), None]);
/// ```
pub fn choose_chunks(
    counts: impl IntoIterator<Item = usize>,
    capacity: usize,
    fullest: impl Fn(usize) -> usize,
) -> Option<usize> {
    counts.into_iter().find(|&count| fullest(count) <= capacity)
}

/// Number of parts of each chunk. If launches choose the number of chunks (`at_most` is not `None`), a sum over rows adds up
/// one part after another, so that its bits don't depend on the number of chunks. If the number of chunks is constant, a
/// chunk is one part.
///
/// ```
/// use hpmoe_kernels::route::chunk_parts;
///
/// assert_eq!([1, 2, 4, 8].map(|chunks| chunk_parts(chunks, Some(8))), [8, 4, 2, 1]);
/// assert_eq!(chunk_parts(3, None), 1);
/// ```
#[must_use]
pub fn chunk_parts(chunks: usize, at_most: Option<usize>) -> usize {
    at_most.map_or(1, |most| most / chunks)
}
