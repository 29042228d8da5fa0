//! The binary form of a placement for kernels that make their route.

use super::{Place, Placement, Places};
use crate::abi::{HPMOE_DIGESTS, HpmoePlacementHead};

/// Number of bytes of a word.
const WORD: usize = size_of::<u32>();
/// Number of words of the head. Each list after it is padded to a multiple of this number.
const LINE: usize = size_of::<HpmoePlacementHead>() / WORD;

impl Places {
    /// The digest that identifies the placement to ranks and kept routes: 0 for the default placement.
    pub(crate) fn word(&self) -> u32 {
        if self.is_plain() { 0 } else { short(self.digest()) }
    }
}

/// Maps a digest to the numbers of placements that are not the default one: 1 to `HPMOE_DIGESTS - 1`.
fn short(digest: u64) -> u32 {
    1 + (digest % u64::from(HPMOE_DIGESTS - 1)) as u32
}

impl Placement {
    /// The placement in binary form: an `HpmoePlacementHead`, then its lists, for a kernel with `chunks` chunks.
    #[doc(hidden)]
    #[must_use]
    pub fn device_words(&self, chunks: usize) -> Vec<u32> {
        let columns = self.columns();
        let (places, count) = (&self.places.of, columns.len());
        let length = (chunks * places.len() + 1).next_multiple_of(LINE);
        let filled = |mut list: Vec<usize>| {
            list.resize(length, 0);
            list.into_iter().map(|word| word as u32).collect::<Vec<_>>()
        };
        // An empty place has the column without rows, which is the first one.
        let mut column_of = vec![0; places.len()];
        for (column, (_, place)) in columns.iter().enumerate() {
            if let Some(place) = place {
                column_of[*place] = column;
            }
        }
        let counts = (0..chunks).flat_map(|chunk| column_of.iter().map(move |column| (chunk * count + column) * WORD));
        let cuts = columns.iter().map(|(_, place)| place.map_or(0..0, |place| places[place].cut.range()));
        let (begins, ends) = cuts.map(|cut| (cut.start as usize, cut.end as usize)).unzip();
        let first = |expert: usize| columns.partition_point(|(of, _)| *of < expert);
        let mut head = vec![0; LINE];
        (head[0], head[1]) = (self.places.word(), count as u32);
        [
            head,
            filled(counts.collect()),
            filled(columns.iter().map(|(expert, _)| expert * WORD).collect()),
            filled(begins),
            filled(ends),
            filled((0..=self.experts()).map(first).collect()),
        ]
        .concat()
    }

    /// The columns of the counts that ranks exchange in a chunk: (logical expert, its place) for each place that holds
    /// an expert. If there are empty places, one more column stands for all of them: (0, `None`).
    #[doc(hidden)]
    #[must_use]
    pub fn columns(&self) -> Vec<(usize, Option<usize>)> {
        let held = |(place, held): (usize, &Place)| Some((held.expert?.id(), Some(place)));
        let mut columns: Vec<_> = self.places.of.iter().enumerate().filter_map(held).collect();
        if columns.len() < self.places.of.len() {
            columns.push((0, None));
        }
        columns.sort_unstable();
        columns
    }

