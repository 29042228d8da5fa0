//! The words of [`LoopFault`], [`RemoteFault`], [`ArgumentFault`] and [`CallFault`].

use super::sentence::{Sentence, counted};
use crate::finding::{ArgumentFault, CallFault, LoopFault, RemoteFault, RowsFault, SendOfRows};

impl LoopFault {
    pub(super) fn words(&self) -> Sentence {
        let help = "put the call in loops over ranks, their experts and row tiles; over ranks, experts and sends; or over \
                    ranks and token blocks; constant ranges go inside";
        let accessor = match self {
            Self::UnknownTile { accessor, .. } => accessor_help(accessor),
            Self::NotAnExpert { .. } => {
                Some("loop over experts: `for e in route.experts_of(r)`, or `for e in route.experts()` around sends")
            }
            Self::SentToItself { .. } => Some("loop over all experts around the sends: `for e in route.experts()`"),
            Self::UnknownRank { .. } => Some(
                "use the rank of the loop over the rows: `r` for row tiles and token blocks; the sender or `e.owner()` for a send",
            ),
            _ => None,
        };
        (self.problem(), accessor.unwrap_or(help).into())
    }

    fn problem(&self) -> String {
        match self {
            Self::Outside => "this task call is outside any loop over ranks and rows".into(),
            Self::NoItem { variables } => {
                let loops: Vec<String> = variables.iter().map(|variable| format!("`{variable}`")).collect();
                format!(
                    "none of the loops around this call ({}) is over row tiles, experts of a rank, sends or token blocks",
                    loops.join(", ")
                )
            }
            Self::NotAnExpert { item, variable } => {
                format!("the loop over `{item}` needs an expert, but `{variable}` is not one")
            }
            Self::Repeated { variable } => {
                format!("the loop over `{variable}` repeats this call for the same rows")
            }
            Self::SentToItself { send, rank } => format!("`{send}` has only rows that `{rank}` sends to itself"),
            Self::UnknownRank { tensor } => {
                format!("the loops around this call don't determine which rank's part of `{tensor}` this is")
            }
            Self::UnknownTile { tensor, .. } => {
                format!("the loops around this call don't determine this tile of `{tensor}`")
            }
        }
    }
}

/// The loops that an accessor needs.
fn accessor_help(accessor: &str) -> Option<&'static str> {
    Some(match accessor {
        "gather" => {
            "`.gather(&s)` takes the `s` of the innermost loop around the call, `for s in route.sends::<ROWS>(src, e)`; on a \
             tensor of once-sent rows, `.gather(e, m)` takes an expert and its row tile"
        }
        "rows_of" | "scatter" => {
            "`.rows_of(&s)` and `.scatter(&s)` take the send `s` of the innermost loop around the call apart from ranges: \
             `for s in route.sends::<ROWS>(src, e)`"
        }
        "group" => {
            "`.group(e, m)` takes an expert and its row tile: `for m in route.row_tiles::<ROWS>(e)` is the innermost loop \
             around the call apart from ranges"
        }
        "rows" | "slots" => {
            "`.rows(t)` and `.slots(t)` take the token block `t` of the innermost loop around the call apart from ranges: \
             `for t in route.token_blocks::<TOKENS>(r)`"
        }
        "expert" => "`.expert(e)` takes the expert of the loops around the call: `for e in route.experts_of(r)`",
        _ => return None,
    })
}

impl RemoteFault {
    pub(super) fn words(&self, tensor: &str) -> Sentence {
        match self {
            Self::TokensAtSource { send, source } => elsewhere(tensor, &format!("tokens of `{send}`"), source),
            Self::SlotsAtSource { send, source } => elsewhere(tensor, &format!("slots of `{send}`"), source),
            Self::RowsAtOwner { send, expert } => {
                elsewhere(tensor, &format!("rows of `{send}`"), &format!("{expert}.owner()"))
            }
            Self::MatrixAtOwner { expert } => {
                elsewhere(tensor, &format!("matrix of `{expert}`"), &format!("{expert}.owner()"))
            }
            Self::Read => (
                format!("`{tensor}` lies on a different rank than the first tile that this call reads"),
                "a call reads tensors of one rank only: bring the rows to that rank by a put".into(),
            ),
            Self::Write { task } => (
                format!("`{tensor}` lies on a different rank than the tensors that this call reads"),
                format!(
                    "only a put writes to another rank: let `{task}` write a tensor of this rank, and put that by a task \
                     marked `#[comm_put]`, whose body is `to.put(from);`"
                ),
            ),
            Self::NotShared => (
                format!("`{tensor}` lies in memory that other ranks can't reach, but this call puts rows there"),
                "create it by `PerRank::symmetric::<..>`".into(),
            ),
        }
    }
}

