//! Routes of groups whose ranks are processes, where each process has only its own ids.

use super::{Route, RouteError, consecutive};
use crate::placement::Places;
use crate::{PerRank, Placement, Rank, Ranks, Tensor};

/// A group that can exchange bytes between its ranks.
pub trait Exchange {
    /// An error of the exchange, or of the route that is made from it.
    type Error: From<RouteError>;

    /// The ranks of the group, including which of them run in this process.
    fn ranks(&self) -> Ranks;

    /// Returns the bytes that each rank passed, rank 0 first. All ranks call this method. If all ranks run in this
    /// process, nothing is exchanged, and the only element of the result is `bytes`.
    ///
    /// # Errors
    ///
    /// If a rank is gone, or does not call this method in time.
    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Self::Error>;
}

impl Route {
    /// Makes a route like [`new`](Self::new), from the ids of this process's ranks and of all other processes of the
    /// group. All ranks call this function. All get the same route; if the ids are invalid or the processes disagree, each
    /// gets an error.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new); also if the processes have different numbers of ids per token, or if the exchange
    /// fails.
    pub fn gather<G: Exchange, const K: usize>(
        group: &G,
        experts: usize,
        ids: &PerRank<Tensor<i32, K>>,
    ) -> Result<Self, G::Error> {
        Self::gather_ids(group, experts, K, &ids.map(Tensor::to_vec))
    }

    /// Like [`gather`](Self::gather), for a `top_k` (number of ids per token) that is known only at run time.
    ///
    /// # Errors
    ///
    /// As for [`gather`](Self::gather), or if a rank's number of ids is not a multiple of `top_k`.
    pub fn gather_ids<G: Exchange>(
        group: &G,
        experts: usize,
        top_k: usize,
        ids: &PerRank<Vec<i32>>,
    ) -> Result<Self, G::Error> {
        gather(group, consecutive(group.ranks(), experts)?, top_k, ids)
    }

    /// Like [`gather`](Self::gather), for experts that lie where a placement says. All ranks pass the same placement.
    ///
    /// # Errors
    ///
    /// As for [`gather`](Self::gather), if the processes have different placements, or if the placement is for another
    /// number of ranks.
    pub fn gather_placed<G: Exchange, const K: usize>(
        group: &G,
        placement: &Placement,
        ids: &PerRank<Tensor<i32, K>>,
    ) -> Result<Self, G::Error> {
        Self::gather_placed_ids(group, placement, K, &ids.map(Tensor::to_vec))
    }

    /// Like [`gather_placed`](Self::gather_placed), for a `top_k` (number of ids per token) that is known only at run
    /// time.
    ///
    /// # Errors
    ///
    /// As for [`gather_placed`](Self::gather_placed), or if a rank's number of ids is not a multiple of `top_k`.
    pub fn gather_placed_ids<G: Exchange>(
        group: &G,
        placement: &Placement,
        top_k: usize,
        ids: &PerRank<Vec<i32>>,
    ) -> Result<Self, G::Error> {
        let (placed, ranks) = (placement.ranks().count(), group.ranks().count());
        if placed != ranks {
            return Err(RouteError::Placement { what: "ranks", placed, wanted: ranks }.into());
        }
        gather(group, placement.places().clone(), top_k, ids)
    }
}

fn gather<G: Exchange>(group: &G, places: Places, top_k: usize, ids: &PerRank<Vec<i32>>) -> Result<Route, G::Error> {
    let ep = group.ranks();
    let Some(rank) = ep.only() else { return Ok(Route::with_places(ep, places, top_k, ids)?) };
    // Sent even if the ids are wrong, so that no other rank waits for them.
    let own: Vec<i32> = ids.iter().flatten().copied().collect();
    let head = Head { top_k, experts: places.experts(), placement: places.digest() };
    let bytes: Vec<u8> = head.bytes().into_iter().chain(own.iter().flat_map(|id| id.to_le_bytes())).collect();
    let all = group.all_gather(&bytes)?;
    if ids.ranks() != ep {
        return Err(RouteError::Ranks { tensors: ids.ranks().count(), ranks: ep.count() }.into());
    }
    let parts: Vec<Vec<i32>> = (0..)
        .map(Rank::new)
        .zip(&all)
        .map(|(from, bytes)| decode(rank, from, &head, bytes))
        .collect::<Result<_, _>>()?;
    Ok(Route::with_places(Ranks::new(ep.count()), places, top_k, &PerRank::from_vec(parts))?)
}

/// The numbers that a rank sends before its ids.
struct Head {
    top_k: usize,
    experts: usize,
    placement: u64,
}

/// Size of a head in bytes: three numbers.
const HEAD: usize = 24;

impl Head {
    fn bytes(&self) -> Vec<u8> {
        [self.top_k as u64, self.experts as u64, self.placement].map(u64::to_le_bytes).concat()
    }
}

