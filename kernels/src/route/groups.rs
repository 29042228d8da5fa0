//! Routes of group-limited routers, which choose the same number of experts from each group.

use super::Route;
use crate::RouteError;
use crate::placement::local_experts;

impl Route {
    /// Declares group-limited routing: the router chooses the same number of experts from each of `GROUPS` groups. It
    /// is used in the statement `let route = Route::of::<EXPERTS>(ep, &ids).in_groups::<GROUPS>();` of a taskflow.
    ///
    /// A group is a range of consecutive experts. A token's first ids name experts of the first group, its next ids
    /// experts of the second group, and so on. This can lower the maximum number of rows that one rank receives for a
    /// token, and a launch then reserves less room. The maximum holds only if each rank has an even share of the experts,
    /// so kernels with spare places for experts, and launches with a placement, are refused.
    ///
    /// ```
    /// use hpmoe_kernels::{PerRank, Ranks, Route, Tensor};
    ///
    /// // Experts 0 to 3 are a group, and so are 4 to 7.
    /// let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[2, 4, 0, 7]), Tensor::from_slice(&[3, 5])]);
    /// let route = Route::of::<8>(Ranks::new(2), &ids).in_groups::<2>();
    /// assert!(Ranks::new(2).into_iter().all(|rank| route.received(rank) == 3));
    /// ```
    ///
    /// # Panics
    ///
    /// If the groups don't divide the experts and the ids of a token evenly, if some physical expert doesn't hold the
    /// logical expert with its own number, or if an id belongs to another group. The message is that of the error that a
    /// launch returns; if several ids are wrong, a launch may name another one of them.
    #[must_use]
    pub fn in_groups<const GROUPS: usize>(self) -> Self {
        match self.grouped(GROUPS) {
            Ok(route) => route,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`in_groups`](Self::in_groups), for a number of groups that is known only at run time.
    ///
    /// # Errors
    ///
    /// If `groups` is 0 or does not divide both the experts and the ids of a token, if the route is not
    /// [plain](Self::is_plain), or if an id belongs to another group.
    pub fn grouped(mut self, groups: usize) -> Result<Self, RouteError> {
        let (experts, top_k) = (self.expert_count(), self.top_k());
        if !self.is_plain() {
            return Err(RouteError::PlacedGroups);
        }
        if groups == 0 || experts % groups != 0 || top_k % groups != 0 {
            return Err(RouteError::Groups { groups, experts, top_k });
        }
        let (group, ids) = (experts / groups, top_k / groups);
        for rank in self.ranks() {
            // The first faulty slot, because a kernel reports that one, too.
            let mut faulty: Option<(usize, usize)> = None;
            for (expert, slots) in self.slots_of_logical(rank) {
                for slot in slots.iter().map(|slot| usize::try_from(*slot).expect("a route lists no negative slot")) {
                    let earlier = faulty.is_none_or(|(first, _)| slot < first);
                    if earlier && slot % top_k / ids != expert.id() / group {
                        faulty = Some((slot, expert.id()));
                    }
                }
            }
            if let Some((slot, id)) = faulty {
                return Err(RouteError::of_another_group(rank, slot, id, (top_k, ids, group)));
            }
        }
        self.group_slots = ids;
        Ok(self)
    }
}

/// The maximum number of experts of one rank that a token can go to. Each rank has its even share of `experts` experts,
/// rounded up, plus `spare` places. If `spare` is 0 and the ranks divide the experts evenly, a token picks the same
/// number of experts from each of `groups` groups, which can lower the maximum; otherwise, `groups` is ignored.
#[doc(hidden)]
#[must_use]
pub fn most_of_a_token((experts, spare): (usize, usize), top_k: usize, groups: usize, ranks: usize) -> usize {
    if groups == 1 || spare > 0 || experts % ranks != 0 {
        return top_k.min(experts).min(local_experts(experts, spare, ranks));
    }
    let (local, group, ids) = (experts / ranks, experts / groups, top_k / groups);
    // Number of experts that belong to both a rank and a group.
    let shared = |rank: usize, number: usize| {
        let (first, end) = (rank * local, (rank + 1) * local);
        end.min((number + 1) * group).saturating_sub(first.max(number * group))
    };
    let of_rank = |rank: usize| (0..groups).map(|number| shared(rank, number).min(ids)).sum();
    (0..ranks).map(of_rank).max().unwrap_or(0)
}

impl RouteError {
    /// The error for an id outside its slot's group. `sizes` are the ids per token, the ids per group, and the experts per
    /// group.
    #[doc(hidden)]
    #[must_use]
    pub fn of_another_group(rank: crate::Rank, slot: usize, id: usize, sizes: (usize, usize, usize)) -> Self {
        let (top_k, ids, group) = sizes;
        let (token, k) = (slot / top_k, slot % top_k);
        let first = k / ids * group;
        Self::Group { rank, token, k, id, first, last: first + group - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PerRank, Rank, Ranks, Tensor};

    fn route(ids: &[i32]) -> Route {
        let ids = PerRank::from_vec(vec![Tensor::<i32, 4>::zeros(0), Tensor::from_slice(ids)]);
        Route::of::<8>(Ranks::new(2), &ids)
    }

    #[test]
    fn ids_are_those_of_their_groups() {
        assert!(route(&[1, 0, 7, 4, 2, 3, 5, 6]).grouped(2).is_ok());
        assert!(route(&[1, 3, 4, 6]).grouped(4).is_ok());
        // Ids of padding, and a token with fewer experts.
        assert!(route(&[-1, -1, -1, -1, 2, -1, 5, 6]).grouped(2).is_ok());
        let error = route(&[1, 0, 7, 4, 2, 5, 4, 3]).grouped(2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "topk_ids of rank 1, row 1, column 1 is 5, but this column is for a group whose experts are 0 to 3: check the router"
        );
        assert!(matches!(error, RouteError::Group { rank, .. } if rank == Rank::new(1)));
    }

    #[test]
    fn a_rank_has_no_more_rows_than_its_groups() {
        assert_eq!(most_of_a_token((64, 0), 8, 8, 8), 1);
        assert_eq!(most_of_a_token((64, 0), 8, 8, 4), 2);
        // Two ranks share each group.
        assert_eq!(most_of_a_token((64, 0), 8, 4, 8), 2);
        assert_eq!(most_of_a_token((8, 0), 8, 4, 8), 1);
        // Experts of three ranks in two groups: the middle one has some of both.
        assert_eq!(most_of_a_token((6, 0), 4, 2, 3), 2);
        assert_eq!(most_of_a_token((64, 0), 8, 1, 8), 8);
        assert_eq!(most_of_a_token((8, 0), 3, 1, 8), 1);
        // Ten experts on four ranks, without and with places for copies; a rank has at most as many experts as the
        // group.
        assert_eq!(most_of_a_token((10, 0), 8, 1, 4), 3);
        assert_eq!(most_of_a_token((10, 2), 8, 1, 4), 5);
        assert_eq!(most_of_a_token((2, 3), 2, 1, 1), 2);
    }

    #[test]
    fn groups_are_equally_large() {
        let error = route(&[1, 0, 7, 4]).grouped(3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "8 experts and 4 ids per token can't be divided evenly among 3 groups: use a number of groups that divides both"
        );
        assert!(matches!(route(&[]).grouped(0), Err(RouteError::Groups { groups: 0, .. })));
    }
}
