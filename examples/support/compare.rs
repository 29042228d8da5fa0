//! Differences between a result and the expected one.

use std::fmt;

/// Differences of two lists of numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// L2 norm of the difference over that of the expected numbers.
    pub relative_l2: f64,
    /// Largest difference over the largest expected number.
    pub max_error: f64,
}

impl Comparison {
    /// Compares element by element. A result that is NaN or infinite makes both figures infinite.
    ///
    /// # Panics
    ///If the two lists have different lengths.
    pub fn of(found: &[f32], expected: &[f32]) -> Self {
        assert_eq!(found.len(), expected.len(), "a comparison needs the same number of values on both sides");
        let (mut difference, mut norm, mut largest, mut worst) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        for (&found, &expected) in found.iter().zip(expected) {
            let (found, expected) = (f64::from(found), f64::from(expected));
            let error = if found.is_finite() { (found - expected).abs() } else { f64::INFINITY };
            difference += error * error;
            norm += expected * expected;
            worst = worst.max(error);
            largest = largest.max(expected.abs());
        }
        Self { relative_l2: ratio(difference.sqrt(), norm.sqrt()), max_error: ratio(worst, largest) }
    }

    /// Whether the result is within the usual tolerance: 1 % relative L2, and 2 % largest error.
    pub fn is_good(&self) -> bool {
        self.relative_l2 <= 0.01 && self.max_error <= 0.02
    }
}

/// Whether two lists have the same bits, element by element. Any two NaN count as the same, because hpmoe does not promise their payload.
pub fn same_bits(found: &[f32], expected: &[f32]) -> bool {
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    found.len() == expected.len() && found.iter().zip(expected).all(same)
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "relative L2 {:.2e}, largest error {:.2e} of the largest value: {}",
            self.relative_l2,
            self.max_error,
            if self.is_good() { "good" } else { "BAD" }
        )
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if part == 0.0 { 0.0 } else { part / whole }
}

#[cfg(test)]
mod tests {
    use super::same_bits;

    #[test]
    fn bits_are_compared_and_not_numbers() {
        assert!(same_bits(&[1.0, f32::NAN], &[1.0, -f32::NAN]));
        assert!(!same_bits(&[0.0], &[-0.0]) && !same_bits(&[f32::NAN], &[1.0]) && !same_bits(&[1.0], &[]));
    }
}
