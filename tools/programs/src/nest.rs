//! Loops around calls.

use std::fmt::Write as _;

/// The loops that choose the rows of calls. The number of a variant is the maximum number of rows of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    Blocks(usize),
    /// Token blocks of a tensor, before the route is made.
    EarlyBlocks(usize),
    Sends(usize),
    SendsOnce(usize),
    RowTiles(usize),
    Experts,
}

/// A call of a task, with the ranges that choose its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) text: String,
    /// The names of loop variables, each with its number of tiles.
    pub(crate) ranges: Vec<(&'static str, usize)>,
    /// Whether the first range is written as separate calls instead of a loop.
    pub(crate) unrolled: bool,
}

impl Call {
    fn write(&self, to: &mut String, indent: &str) {
        match self.ranges.split_first() {
            Some((&(variable, count), [])) if self.unrolled => {
                for number in 0..count {
                    let text = self.text.replace(&format!("({variable})"), &format!("({number})"));
                    let _ = writeln!(to, "{indent}{text}");
                }
            }
            _ => {
                let open: String =
                    self.ranges.iter().map(|(variable, count)| format!("for {variable} in 0..{count} {{ ")).collect();
                let _ = writeln!(to, "{indent}{open}{}{}", self.text, " }".repeat(self.ranges.len()));
            }
        }
    }
}

/// Loops and the calls in them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Nest {
    pub(crate) space: Space,
    pub(crate) calls: Vec<Call>,
}

impl Nest {
    /// The text of the loops. `route` has the methods that the loops iterate over, and `tokens` is a tensor of tokens.
    pub(crate) fn text(&self, route: &str, tokens: &str, indent: &str) -> String {
        let loops = match self.space {
            Space::Blocks(block) => vec!["r in ep".to_owned(), format!("t in {route}.token_blocks::<{block}>(r)")],
            Space::EarlyBlocks(block) => {
                vec!["r in ep".to_owned(), format!("t in {tokens}.token_blocks::<{block}>(r)")]
            }
            Space::Sends(put) => sends(route, &format!("sends::<{put}>")),
            Space::SendsOnce(put) => sends(route, &format!("sends_once::<{put}>")),
            Space::RowTiles(rows) => vec![
                "r in ep".to_owned(),
                format!("e in {route}.experts_of(r)"),
                format!("m in {route}.row_tiles::<{rows}>(e)"),
            ],
            Space::Experts => vec!["r in ep".to_owned(), format!("e in {route}.experts_of(r)")],
        };
        let mut text = String::new();
        for (depth, header) in loops.iter().enumerate() {
            let _ = writeln!(text, "{indent}{}for {header} {{", "    ".repeat(depth));
        }
        let inner = format!("{indent}{}", "    ".repeat(loops.len()));
        self.calls.iter().for_each(|call| call.write(&mut text, &inner));
        for depth in (0..loops.len()).rev() {
            let _ = writeln!(text, "{indent}{}}}", "    ".repeat(depth));
        }
        text
    }
}

fn sends(route: &str, pieces: &str) -> Vec<String> {
    vec!["src in ep".to_owned(), format!("e in {route}.experts()"), format!("s in {route}.{pieces}(src, e)")]
}
