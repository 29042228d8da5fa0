//! The pages of the book: the Markdown files of docs/, with their blocks of code, links and headings.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::fs;
use std::path::{Path, PathBuf};

/// A page.
pub(crate) struct Page {
    /// From the repository's root on.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced block of code.
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) text: String,
    /// The line of the page that it begins in.
    pub(crate) line: usize,
    /// The file that the comment above it names: `<!-- docs/book/programs/layer.rs -->`.
    pub(crate) source: Option<String>,
}

/// A command of a block `console`, and what it prints.
pub(crate) struct Command {
    pub(crate) command: String,
    pub(crate) output: String,
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("packages lie in the repository")
}

/// All pages, in the order of their names.
pub(crate) fn pages() -> Vec<Page> {
    let (root, mut pages, mut folders) = (root(), Vec::new(), vec![root().join("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("docs/ can be read") {
            let path = entry.expect("a file of docs/").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let path = path.strip_prefix(&root).expect("below the root").to_owned();
                pages.push(Page::read(&path));
            }
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    pages
}

impl Page {
    /// The page at a path from the repository's root on.
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path: path.to_owned(), text }
    }

    /// The documentation comments of a source file, each line in its place.
    pub(crate) fn documentation(path: &Path) -> Self {
        let Self { path, text } = Self::read(path);
        let comment = |line: &str| {
            let line = line.trim_start();
            let text = line.strip_prefix("//!").or(line.strip_prefix("///")).unwrap_or_default();
            format!("{}\n", text.strip_prefix(' ').unwrap_or(text))
        };
        Self { path, text: text.lines().map(comment).collect() }
    }

    /// A place in the page, as editors take it.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// All events of the page, each with the line that it begins in.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Event<'_>, usize)> {
        let line_of = |at: usize| self.text[..at].matches('\n').count() + 1;
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
            .into_offset_iter()
            .map(move |(event, range)| (event, line_of(range.start)))
    }

    /// All fenced blocks of code.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let (mut blocks, mut open, mut source) = (Vec::new(), None, None);
        for (event, line) in self.events() {
            match event {
                Event::Html(html) => source = comment(&html),
                Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    let (language, source) = (language.to_string(), source.take());
                    open = Some(Block { language, text: String::new(), line, source });
                }
                Event::Text(text) if open.is_some() => open.as_mut().expect("a block is open").text.push_str(&text),
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                _ => source = None,
            }
        }
        blocks
    }

    /// All commands of blocks `console`, with their places.
    pub(crate) fn commands(&self) -> Vec<(String, Command)> {
        let sessions = self.blocks().into_iter().filter(|block| block.language == "console");
        sessions
            .flat_map(|block| commands(&block.text).into_iter().map(move |command| (block.line, command)))
            .map(|(line, command)| (self.place(line), command))
            .collect()
    }
}

fn comment(html: &str) -> Option<String> {
    let path = html.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    // Other comments are sentences.
    (!path.contains(' ')).then(|| path.to_owned())
}

/// The commands of a session: lines that begin with `$ `, each with the lines up to the next one.
fn commands(session: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in session.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(Command { command: command.to_owned(), output: String::new() }),
            (None, Some(last)) => last.output += &format!("{line}\n"),
            (None, None) => panic!("a session begins with a command, `$ …`, but here with: {line}"),
        }
    }
    commands
}
