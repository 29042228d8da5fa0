//! What every placement promises.

use super::shares::Cut;
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
        let place =
            |expert: &Option<usize>| Place { expert: expert.map(LogicalExpert), cut: Cut::of(expert.is_some()) };
        let places = Self { experts, local, of: physical_to_logical.iter().map(place).collect() };
        places.with_shares(&vec![1; count])
    }
}