/// The message for rows or matrices that lie on another rank than the access says.
fn elsewhere(tensor: &str, what: &str, rank: &str) -> Sentence {
    (
        format!("`{tensor}` of this rank doesn't have the {what}"),
        format!(
            "write `{tensor}[{rank}]`: tokens and slots are at the sender, received rows and experts' matrices at the \
             owner"
        ),
    )
}

impl ArgumentFault {
    pub(super) fn words(&self, task: &str, param: &str) -> Sentence {
        let (expected, given, help) = match self {
            Self::ElementType { expected, given } => (
                expected.to_string(),
                given.to_string(),
                "declare the tensor with that type, or cast in a vector task between them",
            ),
            Self::Rows { expected, given } => (
                format!("{expected} rows"),
                format!("{given} rows"),
                "give the loop and the parameter the same number of rows",
            ),
            Self::Columns { expected, given } => (
                format!("{expected} columns"),
                format!("{given} columns"),
                "cut it with `.cols(n)`, or give the parameter the tensor's width",
            ),
            Self::Mutability { writes } => {
                let (expected, given) = if *writes { ("`&mut`", "`&`") } else { ("`&`", "`&mut`") };
                (expected.into(), given.into(), "`&` reads and `&mut` writes: write it as the task declares it")
            }
        };
        (format!("`{task}` takes {expected} as `{param}`, but this argument has {given}"), help.into())
    }
}

impl CallFault {
    pub(super) fn words(&self) -> Sentence {
        let (problem, help) = match self {
            Self::Accessors { tensor, rows } => return rows.words(tensor),
            Self::ConstArity { task, expected, given } => {
                let [expected, given] = [expected, given].map(|&count| counted(count, "const argument"));
                let help = format!("write a value for each, or `_` if it is the size of a tile, or just `{task}(..)`");
                return (format!("`{task}` takes {expected}, but the call writes {given}"), help);
            }
            Self::NotInferred { task, name, generics } => {
                let sizes = generics.iter().map(|generic| if generic == name { name } else { "_" }).collect::<Vec<_>>();
                let help =
                    format!("state it in the call: `{task}::<{}>(..)`, with a size for `{name}`", sizes.join(", "));
                return (format!("the arguments don't determine `{name}` of `{task}`"), help);
            }
            Self::Index { index, variable, range: true } => {
                let help = format!(
                    "write `{variable}` or `{variable}` plus a constant; for tiles at other places, use several tensors"
                );
                return (
                    format!(
                        "`{index}` is computed from the loop variable `{variable}`, but an index must be a plain variable or constant"
                    ),
                    help,
                );
            }
            Self::Index { index, variable, range: false } => {
                let help =
                    "an index is a constant, or the variable of a loop like `for n in 0..COLUMNS.div_ceil(TILE)`";
                return (
                    format!("`{index}` is not an index of a tile: `{variable}` is not the variable of a range"),
                    help.into(),
                );
            }
            Self::Unmarked { name } => (
                format!("`{name}` is a function without a marker, but a taskflow calls tasks"),
                "mark it `#[aic_task]` (products), `#[aiv_task]` (values) or `#[comm_put]`",
            ),
            Self::DeclaredAndUsed { name, task } => {
                let help =
                    format!("remove one of them, or import the library's task under another name: `{task} as other`");
                return (format!("`{name}` is both declared in this module and imported from the library"), help);
            }
            Self::ShadowedVariable { variable } => {
                (format!("`{variable}` is the variable of a loop around this one"), "give each loop its own variable")
            }
            Self::DeclaredTwice { tensor } => (
                format!("`{tensor}` is declared twice in this taskflow"),
                "give each tensor a unique name: reports refer to tensors by name",
            ),
            Self::WrittenMatrix { tensor } => (
                format!("`{tensor}` is a matrix of the rank, which taskflows can only read"),
                "take it by `&`; a taskflow can write tensors with a row for each token or a matrix for each expert",
            ),
            Self::AccessorOrder => (
                "accessors are in the wrong order".into(),
                "rows first (`.group`, `.rows_of`, `.gather`, `.scatter`, `.rows`, `.slots`, `.expert(e).tile(n)`), then \
                 at most one `.cols(n)`",
            ),
            Self::OuterWithoutRows { tensor } => {
                let problem = format!(
                    "this takes a tile of a tile of `{tensor}`, but the outer tile doesn't state its number of rows"
                );
                let help = "state it as a constant: `.tile::<ROWS>(0).tile(n)`; the task's tile has the rows of the inner tile";
                return (problem, help.into());
            }
            Self::OuterRows { tensor, value, most } => {
                let problem = format!("a tile of {value} rows can't be taken from the {most} rows of `{tensor}`");
                return (problem, format!("choose from 1 to {most} rows"));
            }
            Self::OuterMoves { tensor, size } => {
                let problem = format!(
                    "a range selects the outer tile of {size} rows of `{tensor}`, but an outer tile needs a constant index"
                );
                let help = "write a call for each outer tile, with a constant: `.tile::<ROWS>(0).tile(n)`, then `.tile::<ROWS>(1).tile(n)`";
                return (problem, help.into());
            }
            Self::MatrixTaskOfSend { task, send } => (
                format!("`{task}` is a task of matrix cores, which can't work on the send `{send}`"),
                "multiply row tiles: `for m in route.row_tiles::<ROWS>(e)`",
            ),
            Self::OnceArrivals { task } => (
                format!(
                    "`{task}` can't work on each send of tokens that are sent once: only the put that sends them can"
                ),
                "read the tokens by `.gather(e, m)` in a loop over row tiles of an expert: `for m in \
                 route.row_tiles::<ROWS>(e)`",
            ),
            Self::NotAPut { task } => (
                format!("`{task}` is not a put, but only puts look up rows through the route"),
                "bring the rows by a put, and work on `.group(e, m)` or `.rows_of(&s)`",
            ),
            Self::UnknownPut => (
                "no put connects these rows".into(),
                "put whole rows: `&x[src].gather(&s)` (of tokens or slots) to `&mut t[e.owner()].rows_of(&s)`, \
                 `&t[e.owner()].rows_of(&s)` to `&mut slots[src].scatter(&s)`, or, of tokens sent once, \
                 `&once[r].gather(e, m)` to `&mut t[r].group(e, m)`",
            ),
        };
        (problem, help.into())
    }
}

