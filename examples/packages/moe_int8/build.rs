//! Schedules and compiles the example's kernel.

fn main() {
    hpmoe_build::kernels(["../../moe_int8.rs"]).build();
}
