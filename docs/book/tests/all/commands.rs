//! The programs of the book print what the pages show. Commands `hpmoe …` are run by the tests of that command.

use crate::pages::pages;
use crate::pattern::difference;
use std::path::Path;
use std::process::{Command, Stdio};

/// The programs, as cargo has built them for these tests.
const PROGRAMS: [(&str, &str); 7] = [
    ("first", env!("CARGO_BIN_EXE_first")),
    ("host", env!("CARGO_BIN_EXE_host")),
    ("layer", env!("CARGO_BIN_EXE_layer")),
    ("open", env!("CARGO_BIN_EXE_open")),
    ("ported", env!("CARGO_BIN_EXE_ported")),
    ("router", env!("CARGO_BIN_EXE_router")),
    ("wrong", env!("CARGO_BIN_EXE_wrong")),
];

#[test]
fn programs_print_what_is_shown() {
    let mut run = 0;
    for page in pages() {
        for (place, shown) in page.commands() {
            let words: Vec<&str> = shown.command.split(' ').collect();
            match words[..] {
                ["hpmoe", ..] => {}
                // Run by the test command of the workspace.
                ["cargo", "test", "-p", "hpmoe-book", ..] if shown.output.is_empty() => {}
                ["cargo", "run", "-p", "hpmoe-book", "--bin", program, ref arguments @ ..] => {
                    run += 1;
                    let arguments = arguments.strip_prefix(&["--"]).unwrap_or(arguments);
                    let printed = print(program, arguments, shown.output.is_empty());
                    if let Some(part) = difference(&shown.output, &printed) {
                        panic!("{place}: `{}` doesn't print this part:\n{part}\nbut:\n{printed}", shown.command);
                    }
                }
                _ => panic!("{place}: no test runs `{}`", shown.command),
            }
        }
    }
    assert!(run >= PROGRAMS.len(), "{run} runs: are the pages still there?");
}

#[test]
fn ranks_of_a_job_run_the_host_program() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host-{}", std::process::id()));
    let (_, path) = PROGRAMS.iter().find(|(name, _)| *name == "host").expect("the book has a host program");
    let rank = |rank: &str| {
        let mut command = Command::new(path);
        command.arg("processes").env("RANK", rank).env("LOCAL_RANK", rank).env("WORLD_SIZE", "2");
        command.env("MASTER_ADDR", "127.0.0.1").env("HPMOE_ADDRESS_FILE", &file);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    for (number, process) in ["0", "1"].map(rank).into_iter().enumerate() {
        let output = process.wait_with_output().expect("the program ends");
        let printed = String::from_utf8(output.stdout).expect("text");
        assert_eq!(printed, format!("rank {number} of 2 received 14 rows\n"), "{:?}", String::from_utf8(output.stderr));
    }
}

/// What a program prints, which may say that something is wrong.
#[track_caller]
fn print(program: &str, arguments: &[&str], must_succeed: bool) -> String {
    let known = PROGRAMS.iter().find(|(name, _)| *name == program);
    let (_, path) = known.unwrap_or_else(|| panic!("the book has no program `{program}`"));
    let output = Command::new(path).args(arguments).output().expect("the program runs");
    assert!(!must_succeed || output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
}