impl RowsFault {
    fn words(&self, tensor: &str) -> Sentence {
        let help = match self {
            Self::Tokens => {
                "take `.gather(&s)` of a send, or `.rows(t)` of a token block; use a `Matrix` for data that all tokens share"
            }
            Self::Slots => "take `.scatter(&s)` or `.gather(&s)` of a send, or `.slots(t)` of a token block",
            Self::Received => {
                "take `.group(e, m)` of a row tile, `.expert(e)` for all rows, or `.rows_of(&s)` of a send"
            }
            Self::Once => {
                "take `.rows_of(&s)` of a send of `sends_once`, or `.gather(e, m)` of a row tile for the rows of its \
                 tokens"
            }
            Self::Experts => "take `.expert(e)`, or `.expert(e).tile(n)`",
            Self::Matrix => "take `.tile(n)` or `.cols(n)`",
            Self::Routed => {
                "make a route from it, `Route::of::<EXPERTS>(ep, routed)`, or keep a route in it, `route.keep(routed)`"
            }
            Self::ReceivedBySendOnce(send) | Self::SlotsBySendOnce(send) => {
                return self.of_other_send(tensor, send, "tokens once", "sends", "once");
            }
            Self::OnceBySend(send) => {
                return self.of_other_send(tensor, send, "each (token, k)", "sends_once", "symmetric");
            }
        };
        let rows = self.rows();
        let problem = match self {
            Self::Routed => format!("`{tensor}` has {rows}"),
            _ => format!("this argument doesn't select rows of `{tensor}`, which has {rows}"),
        };
        (problem, help.into())
    }

    fn of_other_send(&self, tensor: &str, send: &SendOfRows, sent: &str, other: &str, constructor: &str) -> Sentence {
        let (rows, SendOfRows { send, source, expert }) = (self.rows(), send);
        (
            format!("`{tensor}` has {rows}, but `{send}` sends {sent}"),
            format!(
                "loop over `route.{other}::<ROWS>({source}, {expert})`, or put to a tensor of `PerRank::{constructor}`"
            ),
        )
    }

    fn rows(&self) -> &'static str {
        match self {
            Self::Tokens => "a row for each token of the rank",
            Self::Slots | Self::SlotsBySendOnce(_) => "a row for each (token, k) of the rank",
            Self::Received | Self::ReceivedBySendOnce(_) => "a row for each token received",
            Self::Once | Self::OnceBySend(_) => "a row for each token sent once to the rank",
            Self::Experts => "a matrix for each expert of the rank",
            Self::Matrix => "one matrix for all tokens of the rank",
            Self::Routed => "the words of a kept route, which no task reads or writes",
        }
    }
}
