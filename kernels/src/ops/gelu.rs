//! `value.gelu()`: x times the cumulative distribution function of the normal distribution.

use super::elementwise::ONE_VALUE;
use crate::op::{Columns, Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `gelu`: max(x, 0) - |x| · Φ(-|x|).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("gelu"),
    host: Host::values(|given| given[0].gelu()),
    device: Device::Vector { scratch: &[Columns::OfResult, Columns::OfResult, Columns::OfResult], calls: CALLS },
    ..ONE_VALUE
};

/// Limit of t: Φ(-t) is 0 in f32 from here on.
const LIMIT: f32 = 15.0;
/// The slope in u = 1 / (1 + SLOPE · t).
const SLOPE: f32 = 0.3;
/// Φ(-t) · e^(t²/2) as a polynomial in u, highest power first; its error is at most 6e-8.
const TAIL: [f32; 9] = [
    0.038_426_19,
    -0.169_398_44,
    0.229_138_78,
    -0.077_052_3,
    0.142_911_18,
    0.094_524_19,
    0.121_960_91,
    0.119_482_03,
    7.498_313e-6,
];

const A: Slot = Slot::Scratch(0);
const T: Slot = Slot::Scratch(1);
const U: Slot = Slot::Scratch(2);
const G: Slot = Slot::Out;

const CALLS: &[VectorCall] = &[
    VectorCall::Unary("Abs", A, Slot::In(0)),
    VectorCall::Scalar("Mins", T, A, Scalar::Is(LIMIT)),
    VectorCall::Scalar("Muls", U, T, Scalar::Is(SLOPE)),
    VectorCall::Scalar("Adds", U, U, Scalar::Is(1.0)),
    VectorCall::Fill(G, Scalar::Is(1.0)),
    VectorCall::Binary("Div", U, G, U),
    VectorCall::Scalar("Muls", G, U, Scalar::Is(TAIL[0])),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[1])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[2])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[3])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[4])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[5])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[6])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[7])),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Scalar("Adds", G, G, Scalar::Is(TAIL[8])),
    VectorCall::Binary("Mul", U, T, T),
    VectorCall::Scalar("Muls", U, U, Scalar::Is(-0.5)),
    VectorCall::Unary("Exp", U, U),
    VectorCall::Binary("Mul", G, G, U),
    VectorCall::Binary("Mul", G, G, T),
    VectorCall::Scalar("Muls", A, A, Scalar::Is(0.5)),
    VectorCall::Scalar("Muls", T, Slot::In(0), Scalar::Is(0.5)),
    VectorCall::Binary("Add", A, T, A),
    VectorCall::Binary("Sub", G, A, G),
];

fn gelu(x: f32) -> f32 {
    let size = x.abs();
    let t = if size < LIMIT { size } else { LIMIT };
    let u = 1.0 / (t * SLOPE + 1.0);
    let tail = TAIL[1..].iter().fold(TAIL[0], |sum, c| sum * u + c);
    let below = tail * math::exp(t * t * -0.5) * t;
    // max(x, 0), and NaN for NaN.
    (x * 0.5 + size * 0.5) - below
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// x · Φ(x) = x/2 · (1 + erf(x/√2)), the exact form of GELU, with an error of at most 1e-6: R×C to R×C.
    /// [`gelu_tanh`](Self::gelu_tanh) is the other form. +∞ and NaN stay as they are, -∞ becomes NaN, and ±0 becomes 0.
    ///
    /// ```text
    /// t = min(|x|, 15);  u = 1 / (t · 0.3 + 1)
    /// g = 0.03842619;  g = g · u + c  for c = -0.16939844, 0.22913878, -0.0770523, 0.14291118, 0.09452419, 0.12196091,
    ///                                         0.11948203, 7.498313e-6
    /// result = (x/2 + |x|/2) - g · e^(t · t · -1/2) · t
    /// ```
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![1.0, 20.0, -20.0]).gelu();
    /// assert!((value.as_slice()[0] - 0.841_344_7).abs() < 2e-7);
    /// assert_eq!(value.as_slice()[1..], [20.0, 0.0]);
    /// ```
    #[must_use]
    pub fn gelu(&self) -> Self {
        self.map(gelu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Φ(x) in f64: by its series for |x| < 4, otherwise by the continued fraction of its tail.
    fn phi(x: f64) -> f64 {
        let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if x.abs() < 4.0 {
            let (mut term, mut sum) = (x, x);
            for n in 1..200 {
                term *= x * x / f64::from(2 * n + 1);
                sum += term;
            }
            0.5 + density * sum
        } else {
            let tail = (1..200).rev().fold(x.abs(), |below, n| x.abs() + f64::from(n) / below);
            if x < 0.0 { density / tail } else { 1.0 - density / tail }
        }
    }

    #[test]
    fn is_close_everywhere() {
        for i in -1200..=2000 {
            let x = i as f32 / 100.0;
            let exact = f64::from(x) * phi(f64::from(x));
            let error = (f64::from(gelu(x)) - exact).abs() / exact.abs().max(1e-30);
            // The exponent of a small result is a square, whose rounding grows with it.
            let most = if x < -1.0 { 1e-6 + f64::from(x * x) * 6e-8 } else { 1e-6 };
            assert!(i == 0 || error <= most, "gelu({x}) is off by {error:e}");
        }
        assert!(gelu(f32::NAN).is_nan());
        assert_eq!((gelu(f32::INFINITY), gelu(f32::MAX)), (f32::INFINITY, f32::MAX));
    }
}
