//! The programs of the book print what the pages show. Commands `hpmoe …` are run by the tests of that command.

use crate::pages::pages;
use crate::pattern::difference;
use std::process::Command;

/// The programs, as cargo has built them for these tests.
const PROGRAMS: [(&str, &str); 6] = [
    ("first", env!("CARGO_BIN_EXE_first")),
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

/// What a program prints, which may say that something is wrong.
#[track_caller]
fn print(program: &str, arguments: &[&str], must_succeed: bool) -> String {
    let known = PROGRAMS.iter().find(|(name, _)| *name == program);
    let (_, path) = known.unwrap_or_else(|| panic!("the book has no program `{program}`"));
    let output = Command::new(path).args(arguments).output().expect("the program runs");
    assert!(!must_succeed || output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
}
