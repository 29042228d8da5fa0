//! Routings over physical experts.

use super::{Routing, RoutingError};
use hpmoe_kernels::{LogicalExpert, Placement, Rank};

impl Routing {
    /// Converts this routing of logical experts to physical experts by a placement. The result has the same rows as a route with the
    /// same placement.
    ///
    /// # Errors
    ///
    /// If the placement is for another number of ranks or experts.
    pub fn placed(&self, placement: &Placement) -> Result<Self, RoutingError> {
        let (ranks, experts) = (placement.ranks().count(), placement.experts());
        if (ranks, experts) != (self.ranks() as usize, self.experts as usize) {
            let routing = (self.ranks() as usize, self.experts as usize);
            return Err(RoutingError::Placement { placement: (ranks, experts), routing });
        }
        let held: Vec<Option<LogicalExpert>> =
            (0..placement.local_experts() * ranks).map(|physical| placement.expert(physical)).collect();
        let part = |source: u32, physical: usize| {
            let expert = held[physical]?;
            let rows = self.rows(source, expert.id() as u32) as usize;
            Some((expert, placement.rows(Rank::new(source as usize), physical, rows)))
        };
        let rows = (0..self.ranks())
            .flat_map(|source| (0..held.len()).map(move |physical| (source, physical)))
            .map(|(source, physical)| part(source, physical).map_or(0, |(_, rows)| rows.len() as u32));
        let tokens_of = |(source, of_source): (u32, &Vec<Vec<u32>>)| -> Vec<Vec<u32>> {
            let of_part = |physical| {
                part(source, physical).map_or_else(Vec::new, |(expert, rows)| of_source[expert.id()][rows].to_vec())
            };
            (0..held.len()).map(of_part).collect()
        };
        let tokens = (0..).zip(&self.tokens).map(tokens_of).collect();
        let logical = Some(self.experts);
        Ok(Self { experts: held.len() as u32, top_k: self.top_k, rows: rows.collect(), tokens, logical })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::RoutingSizes;
    use hpmoe_kernels::{PerRank, Ranks, Route};

    #[test]
    fn a_placed_routing_has_the_rows_of_a_placed_route() {
        let ids: Vec<Vec<Vec<u32>>> = vec![vec![vec![0, 3], vec![3, 4], vec![3, 1], vec![2, 3]], vec![vec![3, 0]; 5]];
        let logical = Routing::from_top_k(&ids, 5).unwrap();
        let places = [Some(3), Some(0), Some(1), None, Some(2), Some(3), Some(4), Some(0)];
        let placement =
            Placement::new(Ranks::new(2), 5, &places).unwrap().with_shares(&[3, 1, 1, 1, 1, 1, 1, 2]).unwrap();
        let physical = logical.placed(&placement).unwrap();
        let flat = |of_rank: &Vec<Vec<u32>>| of_rank.iter().flatten().map(|id| *id as i32).collect();
        let route = Route::from_placed_ids(&placement, 2, &PerRank::from_vec(ids.iter().map(flat).collect())).unwrap();
        for source in 0..2_u32 {
            for (expert, tokens) in route.experts().zip(&physical.tokens_of_rows(source)) {
                let pair = route.pair(Rank::new(source as usize), expert);
                assert_eq!(physical.rows(source, expert.id() as u32) as usize, pair.rows);
                let slots = &route.order(Rank::new(source as usize))[pair.order..][..pair.rows];
                assert_eq!(tokens, &slots.iter().map(|slot| *slot as u32 / 2).collect::<Vec<_>>());
            }
        }
        assert_eq!((physical.tokens(0), physical.tokens(1), physical.local_experts()), (4, 5, 4));
    }

    #[test]
    fn placements_of_other_groups_are_refused() {
        let routing = Routing::balanced(RoutingSizes { ranks: 2, experts: 4, top_k: 2, tokens: 8 });
        let of = |ranks, experts| routing.placed(&Placement::even(Ranks::new(ranks), experts, 1).unwrap());
        assert!(of(2, 4).is_ok());
        assert_eq!(of(4, 4), Err(RoutingError::Placement { placement: (4, 4), routing: (2, 4) }));
        assert!(of(2, 5).unwrap_err().to_string().contains("5 experts on 2 ranks"));
    }
}
