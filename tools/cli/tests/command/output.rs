//! Standard output that is closed or full, and escaped control characters.

use crate::{LAYER, hpmoe};
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

/// Names and contents of files can't control the terminal.
#[test]
fn control_characters_of_names_and_sources_are_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let clears = "\u{1b}[2J\u{9b}1A\u{202e}";
    let absent = folder.path().join(format!("a{clears}\nerror: b.rs"));
    let said = String::from_utf8(hpmoe(&["check", absent.to_str().expect("UTF-8")]).stderr).expect("text");
    assert!(said.contains(r"a\u{1b}[2J\u{9b}1A\u{202e}\nerror: b.rs") && said.lines().count() == 1, "{said}");
    // Control characters in the faulty line, and in source text that the message quotes.
    let source = folder.path().join(format!("kernel{clears}.rs"));
    let text = std::fs::read_to_string(LAYER).expect("the layer");
    let faulty = text.replacen("#[aiv_task]", &format!("/* {clears} */ #[aiv_task(external = \"{clears}\")]"), 1);
    std::fs::write(&source, faulty).expect("a file");
    for command in ["check", "graph", "schedule"] {
        let output = hpmoe(&[command, source.to_str().expect("UTF-8")]);
        assert!(!output.status.success(), "{command}: {output:?}");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(said.contains(r"kernel\u{1b}[2J"), "{command}: {said}");
        assert!(
            !said.contains(|char: char| char.is_control() && char != '\n' || char == '\u{202e}'),
            "{command}: {said}"
        );
    }
}
