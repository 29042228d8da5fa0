//! Schedules and compiles the kernels of the book.

fn main() {
    // So few cores that reports and pictures fit on a page.
    let small = ["layer", "wrong"].map(|name| format!("programs/{name}.rs"));
    let small = hpmoe_build::kernels(small).matrix_cores(2);
    hpmoe_build::kernels(["first/src/main.rs", "programs/ported.rs", "programs/router.rs"]).and(small).build();
}
