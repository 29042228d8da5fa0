//! Compiles kernels of the examples and of other tests.

fn main() {
    hpmoe_build::kernels(["../examples/moe_ffn.rs", "../ui-tests/kernels/echo.rs", "../ui-tests/kernels/once.rs"])
        .build();
}
