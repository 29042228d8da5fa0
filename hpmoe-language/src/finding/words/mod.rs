//! The words of every finding, each with a code and a way out. Files of this folder hold those of one stage.

mod bodies;
mod calls;
mod chunks;
mod numbers;
mod syntax;

use super::{Diagnostic, Finding, Site, Words};
use crate::plan::Overflow;
use crate::units::Bytes;
use hpmoe_kernels::op::TaskKind;
use hpmoe_kernels::ops;
use std::fmt::Write as _;

impl Diagnostic {
    /// What the user reads.
    #[must_use]
    pub fn words(&self) -> Words {
        let (code, message, help) = sentence(&self.finding);
        Words {
            code,
            message,
            help,
            also: also(&self.finding).into_iter().map(|(site, text)| (site.0, text)).collect(),
        }
    }

    /// Message and help as one text, for `compile_error!` and terminals.
    #[must_use]
    pub fn text(&self) -> String {
        let words = self.words();
        let (first, rest) = words.message.split_at(words.message.find('\n').unwrap_or(words.message.len()));
        format!("{first} [{}]{rest}\nhelp: {}", words.code, words.help)
    }
}

fn sentence(finding: &Finding) -> (&'static str, String, String) {
    match finding {
        Finding::Syntax(fault) => with_code("HP01", fault.words()),
        Finding::Unknown { what, name, nearest } => (
            "HP02",
            format!("no {what} is called `{name}`"),
            match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => declare(what),
            },
        ),
        Finding::MissingConstant { name } => (
            "HP03",
            format!("a kernel module declares `{name}`"),
            format!(
                "add `pub const {name}: usize = …;` ({})",
                match *name {
                    "EXPERTS" => "experts of the whole group",
                    "TOP_K" => "experts per token",
                    _ => "most tokens that one rank may bring",
                }
            ),
        ),
        Finding::Constant(fault) => (
            "HP04",
            fault.problem(),
            "constants are literals, `+ - * / %`, `div_ceil`, `min`, `max` and constants of this module".into(),
        ),
        Finding::Number(fault) => (
            "HP04",
            fault.problem(),
            "numbers are f32: literals, `+ - * /`, constants of this module, and sizes as `(SIZE as f32)`".into(),
        ),
        Finding::OutOfRange(fault) => ("HP04", fault.problem(), "choose another size".into()),
        Finding::Misfit { misfit, .. } => {
            (if misfit.types { "HP06" } else { "HP05" }, misfit.problem.clone(), misfit.help.clone())
        }
        Finding::WrongCore { operation, kind, cores } => (
            "HP07",
            format!("{} have no `{operation}`", plural(*kind)),
            format!(
                "{} have it: mark the task {}, or split it in two tasks with a tensor between them",
                cores.iter().map(|core| plural(*core)).collect::<Vec<_>>().join(" and "),
                cores.iter().map(|core| format!("`{}`", core.marker())).collect::<Vec<_>>().join(" or "),
            ),
        ),
        Finding::Argument { task, param, expected, found, what } => (
            if *what == "element type" { "HP06" } else { "HP05" },
            format!("`{task}` takes {expected} as `{param}`, and this argument has {found}"),
            match *what {
                "element type" => "declare the tensor with that type, or cast in a vector task between them".into(),
                "columns" => "cut it with `.cols(n)`, or give the parameter the tensor's width".into(),
                "rows" => "give the loop and the parameter the same number of rows".into(),
                _ => "`&` reads and `&mut` writes: write it as the task declares it".into(),
            },
        ),
        Finding::Arity { task, expected, found } => (
            "HP05",
            format!("`{task}` has {expected} parameters, and {found} arguments are given"),
            "give one tile for each parameter, in order".into(),
        ),
        Finding::Loops(fault) => (
            "HP08",
            fault.problem(),
            "a call stands in loops over: ranks, their experts, row tiles; or ranks, experts, sends; or ranks, token \
             blocks; each with constant ranges inside"
                .into(),
        ),
        Finding::Remote { tensor, fault } => with_code("HP09", fault.words(tensor)),
        Finding::NeverWritten { tensor, later: None, .. } => (
            "HP10",
            format!("`{tensor}` is read, and nothing writes it"),
            "write it by a task before this call, or take it as a parameter of the taskflow".into(),
        ),
        Finding::NeverWritten { tensor, later: Some(_), .. } => (
            "HP10",
            format!("`{tensor}` is read before it is written"),
            "move this call after the call that writes it".into(),
        ),
        Finding::PartlyWritten { tensor, from, columns, .. } => (
            "HP10",
            format!("columns {from} to {columns} of `{tensor}` are read, and nothing writes them"),
            "let the range around the writing call run to `COLUMNS.div_ceil(TILE)`".into(),
        ),
        Finding::EmptyTile { tensor, index, size, extent, what, fixed } => (
            "HP11",
            format!("tile {index} of {size} {what} starts after the {extent} {what} of `{tensor}`"),
            format!(
                "{} {} (`{extent}.div_ceil({size})`)",
                if *fixed { "choose one below" } else { "end the range at" },
                extent.div_ceil(*size)
            ),
        ),
        Finding::StillWritten { tensor, variable, .. } => (
            "HP13",
            format!(
                "`{tensor}` is read inside the loop over `{variable}` whose later iterations still write what is read"
            ),
            format!("end the loop over `{variable}` after the call that writes, and begin another for this call"),
        ),
        Finding::InPlace { tensor } => (
            "HP10",
            format!("`{tensor}` is read by the call that writes it"),
            "give the result a tensor of its own".into(),
        ),
        Finding::Uneven { task, operation, left, right, .. } => (
            "HP05",
            format!("`{task}` doesn't fit these tiles: its `{operation}` takes {left} with {right}"),
            "choose tiles that end where the others end: of tensors of as many columns, by the same index".into(),
        ),
        Finding::LongRow { tensor, step, most } => (
            "HP14",
            format!(
                "the rows of `{tensor}` lie {step} elements apart, and a copy to a matrix core steps by at most {most}"
            ),
            "give what is multiplied a tensor of fewer columns".into(),
        ),
        Finding::OutputUnwritten { tensor } => {
            ("HP10", format!("`{tensor}` is an output, and nothing writes it"), "write it, or take it by `&`".into())
        }
        Finding::ReadOnly { tensor, .. } => {
            ("HP12", format!("`{tensor}` is written, and the taskflow holds it by `&`"), "take it by `&mut`".into())
        }
        Finding::TwoWriters { tensor, repeats: Some(variable), .. } => (
            "HP13",
            format!("every `{variable}` writes the same elements of `{tensor}`, in no order"),
            format!("let `{variable}` choose the tile that is written, or move the call out of that loop"),
        ),
        Finding::TwoWriters { tensor, repeats: None, .. } => (
            "HP13",
            format!("`{tensor}` has two writers with no order between them"),
            "give each writer columns or a tensor of its own".into(),
        ),
        Finding::WriteAfterRead { tensor, .. } => (
            "HP13",
            format!("`{tensor}` is written here after an earlier call reads it"),
            "a tensor is written before it is read, once a launch: write to a tensor of its own".into(),
        ),
        Finding::Overflow { task, overflow } => {
            let Overflow { memory, capacity, needed, piece, contributors, help } = overflow;
            let mut message = format!("`{task}`: {piece} needs {needed} of {memory}, which has {capacity}");
            for (name, bytes) in contributors {
                let _ = write!(message, "\n  {bytes:>14}  {name}", bytes = bytes.to_string());
            }
            ("HP14", message, help.clone())
        }
        Finding::NoEffect { task, param } => {
            ("HP15", format!("`{task}` never writes `{param}`"), "store a value to it, or take it by `&`".into())
        }
        Finding::Call(fault) => with_code("HP16", fault.words()),
        Finding::Body(fault) => with_code("HP16", fault.words()),
        Finding::Chunk(fault) => with_code("HP16", fault.words()),
    }
}

