//! Schedules and compiles the examples' kernels.

fn main() {
    hpmoe_build::kernels(["moe_ffn.rs", "moe_clipped.rs"]).build();
}
