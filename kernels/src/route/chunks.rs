//! Numbers of chunks, the tokens of a chunk, and its parts.

use std::iter;

/// How tokens are cut into chunks, if launches choose their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChosenChunks {
    /// Largest number of the kernel: each rank has so many parts of equally many tokens.
    pub at_most: usize,
    /// Largest number that a launch of the group needs. Copies of an expert share the rows of each of so many parts, so that a chunk of any number
    /// has the sums of its parts.
    pub needed: usize,
}

/// Number of tokens of each chunk, for a rank with `tokens` tokens; the last chunks of a rank may have fewer. If launches choose the
/// number of chunks, each chunk consists of whole parts, of which every rank has `at_most`. A chunk then consists of whole chunks of any
/// larger number of chunks.
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

/// The numbers of chunks that a launch may have, ascending: `chunks`, or the powers of two up to `at_most` if launches choose.
pub fn chunk_counts(chunks: usize, at_most: Option<usize>) -> impl Iterator<Item = usize> + use<> {
    let chosen = at_most
        .into_iter()
        .flat_map(|most| iter::successors(Some(1), |count| Some(count * 2)).take_while(move |count| *count <= most));
    at_most.is_none().then_some(chunks).into_iter().chain(chosen)
}

/// Chooses the number of chunks of a launch: the first of `counts` with which each rank has room for its rows of every chunk; `None` if
/// there is no such number. `fullest` returns, for a number of chunks, the most rows of a chunk that any rank receives.
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

/// Number of parts of each chunk that are summed up one after another: a sum over rows adds up part by part, so that it doesn't depend on the number
/// of chunks if launches choose it. A chunk of a constant number is one part.
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
