//! Schedules and compiles the stock layers, with the constants of `HPMOE_SET`.

fn main() {
    let layers = hpmoe_build::kernels(["src/joined.rs", "src/separate.rs"]);
    println!("cargo::rerun-if-env-changed=HPMOE_STOCK_CORES");
    // For the model of the device on a CPU: fewer cores than a die has make small layers fast.
    match std::env::var("HPMOE_STOCK_CORES").map(|cores| cores.parse()) {
        Ok(Ok(cores)) => layers.matrix_cores(cores).build(),
        Ok(Err(_)) => println!("cargo::error=HPMOE_STOCK_CORES is not a number: set it to that of matrix cores"),
        Err(_) => layers.build(),
    }
}
