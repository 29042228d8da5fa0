//! Moving averages of loads.

use crate::placement::PlacementError;

/// Base-2 logarithm of the number of parts of a row in which averages are kept.
const PARTS_LOG2: u32 = 16;
const THOUSAND: u128 = 1000;

/// A moving average of the number of rows that each logical expert of a layer has in a launch. By default, each launch
/// replaces a tenth of the average by the launch's own counts.
///
/// Averages are integers, in units of 1/65536 row. Ranks that add the same counts therefore have the same average, and
/// find the same placement.
///
/// ```
/// use hpmoe_kernels::{LoadAverage, Placement, Ranks};
///
/// let placement = Placement::even(Ranks::new(2), 4, 1)?;
/// let mut average = LoadAverage::new(4);
/// average.add(&[100, 100, 100, 100])?;
/// average.add(&[400, 0, 100, 100])?;
/// assert_eq!(average.loads(1), [130, 90, 100, 100]);
/// // The next 50 launches are expected to have 50 times that.
/// let next = placement.rebalanced(&average.loads(50), 2)?;
/// # assert!(next.moves(&placement)?.len() <= 2);
/// # Ok::<(), hpmoe_kernels::PlacementError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadAverage {
    /// The average of each expert, in parts of a row.
    parts: Vec<u128>,
    /// Thousandths of the old average that a launch keeps.
    factor: u32,
    is_empty: bool,
}

impl LoadAverage {
    /// An empty average, to which no launch has been added. Each launch keeps 9/10 of the old average.
    #[must_use]
    pub fn new(experts: usize) -> Self {
        Self { parts: vec![0; experts], factor: 900, is_empty: true }
    }

    /// An empty average, to which no launch has been added. Each launch keeps `thousandths` / 1000 of the old average;
    /// with 0, only the last launch counts.
    ///
    /// # Errors
    ///
    /// If `thousandths` is more than 999, because the average would never change.
    pub fn with_factor(experts: usize, thousandths: u32) -> Result<Self, PlacementError> {
        match thousandths {
            0..=999 => Ok(Self { factor: thousandths, ..Self::new(experts) }),
            _ => Err(PlacementError::Factor { thousandths }),
        }
    }

    /// Adds a launch: the number of rows of each logical expert, summed over all ranks. The first launch replaces the empty average.
    ///
    /// # Errors
    ///
    /// If the number of counts is not the number of experts.
    pub fn add(&mut self, rows: &[u64]) -> Result<(), PlacementError> {
        if rows.len() != self.parts.len() {
            return Err(PlacementError::Loads { loads: rows.len(), experts: self.parts.len() });
        }
        let factor = if self.is_empty { 0 } else { u128::from(self.factor) };
        for (parts, rows) in self.parts.iter_mut().zip(rows) {
            let new = u128::from(*rows) << PARTS_LOG2;
            *parts = (*parts * factor + new * (THOUSAND - factor) + THOUSAND / 2) / THOUSAND;
        }
        self.is_empty = false;
        Ok(())
    }

    /// Expected number of rows of each expert in the next `launches` launches together: `launches` times the average,
    /// rounded; 0 for an empty average. More launches lose less to rounding: pass the number of launches until the next
    /// placement.
    #[must_use]
    pub fn loads(&self, launches: u64) -> Vec<u64> {
        let half = 1 << (PARTS_LOG2 - 1);
        let rows = |parts: &u128| (parts.saturating_mul(launches.into()).saturating_add(half)) >> PARTS_LOG2;
        self.parts.iter().map(|parts| u64::try_from(rows(parts)).unwrap_or(u64::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_replaces_a_tenth() {
        let mut average = LoadAverage::new(2);
        assert_eq!(average.loads(9), [0, 0]);
        average.add(&[1000, 0]).unwrap();
        assert_eq!(average.loads(1), [1000, 0]);
        average.add(&[0, 1]).unwrap();
        // A tenth of a row is no row in one launch, and one in ten.
        assert_eq!((average.loads(1), average.loads(10)), (vec![900, 0], vec![9000, 1]));
        (0..200).for_each(|_| average.add(&[7, 3]).unwrap());
        assert_eq!(average.loads(1), [7, 3]);
    }

    #[test]
    fn averages_and_loads_are_rounded_to_the_nearest() {
        let parts = |factor: u32, rows: [u64; 2]| {
            let mut average = LoadAverage::with_factor(1, factor).unwrap();
            rows.iter().for_each(|rows| average.add(&[*rows]).unwrap());
            average.parts[0]
        };
        // 65,536 parts, of which 0.999 are left: 65,470.464; and a thousandth of it: 65.536.
        assert_eq!((parts(999, [1, 0]), parts(999, [0, 1])), (65_470, 66));
        // Half a row is rounded up, and a little less than half down.
        let half = |parts: u128| LoadAverage { parts: vec![parts], ..LoadAverage::new(1) }.loads(1);
        assert_eq!((half(32_767), half(32_768)), (vec![0], vec![1]));
    }

    #[test]
    fn any_factor_below_one_and_any_rows_will_do() {
        let mut last = LoadAverage::with_factor(1, 0).unwrap();
        last.add(&[u64::MAX]).unwrap();
        assert_eq!((last.loads(1), last.loads(2)), (vec![u64::MAX], vec![u64::MAX]));
        last.add(&[5]).unwrap();
        assert_eq!(last.loads(1), [5]);
        let mut slow = LoadAverage::with_factor(1, 999).unwrap();
        [u64::MAX, u64::MAX].iter().for_each(|rows| slow.add(&[*rows]).unwrap());
        assert_eq!(slow.loads(1), [u64::MAX]);
        assert!(LoadAverage::with_factor(1, 1000).unwrap_err().to_string().contains("1000"));
        assert_eq!(slow.add(&[1, 2]), Err(PlacementError::Loads { loads: 2, experts: 1 }));
    }
}