fn with_code(code: &'static str, (message, help): (String, String)) -> (&'static str, String, String) {
    (code, message, help)
}

/// Digits in groups of three, as `65,535`.
fn grouped(number: usize) -> String {
    let bytes = Bytes(number as u64).to_string();
    bytes.trim_end_matches(" B").to_owned()
}

/// Where such a thing is declared.
fn declare(what: &str) -> String {
    match what {
        "operation" => {
            let mut names: Vec<String> = ops::TABLE.iter().map(|operation| format!("`{}`", operation.name())).collect();
            names.dedup();
            format!("there are {}", names.join(", "))
        }
        "value" => "name a parameter of the task or a `let` above".to_owned(),
        "loop variable" => "name the variable of a loop around this one".to_owned(),
        "tensor" => "name a parameter of the taskflow or a `let` above".to_owned(),
        _ => format!("declare the {what} in this kernel module"),
    }
}

fn also(finding: &Finding) -> Vec<(Site, String)> {
    match finding {
        Finding::NeverWritten { tensor, declared, later } => match later {
            Some(later) => vec![(*later, format!("`{tensor}` is written here, later"))],
            None => vec![(*declared, format!("`{tensor}` is declared here"))],
        },
        Finding::PartlyWritten { tensor, writer, .. } => vec![(*writer, format!("`{tensor}` is written here"))],
        Finding::Uneven { operation, at, .. } => vec![(*at, format!("this `{operation}`"))],
        Finding::StillWritten { tensor, writer, .. } => vec![(*writer, format!("`{tensor}` is written here"))],
        Finding::ReadOnly { tensor, declared } => vec![(*declared, format!("`{tensor}` is taken by `&` here"))],
        Finding::TwoWriters { tensor, first, repeats: None } => {
            vec![(*first, format!("`{tensor}` is also written here"))]
        }
        Finding::WriteAfterRead { tensor, reader } => vec![(*reader, format!("`{tensor}` is read here"))],
        _ => Vec::new(),
    }
}

fn plural(core: TaskKind) -> &'static str {
    match core {
        TaskKind::Matrix => "matrix cores",
        TaskKind::Vector => "vector cores",
        TaskKind::Put => "communication tasks",
    }
}