/// Reads the ids that `from` sent to `rank`. The head of the message must equal `head`, which `rank` sends itself.
fn decode(rank: Rank, from: Rank, head: &Head, bytes: &[u8]) -> Result<Vec<i32>, RouteError> {
    let (sent_head, ids) = bytes.split_at(bytes.len().min(HEAD));
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("a number has eight bytes"));
    let sent = sent_head.chunks_exact(8).map(number).collect::<Vec<_>>();
    for (name, here, there) in
        [("ids for each token", head.top_k, sent.first()), ("experts", head.experts, sent.get(1))]
    {
        let there = there.map_or(0, |there| *there as usize);
        if there != here {
            return Err(RouteError::Differ { name, rank, here, other: from, there });
        }
    }
    if sent.get(2) != Some(&head.placement) {
        return Err(RouteError::PlacedApart { rank, other: from });
    }
    let ids = ids.chunks_exact(4);
    if !ids.remainder().is_empty() || head.top_k == 0 || ids.len() % head.top_k != 0 {
        return Err(RouteError::Differ {
            name: "bytes of ids",
            rank,
            here: 4 * head.top_k,
            other: from,
            there: bytes.len() - HEAD,
        });
    }
    Ok(ids.map(|id| i32::from_le_bytes(id.try_into().expect("an id has four bytes"))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank of a test, with the bytes that it receives from all ranks.
    struct Member(Ranks, Vec<Vec<u8>>);

    impl Exchange for Member {
        type Error = RouteError;

        fn ranks(&self) -> Ranks {
            self.0
        }

        fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RouteError> {
            let mut all = self.1.clone();
            all[self.0.only().map_or(0, Rank::id)] = bytes.to_vec();
            Ok(all)
        }
    }

    fn sent(k: u64, experts: u64, ids: &[i32]) -> Vec<u8> {
        let placement = Places::even(2, experts as usize, 0).unwrap().digest();
        let head = Head { top_k: k as usize, experts: experts as usize, placement };
        head.bytes().into_iter().chain(ids.iter().flat_map(|id| id.to_le_bytes())).collect()
    }

    #[test]
    fn a_gathered_route_is_that_of_all_ids() {
        let ep = Ranks::joined(Rank::new(1), 2);
        let own = PerRank::from_fn(ep, |_| Tensor::<i32, 2>::from_slice(&[3, 1]));
        let gather = |other| Route::gather(&Member(ep, vec![other, Vec::new()]), 4, &own);
        let whole = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, 2, 1]), Tensor::from_slice(&[3, 1])]);
        assert_eq!(gather(sent(2, 4, &[0, 3, 2, 1])), Route::new(Ranks::new(2), 4, &whole));
        let differ =
            |name, here, there| Err(RouteError::Differ { name, rank: Rank::new(1), here, other: Rank::new(0), there });
        assert_eq!(gather(sent(4, 4, &[0, 3, 2, 1])), differ("ids for each token", 2, 4));
        assert_eq!(gather(sent(2, 8, &[0, 3, 2, 1])), differ("experts", 4, 8));
        assert_eq!(gather(sent(2, 4, &[0, 3, 2])), differ("bytes of ids", 8, 12));
    }

    #[test]
    fn all_ranks_have_one_placement() {
        let (ep, whole) = (Ranks::joined(Rank::new(1), 2), Ranks::new(2));
        let own = PerRank::from_fn(ep, |_| Tensor::<i32, 2>::from_slice(&[3, 1]));
        let swapped = [Some(2), Some(3), Some(0), Some(1)];
        let placement = Placement::new(ep, 4, &swapped).unwrap();
        let gather = |head: u64| {
            let head = Head { top_k: 2, experts: 4, placement: head };
            let bytes = head.bytes().into_iter().chain([0, 3].into_iter().flat_map(i32::to_le_bytes)).collect();
            Route::gather_placed(&Member(ep, vec![bytes, Vec::new()]), &placement, &own)
        };
        let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3]), Tensor::from_slice(&[3, 1])]);
        let placed = Route::placed(&Placement::new(whole, 4, &swapped).unwrap(), &ids);
        assert_eq!(gather(placement.digest()), placed);
        let apart = RouteError::PlacedApart { rank: Rank::new(1), other: Rank::new(0) };
        assert_eq!(gather(placement.digest() ^ 1), Err(apart));
        let shared = placement.with_shares(&[5; 4]).unwrap();
        assert_eq!(gather(shared.digest()), placed, "shares of one physical expert are all of its rows");
        let of_three = Placement::even(Ranks::new(3), 4, 0).unwrap();
        let refused = Route::gather_placed(&Member(ep, Vec::new()), &of_three, &own);
        assert_eq!(refused, Err(RouteError::Placement { what: "ranks", placed: 3, wanted: 2 }));
    }

    #[test]
    fn a_route_needs_the_ids_of_all_ranks() {
        let ep = Ranks::joined(Rank::new(1), 2);
        let own = PerRank::from_fn(ep, |_| Tensor::<i32, 2>::from_slice(&[3, 1]));
        let error = Route::new(ep, 4, &own).unwrap_err();
        assert_eq!(error, RouteError::Elsewhere { rank: Rank::new(1), ranks: 2 });
        assert!(error.to_string().contains("Route::gather(&group, experts, &ids)"), "{error}");
    }
}
