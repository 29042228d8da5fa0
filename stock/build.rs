//! Schedules and compiles the stock layers, with the constants of `HPMOE_SET`.

/// Most rows of the gate matrix that the kernel for both matrices in one tensor takes: its tiles are as high as one matrix.
const MOST_JOINED: usize = 1024;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(joined)");
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_CORES");
    let mut files = vec!["src/separate.rs"];
    if inter().is_none_or(|inter| inter <= MOST_JOINED) {
        println!("cargo::rustc-cfg=joined");
        files.push("src/joined.rs");
    }
    let layers = hpmoe_build::kernels(files);
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