    /// Runs `f` with this placement in force on this thread: routes that taskflows make themselves (`Route::of`) then
    /// use it. Launches use the placement of their group instead.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Placement, Ranks, Route, Tensor};
    ///
    /// let placement = Placement::new(Ranks::new(2), 2, &[Some(0), Some(1), Some(0), None])?;
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 1>::from_slice(&[0, 1]), Tensor::zeros(0)]);
    /// let route = placement.scope(|| Route::of::<2>(Ranks::new(2), &ids));
    /// assert_eq!(route, Route::placed(&placement, &ids)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        super::scope::with(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ranks;

    fn placement(ranks: usize, experts: usize, places: &[Option<usize>]) -> Placement {
        Placement::new(Ranks::new(ranks), experts, places).unwrap()
    }

    /// The words as a list that is padded with zeros to whole lines.
    fn lines(words: &[u32]) -> Vec<u32> {
        let mut words = words.to_vec();
        words.resize(words.len().next_multiple_of(16), 0);
        words
    }

    #[test]
    fn words_are_those_that_the_abi_lists() {
        // Rank 0 holds experts 2 and 0 and has an empty place; rank 1 holds experts 1, 2 and 0.
        let places = [Some(2), Some(0), None, Some(1), Some(2), Some(0)];
        let placement = placement(2, 3, &places).with_shares(&[1, 1, 9, 5, 1, 3]).unwrap();
        assert_eq!(
            placement.columns(),
            [(0, None), (0, Some(1)), (0, Some(5)), (1, Some(3)), (2, Some(0)), (2, Some(4))]
        );
        let words = [
            lines(&[placement.places().word(), 6]),
            lines(&[16, 4, 0, 12, 20, 8, 40, 28, 24, 36, 44, 32]),
            lines(&[0, 0, 0, 4, 8, 8]),
            lines(&[0, 0, 1024, 0, 0, 2048]),
            lines(&[0, 1024, 4096, 4096, 2048, 4096]),
            lines(&[0, 3, 4, 6]),
        ];
        assert_eq!(placement.device_words(2), words.concat());
    }

    #[test]
    fn columns_are_only_those_of_experts_if_no_place_is_empty() {
        let full = placement(2, 2, &[Some(1), Some(0)]);
        assert_eq!(full.columns(), [(0, Some(1)), (1, Some(0))]);
        let head = [full.places().word(), 2];
        let words = [&head, &[4, 0], &[0, 4], &[0, 0], &[4096; 2], &[0, 1, 2][..]].map(lines);
        assert_eq!(full.device_words(1), words.concat());
    }

    #[test]
    fn a_list_has_a_word_more_than_chunks_have_places_and_is_filled_up_to_a_line() {
        for (experts, chunks, lines) in [(15, 1, 1), (16, 1, 2), (5, 3, 1), (4, 4, 2), (31, 1, 2), (1, 32, 3)] {
            let even = Placement::even(Ranks::new(1), experts, 0).unwrap();
            assert_eq!(even.device_words(chunks).len(), 16 + 5 * 16 * lines, "{experts} experts, {chunks} chunks");
        }
    }

    #[test]
    fn the_word_is_zero_only_if_experts_lie_as_without_a_placement() {
        let word = |ranks, experts, places: &[Option<usize>]| placement(ranks, experts, places).places().word();
        assert_eq!(Placement::even(Ranks::new(2), 4, 0).unwrap().places().word(), 0);
        for (experts, places) in [
            (4, [0, 1, 3, 2].map(Some)),
            (4, [1, 0, 2, 3].map(Some)),
            (2, [Some(0), Some(1), Some(0), Some(1)]),
            (2, [Some(0), Some(1), None, None]),
            (3, [None, Some(0), Some(1), Some(2)]),
        ] {
            assert_ne!(word(2, experts, &places), 0, "{places:?}");
        }
        assert_ne!(word(2, 4, &[0, 1, 3, 2].map(Some)), word(2, 4, &[1, 0, 2, 3].map(Some)));
    }

    #[test]
    fn a_short_digest_is_neither_zero_nor_too_large_for_the_device() {
        let last = u64::from(HPMOE_DIGESTS) - 1;
        assert_eq!([0, 1, last - 1, last, last + 1].map(short), [1, 2, HPMOE_DIGESTS - 1, 1, 2]);
    }

    #[test]
    fn copies_are_places_with_the_same_expert() {
        let has_copies = |places: &[Option<usize>]| placement(2, 2, places).places().has_copies();
        assert!(!has_copies(&[Some(1), Some(0)]));
        assert!(!has_copies(&[Some(0), None, Some(1), None]));
        assert!(has_copies(&[Some(0), Some(1), None, Some(0)]));
    }
}
