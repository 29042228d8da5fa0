//! Runs the C++ tests of the model of AscendC (`host/`), some of which run the device library on it.
//!
//! `HPMOE_HOST_CASE=name cargo test -p hpmoe-kernels --test all host_ascendc -- --nocapture` runs the cases whose names contain `name`.

use std::process::Command;

use super::model::{concerned, folder, linked, sources};

#[test]
fn the_model_passes_its_cases() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(linked("cases", concerned(sources(&folder("tests/host"))), scratch.path()));
    command.env("HPMOE_EXP_CHECKSUM", format!("{:x}", hpmoe_kernels::math::EXP_CHECKSUM));
    if let Some(case) = std::env::var_os("HPMOE_HOST_CASE") {
        command.arg(case);
    }
    let output = command.output().expect("the cases run");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "cases failed ({})", output.status);
}
