//! Compiles kernels of the examples and of other tests.

fn main() {
    // Tiles are small, so that small layers have many.
    hpmoe_build::kernels(["../examples/moe_ffn.rs", "../ui-tests/kernels/echo.rs", "../ui-tests/kernels/once.rs"])
        .allow_slow_tile_sizes()
        .build();
}
