//! Standard output that nobody reads, or that has no room.

use crate::LAYER;
use std::fs::File;
use std::process::{Command, Output, Stdio};

fn graph(stdout: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hpmoe"));
    command.args(["graph", LAYER]).stdout(stdout).output().expect("the command runs")
}

#[test]
fn a_reader_that_stops_is_no_fault() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = graph(writer.into());
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_full_disk_is_told() {
    let output = graph(File::options().write(true).open("/dev/full").expect("a device that is full").into());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.starts_with("error: can't write to standard output: ") && said.lines().count() == 1, "{said}");
}
