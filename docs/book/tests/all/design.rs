//! DESIGN.md stays short, and each page of docs/design has the same headings and a line in the index.

use crate::links::headings;
use crate::pages::{Page, pages};
use std::path::Path;

/// The maximum size of DESIGN.md, in bytes: a mechanism has a page of its own.
const MOST_BYTES: usize = 12 * 1024;

/// Headings of a page about a mechanism, below its title.
const HEADINGS: [&str; 5] = ["Problem", "Rule", "Where it lives", "What it gains", "When it is off"];

/// Pages that are not about a mechanism.
const OTHERS: [&str; 2] = ["README.md", "scheduling-ideas.md"];

#[test]
fn the_map_of_the_code_is_short() {
    let bytes = Page::read(Path::new("DESIGN.md")).text.len();
    assert!(
        bytes <= MOST_BYTES,
        "DESIGN.md has {bytes} bytes, but at most {MOST_BYTES}: move a mechanism to docs/design"
    );
}

#[test]
fn pages_about_mechanisms_have_the_same_headings_and_are_in_the_index() {
    let index = Page::read(Path::new("docs/design/README.md")).text;
    let mut faults = Vec::new();
    let mut mechanisms = 0;
    for page in pages().iter().filter(|page| page.path.starts_with("docs/design")) {
        let name = page.path.file_name().expect("a page is a file").to_string_lossy().into_owned();
        if name != OTHERS[0] && !index.contains(&format!("]({name}) |")) {
            faults.push(format!("docs/design/README.md has no row for {name}"));
        }
        if OTHERS.contains(&&*name) {
            continue;
        }
        mechanisms += 1;
        if headings(page)[1..] != HEADINGS {
            faults.push(format!("{}: the headings below the title are {}", page.path.display(), HEADINGS.join(", ")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(mechanisms > 40, "{mechanisms} pages: are they still there?");
}
