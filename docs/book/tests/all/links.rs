//! Links lead to pages and headings that exist, every page is in the contents, and files that are named in code spans are there.

use crate::pages::{Page, pages, root};
use pulldown_cmark::{Event, Tag, TagEnd};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Pages next to the book, whose links lead anywhere in the repository.
pub(crate) const OTHERS: [&str; 7] = [
    "README.md",
    "CHANGELOG.md",
    "DESIGN.md",
    "CONTRIBUTING.md",
    "kernels/README.md",
    "python/README.md",
    "tools/standin/README.md",
];

#[test]
fn links_lead_somewhere() {
    let others = OTHERS.map(|path| Page::read(Path::new(path)));
    let mut faults = Vec::new();
    for page in pages().iter().chain(&others) {
        for (link, line) in links(page) {
            faults.extend(fault(page, &link).map(|fault| format!("{}: `{link}` {fault}", page.place(line))));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong with a link, if anything is.
fn fault(page: &Page, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = match path {
        "" => page.path.clone(),
        path => plain(&page.path.parent()?.join(path)),
    };
    if !root().join(&target).exists() {
        return Some("leads nowhere".to_owned());
    }
    let of_book = |path: &Path| path.starts_with("docs");
    if of_book(&page.path) && of_book(&target) && !page.path.ends_with("SUMMARY.md") && target.ends_with("README.md") {
        return Some(
            "is the page of its folder: link to the folder, which all that show Markdown understand".to_owned(),
        );
    }
    let heading = heading?;
    let there = headings(&Page::read(&target)).iter().any(|title| anchor(title) == heading);
    (!there).then(|| format!("names no heading of {}", target.display()))
}

/// The same path without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        match component {
            Component::ParentDir => _ = path.pop(),
            other => path.push(other),
        }
        path
    })
}

fn links(page: &Page) -> Vec<(String, usize)> {
    let link = |(event, line)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some((dest_url.to_string(), line)),
        _ => None,
    };
    page.events().filter_map(link).collect()
}

/// The texts of all headings.
pub(crate) fn headings(page: &Page) -> Vec<String> {
    let (mut headings, mut open) = (Vec::new(), None);
    for (event, _) in page.events() {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { .. }), _) => open = Some(String::new()),
            (Event::End(TagEnd::Heading(_)), _) => headings.extend(open.take()),
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.push_str(&text),
            _ => {}
        }
    }
    headings
}

/// The id that a heading gets, of mdbook as of others that render Markdown.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.chars().filter_map(kept).collect()
}

#[test]
fn the_contents_name_every_page_once() {
    let contents = Page::read(Path::new("docs/SUMMARY.md"));
    let named: Vec<PathBuf> = links(&contents).iter().map(|(link, _)| Path::new("docs").join(link)).collect();
    let expected: BTreeSet<PathBuf> =
        pages().into_iter().map(|page| page.path).filter(|path| *path != contents.path).collect();
    assert_eq!(named.iter().cloned().collect::<BTreeSet<_>>(), expected, "docs/SUMMARY.md has every page of docs/");
    assert_eq!(named.len(), expected.len(), "docs/SUMMARY.md names a page twice");
}

#[test]
fn files_in_code_spans_exist() {
    let entry = |entry: std::io::Result<fs::DirEntry>| entry.expect("a file of the root").path();
    let folders: Vec<String> = fs::read_dir(root())
        .expect("the root can be read")
        .map(entry)
        .filter(|path| path.is_dir() && !path.ends_with("target"))
        .filter_map(|path| Some(format!("{}/", path.file_name()?.to_str()?)))
        .collect();
    let documents = ["DESIGN.md", "CONTRIBUTING.md"].map(|path| Page::read(Path::new(path)));
    for page in pages().iter().chain(&documents) {
        for (event, line) in page.events() {
            let Event::Code(span) = event else { continue };
            if folders.iter().any(|folder| span.starts_with(folder)) && !span.contains([' ', '*', '…', '<']) {
                let path = span.split(':').next().unwrap_or_default();
                assert!(root().join(path).exists(), "{}: there is no file `{path}`", page.place(line));
            }
        }
    }
}
