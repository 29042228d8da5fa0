//! A user's build script.

fn main() {
    hpmoe_build::kernels(["kernels/ffn.rs", "kernels/echo.rs", "kernels/coarse.rs"]).build();
}
