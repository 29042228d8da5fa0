//! The binary form of a placement for kernels that make their route.

use super::{Place, Placement, Places};
use crate::abi::{HPMOE_DIGESTS, HpmoePlacementHead};

/// Bytes of a word.
const WORD: usize = size_of::<u32>();
/// Words of the head, and of a line of each list after it.
const LINE: usize = size_of::<HpmoePlacementHead>() / WORD;

impl Places {
    /// The digest that identifies the placement to ranks and kept routes: 0 for the default placement.
    pub(crate) fn word(&self) -> u32 {
        if self.is_plain() { 0 } else { 1 + (self.digest() % u64::from(HPMOE_DIGESTS - 1)) as u32 }
    }
}

impl Placement {
    /// An `HpmoePlacementHead` and the lists after it, for a kernel with `chunks` chunks.
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

    /// Whether any logical expert has several physical ones.
    #[must_use]
    pub fn has_copies(&self) -> bool {
        self.places.has_copies()
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
