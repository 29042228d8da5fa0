//! The constants for the formulae in `docs/export.md`.

use hpmoe_core::target::Target;
use hpmoe_simulator::simulate::PolicyCosts;
use serde_json::{Value, json};

/// Rates in GB/s (for the cube, in GFLOP/s) and times in ns.
pub(super) fn rates(target: &Target, costs: &PolicyCosts) -> Value {
    let gb_per_s = |bytes_per_cycle: f64| bytes_per_cycle * target.cores.clock_ghz;
    let (memory, link) = (&target.memory, &target.link);
    let l2_read = gb_per_s(memory.l2_read_bytes_per_cycle_core);
    json!({
        "cube_gflops_core": target.fused_flops() / f64::from(target.cores.aic) / 1e9,
        "cube_int8_gops_core": target.int8_flops() / 1e9,
        "l2_read_core": l2_read,
        "l2_write_core": gb_per_s(memory.l2_write_bytes_per_cycle_core),
        "hbm_read_core": gb_per_s(memory.hbm_bytes_per_cycle_core),
        "vector_core": target.vector.elementwise_gb_per_s,
        "put_core": link.put_gb_per_s_per_aiv,
        "hbm_die": memory.hbm_gb_per_s,
        "l2_die": l2_read * f64::from(target.cores.aic),
        "same_package_die": link.same_package_gb_per_s,
        "other_package_die": link.other_package_gb_per_s,
        "dies_per_package": link.dies_per_package,
        "same_package_ns": link.same_package_ns,
        "other_package_ns": link.other_package_ns,
        "visible_ns": target.sync.counter_visible_ns,
        "fence_ns": target.sync.fence_remote_ns,
        "signal_ns": costs.signal.us() * 1e3,
        "put_start_ns": costs.put_start.us() * 1e3,
        "launch_ns": costs.launch.us() * 1e3,
    })
}
