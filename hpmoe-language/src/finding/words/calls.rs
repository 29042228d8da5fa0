//! The words of [`Loops`], [`Remote`] and [`CallFault`].

use crate::finding::{CallFault, Loops, Remote, SendKind};
use crate::graph::RowKind;

impl Loops {
    /// The fault; all have one way out.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::Outside => "a task call outside of loops over ranks and rows".into(),
            Self::NoItem { variables } => {
                let loops: Vec<String> = variables.iter().map(|variable| format!("`{variable}`")).collect();
                format!(
                    "the loops around this call ({}) choose no expert of a rank, no row tile of it, no send and no \
                     token block",
                    loops.join(", ")
                )
            }
            Self::Repeated { variable } => {
                format!("the loop over `{variable}` repeats this call for the same rows")
            }
            Self::SentToItself { send, rank } => format!("`{send}` is only what `{rank}` sends to itself"),
            Self::UnknownRank { tensor } => {
                format!("the loops around this call don't say which rank's part of `{tensor}` this is")
            }
            Self::UnknownTile { tensor } => {
                format!("this tile of `{tensor}` is not chosen by the loops around the call")
            }
        }
    }
}

impl Remote {
    /// The fault of a tensor and the way out.
    pub(super) fn words(&self, tensor: &str) -> (String, String) {
        match self {
            Self::OtherEnd { what, rank } => (
                format!("`{tensor}` of this rank doesn't have the {what}"),
                format!(
                    "write `{tensor}[{rank}]`: tokens and slots are at the sender, received rows and experts at the \
                     owner"
                ),
            ),
            Self::Read => (
                format!("`{tensor}` lies on another rank than what this call reads first"),
                "a call reads on one rank; let a put bring the rows there".into(),
            ),
            Self::Write { task } => (
                format!("`{tensor}` lies on another rank than what this call reads"),
                format!("only a put writes to another rank: mark `{task}` `#[comm_put]`"),
            ),
        }
    }
}

impl CallFault {
    /// The fault and the way out.
    pub(super) fn words(&self) -> (String, String) {
        let (problem, help) = match self {
            Self::Accessors { tensor, rows, send } => return accessors(tensor, *rows, send.as_ref()),
            Self::NotInferred { task, name } => {
                let help = format!("write it: `{task}::<…>(..)`");
                return (format!("the arguments don't say what `{name}` of `{task}` is"), help);
            }
            Self::DeclaredAndUsed { name, task } => {
                let help = format!("remove one of them, or use the library's by another name: `{task} as other`");
                return (format!("`{name}` is declared in this module, and used from the library"), help);
            }
            Self::ShadowedVariable { variable } => (
                format!("`{variable}` is the variable of a loop around this one"),
                "give each loop a variable of its own",
            ),
            Self::DeclaredTwice { tensor } => (
                format!("`{tensor}` is declared twice in this taskflow"),
                "give each tensor a name of its own: reports speak of them by name",
            ),
            Self::WrittenMatrix { tensor } => (
                format!("`{tensor}` is a matrix of the rank, which a taskflow only reads"),
                "take it by `&`; what is written has a row for each token, or a matrix for each expert",
            ),
            Self::AccessorOrder => (
                "this accessor can't stand here".into(),
                "rows first (`.group`, `.rows_of`, `.gather`, `.scatter`, `.rows`, `.slots`, `.expert(e).tile(n)`), then \
                 at most one `.cols(n)`",
            ),
            Self::MatrixTaskOfSend { task, send } => (
                format!("`{task}` is a task of matrix cores, and `{send}` is a send"),
                "multiply row tiles: `for m in route.row_tiles::<ROWS>(e)`",
            ),
            Self::OnceArrivals { task } => (
                format!("`{task}` would run where tokens that are sent once arrive"),
                "read them by `.gather(e, m)` in a loop over row tiles of an expert: `for m in \
                 route.row_tiles::<ROWS>(e)`",
            ),
            Self::NotAPut { task } => (
                format!("`{task}` is not a put, and only puts look up rows through the route"),
                "let a put bring the rows, and work on `.group(e, m)` or `.rows_of(&s)`",
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

fn accessors(tensor: &str, rows: RowKind, send: Option<&SendKind>) -> (String, String) {
    let (has, help) = match rows {
        RowKind::Token => {
            ("a row for each token of the rank", "take `.gather(&s)` of a send, or `.rows(t)` of a token block")
        }
        RowKind::Slot => (
            "a row for each (token, k) of the rank",
            "take `.scatter(&s)` or `.gather(&s)` of a send, or `.slots(t)` of a token block",
        ),
        RowKind::Received => (
            "a row for each token received",
            "take `.group(e, m)` of a row tile, `.expert(e)` for all rows, or `.rows_of(&s)` of a send",
        ),
        RowKind::Once => (
            "a row for each token sent once to the rank",
            "take `.rows_of(&s)` of a send of `sends_once`, or `.gather(e, m)` of a row tile for the rows of its tokens",
        ),
        RowKind::Expert { .. } => {
            ("a matrix for each expert of the rank", "take `.expert(e)`, or `.expert(e).tile(n)`")
        }
        RowKind::Matrix { .. } => ("one matrix for all tokens of the rank", "take `.tile(n)` or `.cols(n)`"),
    };
    let Some(SendKind { send, once, source, expert }) = send else {
        return (format!("`{tensor}` has {has}"), help.into());
    };
    let (sent, other, constructor) =
        if *once { ("tokens once", "sends", "once") } else { ("each (token, k)", "sends_once", "symmetric") };
    (
        format!("`{tensor}` has {has}, and `{send}` sends {sent}"),
        format!(
            "loop over `route.{other}::<ROWS>({source}, {expert})`, or put to a tensor of `PerRank::{constructor}`"
        ),
    )
}
