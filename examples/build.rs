//! Schedules and compiles the examples' kernels.

fn main() {
    // Many small steps: fewer cores than a die has make them fast.
    let training = hpmoe_build::kernels(["train_moe.rs"]).matrix_cores(4);
    hpmoe_build::kernels([
        "moe_ffn.rs",
        "moe_backward.rs",
        "moe_backward_chunked.rs",
        "moe_chunked.rs",
        "moe_clipped.rs",
        "moe_shared.rs",
        "moe_router.rs",
        "moe_biased.rs",
        "moe_int8.rs",
        "moe_w8a8.rs",
        "moe_w4a8.rs",
        "moe_prescaled.rs",
        "moe_relay.rs",
    ])
    .and(training)
    .build();
}
