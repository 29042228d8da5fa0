//! A build for NPUs, with the stand-in for CANN.

use hpmoe_build::Device;
use std::path::PathBuf;

fn main() {
    let toolkit = PathBuf::from(std::env::var_os("OUT_DIR").expect("OUT_DIR of a build script")).join("cann");
    hpmoe_standin::Toolkit::new(&toolkit).install().expect("OUT_DIR can be written");
    println!("cargo::rustc-env=STANDIN={}", toolkit.display());
    let for_npus =
        hpmoe_build::kernels(["../ui-tests/kernels/ffn.rs", "../ui-tests/kernels/kept.rs", "kernels/evolving.rs"]);
    let for_npus = for_npus.allow_slow_tile_sizes().matrix_cores(2).device(Device::Cann).toolkit(&toolkit);
    let stamped = hpmoe_build::kernels(["kernels/stamped.rs"]).time_stamps();
    let stamped = stamped.allow_slow_tile_sizes().matrix_cores(2).device(Device::Cann).toolkit(toolkit);
    let echo = hpmoe_build::kernels(["../ui-tests/kernels/echo.rs"]).allow_slow_tile_sizes().matrix_cores(2);
    // Tiles are small, so that small layers have many.
    echo.and(for_npus).and(stamped).build();
}
