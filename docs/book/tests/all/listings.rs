//! Every listing is part of a file that this repository compiles or tests.

use crate::pages::{Block, Page, pages, root};
use std::fs;
use std::path::Path;

/// The language of blocks that show commands.
const SESSION: &str = "console";

/// Languages of blocks that show a file on every page; in the guide, all others do.
const CODE: [&str; 2] = ["rust", "cpp"];

#[test]
fn every_listing_is_part_of_its_file() {
    let mut faults = Vec::new();
    let mut listings = 0;
    let documented = Page::documentation(Path::new("hpmoe-macros/src/lib.rs"));
    let readme = Page::read(Path::new("README.md"));
    for page in pages().into_iter().chain([documented, readme]) {
        let (book, guide) = (page.path.starts_with("docs"), page.path.starts_with("docs/guide"));
        for block in page.blocks() {
            let place = page.place(block.line);
            match &block.source {
                Some(source) => {
                    listings += 1;
                    faults.extend(fault(&block, source).map(|fault| format!("{place}: {fault}")));
                }
                None if guide && block.language != SESSION || book && CODE.contains(&&*block.language) => faults.push(format!(
                    "{place}: this block shows no file: name it in a comment above, `<!-- docs/book/programs/layer.rs -->`, or write a \
                     session, of language `{SESSION}`"
                )),
                None => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(listings > 20, "{listings} listings: are the pages still there?");
}

fn fault(block: &Block, source: &str) -> Option<String> {
    match fs::read_to_string(root().join(source)) {
        Ok(file) => missing(&block.text, &file)
            .map(|line| format!("{source} doesn't have this listing's line, or has it elsewhere: {line}")),
        Err(error) => Some(format!("{source}: {error}")),
    }
}

/// The first line of a listing that the file lacks. Indentation doesn't count, and a line of `…` stands for lines that are left out.
fn missing<'a>(listing: &'a str, file: &str) -> Option<&'a str> {
    let file: Vec<&str> = file.lines().map(str::trim).collect();
    let listing: Vec<&str> = listing.lines().map(str::trim).collect();
    let mut from = 0;
    for run in listing.split(|line| ["…", "// …", "# …"].contains(line)).filter(|run| !run.is_empty()) {
        let shared = |at: usize| run.iter().zip(&file[at..]).take_while(|(a, b)| a == b).count();
        match (from..file.len()).find(|&at| shared(at) == run.len()) {
            Some(at) => from = at + run.len(),
            None => {
                return (from..file.len()).map(shared).max().and_then(|most| run.get(most)).or(run.first()).copied();
            }
        }
    }
    None
}

#[test]
fn a_changed_line_is_found() {
    let file = "fn a() {\n    one();\n    two();\n}\nfn b() {\n    three();\n}\n";
    assert_eq!(missing("one();\ntwo();", file), None);
    assert_eq!(missing("fn a() {\n    …\n}\n// …\n    three();", file), None);
    assert_eq!(missing("fn a() {\n    two();", file), Some("two();"));
    assert_eq!(missing("three();\n…\none();", file), Some("one();"));
    assert!(Path::new(&root()).join("Cargo.toml").exists());
}
