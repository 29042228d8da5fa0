//! Which constants of a target can change which simulated figures.

use super::Policy;
use hpmoe_core::target::TargetConstant;

/// Whether a constant of the target can change the simulated latency of a policy, the policy's bound, or the time of the separate kernels
/// that the original needs.
#[must_use]
pub fn depends_on(policy: Policy, constant: &TargetConstant) -> bool {
    let fused = policy != Policy::Serial;
    match (constant.section, constant.key) {
        ("original", _) => policy == Policy::Hyperparallel,
        ("fitted", "gemm_fused_efficiency") => true,
        ("fitted", _) => !fused,
        ("link", "put_gb_per_s_per_aiv") => fused,
        ("sync", "entry_ns" | "wait_ns" | "signal_ns" | "put_start_ns") => policy == Policy::Ours,
        // Only kernels that make their route depend on it.
        ("launch", "cold_code_ns") => policy == Policy::Ours,
        ("sync", key) => fused || key == "counter_visible_ns",
        ("cube", key) => key == "bf16_flop_per_cycle",
        ("vector", key) => key == "elementwise_gb_per_s",
        ("memory", key) => matches!(
            key,
            "l2_mib"
                | "hbm_gb_per_s"
                | "hbm_bytes_per_cycle_core"
                | "l2_read_bytes_per_cycle_core"
                | "l2_write_bytes_per_cycle_core"
        ),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{Direction, LayerShape, Original, Replay, Serial, extras};
    use crate::simulate::{Ours, Simulated, Workload, bound, simulate};
    use hpmoe_core::fixture::{Layer, moe_ffn};
    use hpmoe_core::schedule::{Cores, schedule};
    use hpmoe_core::target::Target;

    const LAYER: Layer = Layer { hidden: 2048, inter: 512, experts: 8, top_k: 4, tokens: 256, ..Layer::DEEPSEEK };

    /// All figures of a policy that tables can show, for comparison.
    fn figures(policy: Policy, target: &Target) -> (Simulated, u64, String) {
        let shape = LayerShape { ranks: 4, tokens: 256, experts: 8, top_k: 4, hidden: 2048, intermediate: 512 };
        let routing = shape.balanced();
        let checked = moe_ffn(&LAYER);
        let plan = schedule(&checked, Cores { aic: target.cores.aic, aiv: target.cores.aiv });
        let workload: Box<dyn Workload> = match policy {
            Policy::Ours => Box::new(Ours::new(target, &checked, &plan, &routing).unwrap()),
            Policy::Serial => Box::new(Serial::of_graph(&checked, routing, target)),
            Policy::Hyperparallel => Box::new(Replay::new(Original::new(shape, Direction::Forward), routing, target)),
        };
        let run = simulate(target, &*workload, false).unwrap();
        let rest = format!("{} {:?}", run.aic_useful(target), extras(&shape, target));
        (run, bound(target, &*workload).time().0, rest)
    }

    #[test]
    fn a_constant_that_changes_a_figure_is_listed() {
        let target = Target::ascend_a3();
        for policy in Policy::ALL {
            let before = figures(policy, &target);
            for constant in target.constants() {
                let name = format!("{}.{}", constant.section, constant.key);
                let value = target.get(constant.section, constant.key).unwrap();
                // Shares stay below one, whole numbers whole, numbers of cores even.
                let share = constant.section == "fitted" || constant.key == "int8_efficiency";
                let other = if share { value * 0.7 } else { value * 2.0 };
                let mut changed = target.clone();
                changed.set(&format!("{name}={other}")).unwrap();
                if figures(policy, &changed) != before {
                    assert!(depends_on(policy, constant), "{policy:?} depends on {name}");
                }
            }
        }
    }

    #[test]
    fn estimates_that_a_policy_does_not_use_are_not_its_own() {
        let target = Target::ascend_a3();
        let estimates = |policy| -> Vec<&str> {
            target.assumed().filter(|constant| depends_on(policy, constant)).map(|constant| constant.key).collect()
        };
        assert_eq!(estimates(Policy::Serial), ["elementwise_gb_per_s"]);
        let ours = [
            "elementwise_gb_per_s",
            "put_gb_per_s_per_aiv",
            "fence_remote_ns",
            "tile_overhead_ns",
            "entry_ns",
            "signal_ns",
            "put_start_ns",
        ];
        assert_eq!(estimates(Policy::Ours), ours);
        assert_eq!(estimates(Policy::Hyperparallel).len(), 7);
    }
}
