//! The fit of three constants by least squares.

use super::{Latency, PUBLISHED, PublishedPolicy};
use hpmoe_core::target::{Fitted, Target};

/// Fits the three constants to the latencies on 8 ranks.
///
/// The two policies share no fitted constant, so each is fitted separately. Results have four digits.
#[must_use]
pub fn fit(target: &Target, latency: &Latency<'_>) -> Fitted {
    let mut fitted = target.fitted.clone();
    let errors = |policy: PublishedPolicy, fitted: &Fitted| {
        let target = with(target, fitted.clone());
        errors(policy, &target, latency)
    };
    let [fused] = least([fitted.gemm_fused_efficiency], |[fused]| {
        errors(PublishedPolicy::Original, &Fitted { gemm_fused_efficiency: fused, ..target.fitted.clone() })
    });
    fitted.gemm_fused_efficiency = fused;
    let start = [fitted.gemm_operator_efficiency, fitted.collective_efficiency];
    let [operator, collective] = least(start, |[operator, collective]| {
        let shares = Fitted { gemm_operator_efficiency: operator, collective_efficiency: collective, ..fitted.clone() };
        errors(PublishedPolicy::Serial, &shares)
    });
    Fitted { gemm_operator_efficiency: operator, collective_efficiency: collective, ..fitted }
}

/// The target with its fitted constants replaced.
pub(super) fn with(target: &Target, fitted: Fitted) -> Target {
    let mut target = target.clone();
    target.fitted = fitted;
    target
}

/// Relative errors of a policy's simulated latencies on 8 ranks: forward, backward.
fn errors(policy: PublishedPolicy, target: &Target, latency: &Latency<'_>) -> [f64; 2] {
    let mut errors = PUBLISHED
        .iter()
        .filter(|published| published.policy == policy && published.fitted_on())
        .map(|published| latency(published, target) / published.ms - 1.0);
    [(); 2].map(|()| errors.next().expect("there is a latency for each of the two directions"))
}

/// The shares with the least sum of squared errors. They are found by Gauss-Newton steps on the shares' reciprocals, of which a latency is
/// nearly a linear function. Polling makes it a step function, so a single share is afterwards improved by a search nearby.
fn least<const N: usize>(start: [f64; N], errors: impl Fn([f64; N]) -> [f64; 2]) -> [f64; N] {
    const ROUNDS: usize = 6;
    const STEP: f64 = 0.01;
    let errors_at = |times: [f64; N]| errors(times.map(rounded_share));
    let squares = |errors: [f64; 2]| errors.iter().map(|error| error * error).sum::<f64>();
    let mut times = start.map(|share| 1.0 / share);
    let mut now = errors_at(times);
    let mut best = (squares(now), times);
    for _ in 0..ROUNDS {
        let slopes: [_; N] = std::array::from_fn(|parameter| {
            let mut moved = times;
            moved[parameter] += STEP;
            let there = errors_at(moved);
            [0, 1].map(|i| (there[i] - now[i]) / STEP)
        });
        let Some(change) = newton::<N>(&slopes, now) else { break };
        times = std::array::from_fn(|parameter| (times[parameter] - change[parameter]).clamp(1.0, 5.0));
        now = errors_at(times);
        if squares(now) >= best.0 {
            break;
        }
        best = (squares(now), times);
    }
    let shares = best.1.map(rounded_share);
    if N == 1 { std::array::from_fn(|_| nearby(shares[0], |share| squares(errors([share; N])))) } else { shares }
}

/// The best share near `start`: within 0.01 of it in steps of 0.001, then within 0.001 of the result in steps of 0.0001.
fn nearby(start: f64, cost: impl Fn(f64) -> f64) -> f64 {
    [1e-3, 1e-4].into_iter().fold(start, |middle, step| {
        let near = (-10..=10).map(|steps| ((middle + f64::from(steps) * step) * 1e4).round() / 1e4);
        let costs = near.filter(|&share| share <= 1.0).map(|share| (cost(share), share));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(middle, |(_, share)| share)
    })
}

fn rounded_share(times: f64) -> f64 {
    (1e4 / times).round() / 1e4
}

/// The change of the parameters that reduces the errors most, by the normal equations; `None` if errors don't depend on the parameters.
fn newton<const N: usize>(slopes: &[[f64; 2]; N], errors: [f64; 2]) -> Option<[f64; N]> {
    let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
    let mut change = [0.0; N];
    match N {
        1 => change[0] = dot(slopes[0], errors) / dot(slopes[0], slopes[0]),
        2 => {
            let [a, b] = [slopes[0], slopes[1]];
            let determinant = a[0] * b[1] - a[1] * b[0];
            change[0] = (errors[0] * b[1] - errors[1] * b[0]) / determinant;
            change[1] = (a[0] * errors[1] - a[1] * errors[0]) / determinant;
        }
        _ => unreachable!("there are one or two shares to fit"),
    }
    change.iter().all(|change| change.is_finite()).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::{fit, with};
    use crate::baseline::Direction;
    use crate::calibrate::{PUBLISHED, Published, PublishedPolicy};
    use hpmoe_core::target::Target;

    /// Latencies from a simple formula, so that the correct result of the fit is known.
    fn formula(published: &Published, target: &Target) -> f64 {
        let passes = if published.direction == Direction::Forward { 1.0 } else { 2.0 };
        match published.policy {
            PublishedPolicy::Original => 0.7 + passes * 8.0 / target.fitted.gemm_fused_efficiency,
            PublishedPolicy::Serial => {
                let fitted = &target.fitted;
                passes * 8.0 / fitted.gemm_operator_efficiency + 3.6 / fitted.collective_efficiency
            }
        }
    }

    #[test]
    fn constants_of_a_known_formula_are_found() {
        let fitted = fit(&Target::ascend_a3(), &formula);
        // 17.3 = 8 / a + 3.6 / b and 29.8 = 16 / a + 3.6 / b.
        assert!((fitted.gemm_operator_efficiency - 0.64).abs() < 2e-4, "{fitted:?}");
        assert!((fitted.collective_efficiency - 0.75).abs() < 2e-4, "{fitted:?}");
        // One constant for two latencies: between 8 / 9.6 and 16 / 18.9, their relative errors of opposite sign.
        assert!((0.8333..0.8466).contains(&fitted.gemm_fused_efficiency), "{fitted:?}");
        let target = with(&Target::ascend_a3(), fitted);
        let errors = PUBLISHED.iter().filter(|p| p.ranks == 8 && p.policy == PublishedPolicy::Original);
        let errors: Vec<f64> = errors.map(|p| formula(p, &target) / p.ms - 1.0).collect();
        assert!(errors[0] * errors[1] < 0.0, "{errors:?}");
    }
}
