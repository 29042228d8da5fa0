//! The checks that every placement passes.

use super::shares::{Cut, WHOLE};
use super::{LogicalExpert, Place, PlacementError, Places};

impl Places {
    pub(super) fn new(
        ranks: usize,
        experts: usize,
        physical_to_logical: &[Option<usize>],
    ) -> Result<Self, PlacementError> {
        if ranks == 0 || experts == 0 {
            return Err(PlacementError::Nothing { ranks, experts });
        }
        let count = physical_to_logical.len();
        if count == 0 || count % ranks != 0 {
            return Err(PlacementError::Uneven { places: count, ranks });
        }
        let local = count / ranks;
        // Of each logical expert, the physical one seen last.
        let mut last: Vec<Option<usize>> = vec![None; experts];
        for (physical, &expert) in physical_to_logical.iter().enumerate() {
            let Some(expert) = expert else { continue };
            let Some(before) = last.get_mut(expert) else {
                return Err(PlacementError::Unknown { physical, expert, experts });
            };
            match before.replace(physical) {
                Some(first) if first / local == physical / local => {
                    return Err(PlacementError::Twice { rank: physical / local, expert, first, second: physical });
                }
                _ => {}
            }
        }
        if let Some(expert) = last.iter().position(Option::is_none) {
            return Err(PlacementError::Missing { expert });
        }
        let place = |expert: &Option<usize>| Place { expert: expert.map(LogicalExpert), cut: Cut::of(false) };
        let places = Self { experts, local, of: physical_to_logical.iter().map(place).collect() };
        places.with_shares(&vec![1; count])
    }

    pub(super) fn with_shares(&self, shares: &[u32]) -> Result<Self, PlacementError> {
        if shares.len() != self.of.len() {
            return Err(PlacementError::Shares { shares: shares.len(), places: self.of.len() });
        }
        let held = || self.of.iter().zip(shares).filter_map(|(place, share)| Some((place.expert?.id(), *share)));
        let mut sums = vec![0_u64; self.experts];
        held().for_each(|(expert, share)| sums[expert] += u64::from(share));
        if let Some(expert) = sums.iter().position(|sum| *sum == 0) {
            return Err(PlacementError::NoShare { expert });
        }
        let mut before = vec![0_u64; self.experts];
        let with_cut = |(place, share): (&Place, &u32)| {
            let Some(expert) = place.expert else { return *place };
            let from = before[expert.id()];
            before[expert.id()] += u64::from(*share);
            // A sum of shares may have any of 64 bits.
            let part = |share: u64| (u128::from(share) * u128::from(WHOLE) / u128::from(sums[expert.id()])) as u32;
            Place { cut: Cut { from: part(from), to: part(before[expert.id()]) }, ..*place }
        };
        Ok(Self { of: self.of.iter().zip(shares).map(with_cut).collect(), ..self.clone() })
    }
}
