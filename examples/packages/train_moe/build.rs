//! Schedules and compiles the example's kernels.

fn main() {
    // Many small steps: fewer cores than a die has make them fast.
    hpmoe_build::kernels(["../../train_moe.rs"]).matrix_cores(4).build();
}
