//! Schedules and compiles the stock layers of one kind of expert, with the constants of `HPMOE_SET`.

use hpmoe_build::Kernels;

/// Maximum number of columns of a tile of gpt-oss's unit.
const MOST_COLUMNS: usize = 128;

/// The value of `INTER` in the source.
const INTER: usize = 32;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(gpt_oss, swiglu, in_chunks)");
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_CORES");
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_GATE");
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_CHUNKS");
    let chunks = std::env::var("HPMOE_STOCK_CHUNKS").map(|chunks| chunks.parse());
    let layers = match std::env::var("HPMOE_STOCK_GATE").as_deref().unwrap_or("swiglu") {
        "swiglu" => match chunks {
            Ok(Ok(most)) => swiglu_in_chunks(most),
            Ok(Err(_)) => {
                println!(
                    "cargo::error=HPMOE_STOCK_CHUNKS is not a number: set it to the maximum number of chunks of a launch"
                );
                return;
            }
            Err(_) => swiglu(),
        },
        "gpt_oss" => gpt_oss(inter().unwrap_or(INTER)),
        other => {
            println!("cargo::error=HPMOE_STOCK_GATE is `{other}`: there are `swiglu` and `gpt_oss`");
            return;
        }
    };
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_RANKS");
    let layers = match std::env::var("HPMOE_STOCK_RANKS").map(|ranks| ranks.parse()) {
        Ok(Ok(ranks)) => layers.ranks(ranks),
        Ok(Err(_)) => {
            println!("cargo::error=HPMOE_STOCK_RANKS is not a number: set it to the number of ranks");
            return;
        }
        Err(_) => layers,
    };
    // On a CPU, small layers run faster if the kernel has fewer cores than a die.
    match std::env::var("HPMOE_STOCK_CORES").map(|cores| cores.parse()) {
        Ok(Ok(cores)) => layers.matrix_cores(cores).build(),
        Ok(Err(_)) => println!("cargo::error=HPMOE_STOCK_CORES is not a number: set it to the number of matrix cores"),
        Err(_) => layers.build(),
    }
}

/// The layers with SwiGLU experts: with separate gate and up matrices, and with both in one tensor.
fn swiglu() -> Kernels {
    println!("cargo::rustc-cfg=swiglu");
    hpmoe_build::kernels(["src/separate.rs", "src/joined.rs"])
}

/// The same layers, for launches that choose their number of chunks.
fn swiglu_in_chunks(most: usize) -> Kernels {
    println!("cargo::rustc-cfg=swiglu");
    println!("cargo::rustc-cfg=in_chunks");
    hpmoe_build::kernels(["src/separate_in_chunks.rs", "src/joined_in_chunks.rs"]).set("CHUNKS", most)
}

/// The layer with gpt-oss experts. The width of the unit's tiles must divide `INTER`, because the unit's gradient interleaves columns. The
/// build chooses the other tile sizes.
fn gpt_oss(inter: usize) -> Kernels {
    println!("cargo::rustc-cfg=gpt_oss");
    let columns = fractals(inter, MOST_COLUMNS)
        .or_else(|| (1..=MOST_COLUMNS).rev().find(|columns| inter.is_multiple_of(*columns)));
    hpmoe_build::kernels(["src/biased.rs"]).set("TILE_N", columns.unwrap_or(1))
}

/// The constant `INTER`, if `HPMOE_SET` sets it.
fn inter() -> Option<usize> {
    let set = std::env::var("HPMOE_SET").unwrap_or_default();
    let value =
        |part: &str| part.trim().strip_prefix("INTER=").and_then(|value| value.trim().replace('_', "").parse().ok());
    set.split(',').find_map(value)
}

/// The largest multiple of 16 that divides `size` and does not exceed `most`.
fn fractals(size: usize, most: usize) -> Option<usize> {
    (1..=most.min(size) / 16).rev().map(|fractals| fractals * 16).find(|whole| size.is_multiple_of(*whole))
}
