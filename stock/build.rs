//! Schedules and compiles the stock layers, with the constants of `HPMOE_SET`.

/// Most rows of a tile of the gate and up matrices, if there is a choice, and if there is none.
const MOST_ROWS: [usize; 2] = [256, 1024];

/// `INTER` in the source.
const INTER: usize = 32;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(joined)");
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_CORES");
    let layers = match part(inter().unwrap_or(INTER)) {
        Some(part) => {
            println!("cargo::rustc-cfg=joined");
            hpmoe_build::kernels(["src/separate.rs", "src/joined.rs"]).set("PART", part)
        }
        None => hpmoe_build::kernels(["src/separate.rs"]),
    };
    // For the model of the device on a CPU: fewer cores than a die has make small layers fast.
    match std::env::var("HPMOE_STOCK_CORES").map(|cores| cores.parse()) {
        Ok(Ok(cores)) => layers.matrix_cores(cores).build(),
        Ok(Err(_)) => println!("cargo::error=HPMOE_STOCK_CORES is not a number: set it to that of matrix cores"),
        Err(_) => layers.build(),
    }
}

/// The constant `INTER`, if `HPMOE_SET` sets it.
fn inter() -> Option<usize> {
    let set = std::env::var("HPMOE_SET").unwrap_or_default();
    let value =
        |part: &str| part.trim().strip_prefix("INTER=").and_then(|value| value.trim().replace('_', "").parse().ok());
    set.split(',').find_map(value)
}

/// The rows of a tile of a matrix with `inter` rows, whose tiles are all alike: in whole fractals, or all rows; `None` if these are
/// too many.
fn part(inter: usize) -> Option<usize> {
    let [most, most_at_once] = MOST_ROWS;
    let mut whole = (1..=most.min(inter) / 16).rev().map(|fractals| fractals * 16);
    whole.find(|rows| inter.is_multiple_of(*rows)).or((inter <= most_at_once).then_some(inter))
}
