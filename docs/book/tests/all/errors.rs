//! The chapter about errors has every code that the compiler gives, and no other.

use crate::links::headings;
use crate::pages::{Page, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const CHAPTER: &str = "docs/guide/errors.md";

/// The code of an error that no kernel causes, so that there is none to show.
const FAULT_OF_HPMOE: &str = "HP90";

#[test]
fn every_code_has_a_section_with_a_real_message() {
    let page = Page::read(Path::new(CHAPTER));
    let sections: Vec<String> =
        headings(&page).iter().filter_map(|heading| Some(heading.split_once(':')?.0.to_owned())).collect();
    let codes = codes();
    assert_eq!(
        sections.iter().cloned().collect::<BTreeSet<_>>(),
        codes,
        "{CHAPTER} has a heading `HP01: …` for each code"
    );
    assert!(
        sections.is_sorted() && sections.len() == codes.len(),
        "{CHAPTER}: codes in order, each once: {sections:?}"
    );
    // Blocks are parts of files or outputs, as other tests check.
    let shown: String = page.blocks().iter().map(|block| block.text.as_str()).collect();
    for code in codes.iter().filter(|code| *code != FAULT_OF_HPMOE) {
        assert!(shown.contains(&format!("[{code}]")), "{CHAPTER} shows no message with [{code}]");
    }
}

/// The codes in the sources of the packages that make errors of kernels: `HP` and two digits.
fn codes() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut open = ["hpmoe-macros/expansion/src", "hpmoe-core/src", "hpmoe-core/build/src"]
        .map(|folder| root().join(folder))
        .to_vec();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder of sources").map(|entry| entry.expect("a file").path()));
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        codes.extend(
            text.match_indices("HP").filter_map(|(at, _)| text.get(at..at + 4)).filter(is_code).map(str::to_owned),
        );
    }
    codes
}

fn is_code(text: &&str) -> bool {
    text[2..].bytes().all(|byte| byte.is_ascii_digit())
}
