//! Checks that the commands `hpmoe …` in the book print what its pages show, and draw the pictures on its pages.

#[allow(dead_code, reason = "the book's own tests use the rest")]
#[path = "../../../../docs/book/tests/all/pages.rs"]
mod pages;
#[path = "../../../../docs/book/tests/all/pattern.rs"]
mod pattern;

use pages::{pages, root};
use pattern::difference;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The folder of the guide's pictures. Those that its commands draw are compared with them or, with `HPMOE_BLESS=1`,
/// replace them.
const PICTURES: &str = "docs/guide";

#[test]
fn commands_print_and_draw_what_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    // Commands write next to the files that they read, as at the repository's root.
    for name in ["docs", "examples"] {
        symlink(root().join(name), folder.path().join(name)).expect("a link");
    }
    let mut run = 0;
    for page in pages() {
        for (place, shown) in page.commands() {
            let words: Vec<&str> = shown.command.split(' ').collect();
            let ["hpmoe", ref arguments @ ..] = words[..] else { continue };
            run += 1;
            let printed = print(arguments, folder.path(), shown.output.is_empty());
            if let Some(part) = difference(&shown.output, &printed) {
                panic!("{place}: `{}` doesn't print this part:\n{part}\nbut:\n{printed}", shown.command);
            }
        }
    }
    assert!(run >= 8, "{run} commands: are the pages still there?");
    compare_pictures(folder.path());
}

/// Runs a command and returns its output. If `must_succeed` is false, the command may report faults.
fn print(arguments: &[&str], folder: &Path, must_succeed: bool) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hpmoe")).args(arguments).current_dir(folder).output();
    let output = output.expect("the command runs");
    assert!(!must_succeed || output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
}

/// Checks that the folder and the guide contain the same pictures.
fn compare_pictures(folder: &Path) {
    let pictures = root().join(PICTURES);
    let drawn = names_of_pictures(folder);
    for name in &drawn {
        let text = fs::read_to_string(folder.join(name)).expect("a picture");
        if std::env::var_os("HPMOE_BLESS").is_some() {
            fs::write(pictures.join(name), &text).expect("the guide can be written");
        }
        let shown = fs::read_to_string(pictures.join(name)).unwrap_or_default();
        assert!(
            shown == text,
            "{PICTURES}/{name} is not what the command draws: HPMOE_BLESS=1 cargo test -p hpmoe-cli --test command book"
        );
    }
    assert_eq!(names_of_pictures(&pictures), drawn, "a picture of {PICTURES} is drawn by no command");
}

fn names_of_pictures(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("a file").file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = fs::read_dir(folder).expect("a folder").map(name).collect();
    names.retain(|name| name.ends_with(".svg"));
    names.sort();
    names
}
