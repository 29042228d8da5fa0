//! Schedules and compiles the kernels of the book.

fn main() {
    // Few cores and small tiles, so that reports and pictures fit on a page.
    let layer = hpmoe_build::kernels(["programs/layer.rs", "programs/host.rs"]).matrix_cores(2);
    let layer = layer.set("TILE_M", 16).set("TILE_N", 16).set("PUT", 8).set("BLOCK", 4).allow_slow_tile_sizes();
    let wrong = hpmoe_build::kernels(["programs/wrong.rs"]).matrix_cores(2).set("BLOCK", 8).allow_slow_tile_sizes();
    // The build chooses open tile sizes for launches with these numbers of ranks and tokens.
    let open = hpmoe_build::kernels(["programs/open.rs"]).ranks(32).tokens(64);
    hpmoe_build::kernels(["first/src/main.rs", "programs/ported.rs", "programs/router.rs"])
        .and(layer)
        .and(wrong)
        .and(open)
        .build();
}
