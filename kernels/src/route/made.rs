//! Routes that a taskflow makes of ids.

use super::Route;
use crate::{PerRank, Ranks, Tensor};

/// Ids of experts, as many for each token: `Tensor<i32, K>`.
pub trait TokenIds {
    /// Ids of each token.
    const TOP_K: usize;

    /// The ids of all tokens, one token after the other.
    fn token_ids(&self) -> Vec<i32>;
}

impl<const K: usize> TokenIds for Tensor<i32, K> {
    const TOP_K: usize = K;

    fn token_ids(&self) -> Vec<i32> {
        self.to_vec()
    }
}

impl Route {
    /// The route of a taskflow that makes it itself, by the statement `let route = Route::of::<EXPERTS>(ep, &ids);`: its kernel
    /// makes the route's tables on the vector cores, from ids in device memory, which the caller or tasks before the statement have written.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Ranks, Route, Tensor};
    ///
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, 3, 1]), Tensor::zeros(0)]);
    /// assert_eq!(Route::of::<4>(Ranks::new(2), &ids), Route::new(Ranks::new(2), 4, &ids)?);
    /// # Ok::<(), hpmoe_kernels::RouteError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where [`new`](Self::new) returns an error, with its text. A launch of the taskflow returns the same error.
    #[must_use]
    pub fn of<const EXPERTS: usize>(ep: Ranks, ids: &PerRank<impl TokenIds>) -> Self {
        fn top_k<X: TokenIds>(_: &PerRank<X>) -> usize {
            X::TOP_K
        }
        match Self::from_ids(ep, EXPERTS, top_k(ids), &ids.map(TokenIds::token_ids)) {
            Ok(route) => route,
            Err(error) => panic!("{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "topk_ids of rank 0, row 1, column 0 is 4, but experts are numbered from 0 to 3")]
    fn a_faulty_id_panics_as_a_launch_fails() {
        let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, 4, 1])]);
        let _ = Route::of::<4>(Ranks::new(1), &ids);
    }
}
