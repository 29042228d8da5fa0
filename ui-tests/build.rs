//! A user's build script.

mod layers;
mod programs;

use hpmoe_build::Kernels;

fn main() {
    // Calls of AscendC in kernels that a test loads are resolved by the test itself.
    println!("cargo::rustc-link-arg-tests=-rdynamic");
    let own: [std::path::PathBuf; 5] =
        ["deep", "elementwise", "mixed", "odd", "products"].map(|name| format!("kernels/{name}.rs").into());
    let examples =
        layers::write().into_iter().chain(layers::write_training()).chain(layers::write_gradients_in_chunks());
    let variants = layers::write_variants([
        "moe_ffn",
        "moe_clipped",
        "moe_biased",
        "moe_int8",
        "moe_w8a8",
        "moe_w4a8",
        "moe_prescaled",
        "moe_relay",
    ]);
    let own = own.into_iter().chain(examples).chain(variants).chain(layers::write_chunks());
    kernels(own).build();
    kernels(layers::write_many_experts()).ranks(1).build();
    // So few cores that each has several tiles of a task.
    let few = [
        "bodies",
        "bytes",
        "chosen",
        "chunks",
        "coarse",
        "codes",
        "columns",
        "echo",
        "external",
        "ffn",
        "floats",
        "fused",
        "home",
        "kept",
        "kept_chunks",
        "once",
        "routed",
        "routers",
        "rows",
        "stacked",
        "sums",
    ]
    .map(|name| format!("kernels/{name}.rs"));
    kernels(few.into_iter().map(Into::into).chain(programs::write())).matrix_cores(3).build();
    let [layer, small, placed] = layers::write_chosen_chunks();
    kernels([layer]).chunks_at_most(8).build();
    kernels([small]).chunks_at_most(8).matrix_cores(3).build();
    let [gradients, placed_gradients, sums] = layers::write_chosen_sums();
    kernels([gradients]).chunks_at_most(8).build();
    kernels([placed_gradients]).chunks_at_most(8).spare(1).build();
    kernels([sums]).chunks_at_most(8).matrix_cores(3).build();
    kernels([placed]).chunks_at_most(4).spare(1).ranks(5).build();
    let [routed, placed] = layers::write_routed_chunks();
    kernels([routed]).chunks_at_most(8).matrix_cores(3).build();
    kernels([placed]).chunks_at_most(4).matrix_cores(3).spare(1).ranks(3).build();
    let [kept, placed] = layers::write_kept_chunks();
    kernels([kept]).chunks_at_most(8).matrix_cores(3).build();
    kernels([placed]).chunks_at_most(4).matrix_cores(3).spare(1).ranks(3).build();
    // Places for two more experts on each rank, and numbers of ranks that don't divide the experts.
    kernels(["kernels/placed.rs".into(), layers::write_placed()]).matrix_cores(3).spare(2).ranks(4).ranks(7).build();
    kernels(["device/kernels/stamped.rs"]).matrix_cores(3).time_stamps().build();
    // The kernels whose faults the macro shows, each in its own program (`tests/all/compile.rs`).
    kernels(faulty()).build();
    // Dies with other numbers of cores, given by number or by a target file.
    kernels([layers::write_again("one_matrix_core")]).matrix_cores(1).build();
    kernels([layers::write_again("twenty_matrix_cores")]).target("targets/twenty-cores.toml").build();
}

/// Kernels whose tiles are small, so that small layers have many.
fn kernels<P: Into<std::path::PathBuf>>(files: impl IntoIterator<Item = P>) -> Kernels {
    hpmoe_build::kernels(files).allow_slow_tile_sizes()
}

/// The kernels with faults, except for those that no build script names or can find.
fn faulty() -> Vec<std::path::PathBuf> {
    const FOLDER: &str = "cases/fail";
    const UNNAMED: [&str; 2] = ["kernel-missing-from-build.rs", "marker-outside.rs"];
    println!("cargo::rerun-if-changed={FOLDER}");
    let entries = std::fs::read_dir(FOLDER).expect("the folder can be listed");
    let files = entries.map(|entry| entry.expect("the folder can be listed").path());
    let named = |file: &std::path::PathBuf| {
        file.extension().is_some_and(|ending| ending == "rs") && !UNNAMED.iter().any(|name| file.ends_with(name))
    };
    files.filter(named).collect()
}
