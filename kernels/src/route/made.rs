//! Routes that a taskflow makes from ids.

use super::{Route, Routed};
use crate::placement::scope;
use crate::{PerRank, Placement, Ranks, RouteError, Tensor};

/// The sources from which a taskflow can make its route: expert ids, `PerRank<Tensor<i32, K>>`, or a route that a
/// launch has kept, `PerRank<Routed>`.
pub trait RouteSource {
    /// Makes the route for a group with `experts` experts.
    ///
    /// # Errors
    ///
    /// If the ids or the kept route are invalid for these ranks, or the placement in force is for other numbers of ranks or experts.
    fn route(&self, ep: Ranks, experts: usize) -> Result<Route, RouteError>;
}

impl<const K: usize> RouteSource for PerRank<Tensor<i32, K>> {
    fn route(&self, ep: Ranks, experts: usize) -> Result<Route, RouteError> {
        match scope::in_force() {
            None => Route::new(ep, experts, self),
            Some(placement) => {
                fits(ep, experts, &placement)?;
                Route::placed(&placement, self)
            }
        }
    }
}

impl RouteSource for PerRank<Routed> {
    fn route(&self, ep: Ranks, experts: usize) -> Result<Route, RouteError> {
        let placement = scope::in_force();
        placement.iter().try_for_each(|placement| fits(ep, experts, placement))?;
        Route::kept(ep, experts, placement.as_ref(), self)
    }
}

/// Checks that a placement fits the route of a taskflow.
fn fits(ep: Ranks, experts: usize, placement: &Placement) -> Result<(), RouteError> {
    for (what, placed, wanted) in
        [("ranks", placement.ranks().count(), ep.count()), ("experts", placement.experts(), experts)]
    {
        if placed != wanted {
            return Err(RouteError::Placement { what, placed, wanted });
        }
    }
    Ok(())
}

impl Route {
    /// Makes the route of a taskflow, by the statement `let route = Route::of::<EXPERTS>(ep, &ids);`. In a kernel, the
    /// vector cores make the route's tables. They read ids in device memory, written by the caller or by earlier tasks, or a
    /// route that an earlier launch has kept there ([`keep`](Self::keep)).
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
    /// If the ids or the kept route are invalid, with the text of the [`RouteError`]. A launch of the taskflow returns the
    /// error instead.
    #[must_use]
    pub fn of<const EXPERTS: usize>(ep: Ranks, source: &impl RouteSource) -> Self {
        match source.route(ep, EXPERTS) {
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
