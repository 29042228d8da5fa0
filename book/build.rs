//! Schedules and compiles the kernels of the book.

fn main() {
    // So few cores that reports and pictures fit on a page.
    let small = ["layer", "wrong"].map(|name| format!("programs/{name}.rs"));
    let small = hpmoe_build::kernels(small).matrix_cores(2);
    // Tile sizes that a kernel leaves open are chosen for the launches that are named here.
    let open = hpmoe_build::kernels(["programs/open.rs"]).ranks(32).tokens(64);
    hpmoe_build::kernels(["first/src/main.rs", "programs/ported.rs", "programs/router.rs"])
        .and(small)
        .and(open)
        .build();
}
