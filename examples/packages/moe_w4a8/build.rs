//! Schedules and compiles the example's kernel.

fn main() {
    hpmoe_build::kernels(["../../moe_w4a8.rs"]).build();
}
