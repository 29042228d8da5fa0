//! Compiles kernels for launches from C, and kernels for NPUs with the stand-in for CANN.

use hpmoe_build::Device;
use std::path::PathBuf;

fn main() {
    let toolkit = PathBuf::from(std::env::var_os("OUT_DIR").expect("OUT_DIR of a build script")).join("cann");
    hpmoe_standin::Toolkit::new(&toolkit).install().expect("OUT_DIR can be written");
    println!("cargo::rustc-env=STANDIN={}", toolkit.display());
    // Tiles are small, so that small layers have many.
    let layer = hpmoe_build::kernels(["../../examples/moe_ffn.rs"]).allow_slow_tile_sizes();
    let small = hpmoe_build::kernels(["../kernels/echo.rs", "../kernels/once.rs"]).allow_slow_tile_sizes();
    let for_npus = hpmoe_build::kernels(["../kernels/ffn.rs", "../kernels/kept.rs", "kernels/evolving.rs"]);
    let for_npus = for_npus.allow_slow_tile_sizes().matrix_cores(2).device(Device::Cann).toolkit(&toolkit);
    let choosing = hpmoe_build::kernels(["../kernels/routed.rs"]).chunks_at_most(4);
    let choosing = choosing.allow_slow_tile_sizes().matrix_cores(2).device(Device::Cann).toolkit(&toolkit);
    let kept = hpmoe_build::kernels(["../kernels/kept_chunks.rs"]).chunks_at_most(8);
    let kept = kept.allow_slow_tile_sizes().matrix_cores(2).device(Device::Cann).toolkit(&toolkit);
    let stamped = hpmoe_build::kernels(["kernels/stamped.rs"]).time_stamps();
    let stamped = stamped.allow_slow_tile_sizes().matrix_cores(2).device(Device::Cann).toolkit(toolkit);
    layer.and(small.matrix_cores(2)).and(for_npus).and(choosing).and(kept).and(stamped).build();
}
