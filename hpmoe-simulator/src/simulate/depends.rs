//! Which constants of a target a simulated figure rests on.

use hpmoe_codegen::target::Constant;

/// Whether what is simulated for a policy (its name as in [`Policy`](super::Policy)), its bound, or the kernels for what
/// the original leaves out, can depend on a constant.
#[must_use]
pub fn depends(policy: &str, constant: &Constant) -> bool {
    let fused = policy != "serial";
    match (constant.section, constant.key) {
        ("original", _) => policy == "hyperparallel",
        ("fitted", "gemm_fused_efficiency") => true,
        ("fitted", _) | ("launch", "rank_sync_us") => !fused,
        ("link", "put_gb_per_s_per_aiv") => fused,
        ("sync", key) => fused || key == "counter_visible_ns",
        ("cube", key) => key == "bf16_flop_per_cycle",
        ("vector", key) => key == "elementwise_gb_per_s",
        ("memory", key) => matches!(key, "l2_mib" | "hbm_gb_per_s" | "l2_read_bytes_per_cycle_core"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{Direction, LayerShape, Original, Replay, Serial, extras};
    use crate::simulate::{Ours, Program, Simulated, bound, simulate};
    use hpmoe_codegen::schedule::{Cores, schedule};
    use hpmoe_codegen::target::Target;
    use hpmoe_language::fixture::{Layer, moe_ffn};

    const LAYER: Layer = Layer { hidden: 2048, inter: 512, experts: 8, top_k: 4, tokens: 256, ..Layer::DEEPSEEK };

    /// Everything that a table may hold of a policy.
    fn figures(policy: &str, target: &Target) -> (Simulated, u64, String) {
        let shape = LayerShape { ranks: 4, tokens: 256, experts: 8, top_k: 4, hidden: 2048, intermediate: 512 };
        let routing = shape.balanced();
        let checked = moe_ffn(&LAYER);
        let plan = schedule(&checked, Cores { aic: target.cores.aic, aiv: target.cores.aiv });
        let program: Box<dyn Program> = match policy {
            "ours" => Box::new(Ours::new(target, &checked, &plan, &routing).unwrap()),
            "serial" => Box::new(Serial::new(shape, Direction::Forward, routing, target)),
            _ => Box::new(Replay::new(Original::new(shape, Direction::Forward), routing, target)),
        };
        let run = simulate(target, &*program, false).unwrap();
        let rest = format!("{} {:?}", run.aic_useful(target), extras(&shape, Direction::Forward, target));
        (run, bound(target, &*program).time().0, rest)
    }

    #[test]
    fn what_changes_a_figure_is_told() {
        let target = Target::ascend_a3();
        for policy in ["ours", "hyperparallel", "serial"] {
            let before = figures(policy, &target);
            for constant in target.constants() {
                let name = format!("{}.{}", constant.section, constant.key);
                let value = target.get(constant.section, constant.key).unwrap();
                // Shares stay below one, whole numbers whole, numbers of cores even.
                let other = if constant.section == "fitted" { value * 0.7 } else { value * 2.0 };
                let mut changed = target.clone();
                changed.set(&format!("{name}={other}")).unwrap();
                if figures(policy, &changed) != before {
                    assert!(depends(policy, constant), "{policy} depends on {name}");
                }
            }
        }
    }

    #[test]
    fn estimates_that_a_policy_does_not_use_are_not_its_own() {
        let target = Target::ascend_a3();
        let of = |policy| -> Vec<&str> {
            target.assumed().filter(|constant| depends(policy, constant)).map(|constant| constant.key).collect()
        };
        assert_eq!(of("serial"), ["elementwise_gb_per_s"]);
        let ours = ["elementwise_gb_per_s", "put_gb_per_s_per_aiv", "fence_remote_ns", "tile_overhead_ns"];
        assert_eq!(of("ours"), ours);
        assert_eq!(of("hyperparallel").len(), 7);
    }
}
