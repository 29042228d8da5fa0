//! The rows of an expert before each part of a chunk.

use super::{Expert, Rank, Route};

impl Route {
    /// For each of `parts` parts of `source`'s tokens: the number of rows of `expert` that come before the part's rows, which
    /// are those from lower-numbered ranks and from earlier parts of `source`. Each part has `part_tokens` tokens; the
    /// last parts may have fewer, or none. In a kernel with chunks, `self` must be the route of one chunk.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Rank, Ranks, Route, Tensor};
    ///
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 1>::from_slice(&[0, 0, 1, 0]), Tensor::from_slice(&[0, 1])]);
    /// let route = Route::new(Ranks::new(2), 2, &ids)?;
    /// let expert = route.experts().next().unwrap();
    /// let before = |rank, tokens| route.rows_before_parts(Rank::new(rank), expert, 4, tokens).collect::<Vec<_>>();
    /// assert_eq!((before(0, 1), before(1, 1)), (vec![0, 1, 2, 2], vec![3, 4, 4, 4]));
    /// # Ok::<(), hpmoe_kernels::RouteError>(())
    /// ```
    pub fn rows_before_parts(
        &self,
        source: Rank,
        expert: Expert,
        parts: usize,
        part_tokens: usize,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let pair = self.pair(source, expert);
        let slots = &self.order(source)[pair.order..][..pair.rows];
        let first = self.first_token(source);
        (0..parts).map(move |part| {
            let first_slot = (first + part * part_tokens) * self.top_k();
            // The slots of a pair ascend.
            pair.at + slots.partition_point(|&slot| (slot as usize) < first_slot)
        })
    }
}
