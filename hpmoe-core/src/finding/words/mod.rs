//! The messages of all findings, each with a code and a way out. Each file of this folder holds the messages for one kind of fault.

mod accesses;
mod bodies;
mod calls;
mod capacity;
mod chunks;
mod external;
mod forms;
mod helpers;
mod names;
mod numbers;
mod operations;
mod routes;
mod sentence;
mod sizes;
mod syntax;

use super::{ArgumentFault, Diagnostic, Finding, NotAStore, Words};
use sentence::{Sentence, counted};

impl Diagnostic {
    /// The text that a user reads, in parts: code, message, help, and other places.
    #[must_use]
    pub fn words(&self) -> Words {
        let (problem, help) = sentence(&self.finding);
        let message = match self.function.as_deref().filter(|_| self.in_library) {
            Some(function) if !problem.contains(&format!("`{function}`")) => {
                format!("in the library's `{function}`: {problem}")
            }
            _ => problem,
        };
        let also = accesses::also(&self.finding).into_iter().map(|(site, text)| (site.0, text)).collect();
        Words { code: code(&self.finding), message, help, also }
    }

    /// Message, code and help as one text, for `compile_error!` and terminals. The sentences for other places are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let words = self.words();
        let (first, rest) = words.message.split_at(words.message.find('\n').unwrap_or(words.message.len()));
        format!("{first} [{}]{rest}\nhelp: {}", words.code, words.help)
    }
}

fn code(finding: &Finding) -> &'static str {
    match finding {
        Finding::Syntax(_) => "HP01",
        Finding::Unknown { .. } => "HP02",
        Finding::MissingConstant { .. } => "HP03",
        Finding::Constant(_) | Finding::Number(_) | Finding::OutOfRange(_) => "HP04",
        Finding::Misfit(misfit) if misfit.types => "HP06",
        Finding::Argument { fault: ArgumentFault::ElementType { .. }, .. } => "HP06",
        Finding::Misfit(_) | Finding::Argument { .. } | Finding::Arity { .. } | Finding::Uneven { .. } => "HP05",
        Finding::WrongCore { .. } => "HP07",
        Finding::Loops(_) => "HP08",
        Finding::Remote { .. } => "HP09",
        Finding::NeverWritten { .. }
        | Finding::ReadTooEarly { .. }
        | Finding::PartlyWritten { .. }
        | Finding::InPlace { .. }
        | Finding::OutputUnwritten { .. } => "HP10",
        Finding::EmptyTile { .. } => "HP11",
        Finding::ReadOnly { .. } => "HP12",
        Finding::StillWritten { .. }
        | Finding::TwoWriters { .. }
        | Finding::WrittenByEach { .. }
        | Finding::WrittenByItems { .. }
        | Finding::WriteAfterRead { .. } => "HP13",
        Finding::LongRow { .. } | Finding::Overflow { .. } => "HP14",
        Finding::NoEffect { .. } => "HP15",
        Finding::Call(_) | Finding::Body(_) | Finding::Helper(_) | Finding::Chunk(_) | Finding::Route(_) => "HP16",
        Finding::External(_) => "HP20",
    }
}

fn sentence(finding: &Finding) -> Sentence {
    match finding {
        Finding::Syntax(fault) => fault.words(),
        Finding::Unknown { kind, name, nearest } => names::unknown(*kind, name, nearest.as_deref()),
        Finding::MissingConstant { name } => names::missing_constant(name),
        Finding::Constant(fault) => fault.words(),
        Finding::Number(fault) => fault.words(),
        Finding::OutOfRange(fault) => fault.words(),
        Finding::Misfit(misfit) => (misfit.problem.clone(), misfit.help.clone()),
        Finding::WrongCore { operation, kind, cores, whole } => operations::wrong_core(operation, *kind, cores, *whole),
        Finding::Argument { task, param, fault } => fault.words(task, param),
        Finding::Arity { task, expected, given } => (
            format!(
                "`{task}` has {}, but this call gives {}",
                counted(*expected, "parameter"),
                counted(*given, "argument")
            ),
            "give one tile for each parameter, in order".into(),
        ),
        Finding::Loops(fault) => fault.words(),
        Finding::Remote { tensor, fault } => fault.words(tensor),
        Finding::Uneven { task, operation, left, right, .. } => sizes::uneven(task, operation, left, right),
        Finding::Overflow { task, overflow } => overflow.words(task),
        Finding::NoEffect { task, param, instead } => match instead {
            Some(NotAStore::Let) => (
                format!("`{task}` never writes `{param}`: `let {param} = …` names a value, and stores nothing"),
                format!("write `{param}.store(…);` instead of the `let`"),
            ),
            Some(NotAStore::Statement) => (
                format!("`{task}` never writes `{param}`, and a statement computes a value that nothing stores"),
                format!("write `{param}.store(…);` around that value"),
            ),
            None => (format!("`{task}` never writes `{param}`"), "store a value to it, or take it by `&`".into()),
        },
        Finding::Call(fault) => fault.words(),
        Finding::Body(fault) => fault.words(),
        Finding::Helper(fault) => fault.words(),
        Finding::Chunk(fault) => fault.words(),
        Finding::External(fault) => fault.words(),
        Finding::Route(fault) => fault.words(),
        Finding::EmptyTile { tensor, index, size, extent, inside, along, fixed } => {
            sizes::empty_tile(tensor, *index, (*size, *extent), *inside, *along, *fixed)
        }
        Finding::LongRow { tensor, step, most } => (
            format!(
                "the rows of `{tensor}` lie {step} elements apart, but a copy to a matrix core steps by at most {most}"
            ),
            "multiply a tensor with fewer columns".into(),
        ),
        Finding::NeverWritten { .. }
        | Finding::ReadTooEarly { .. }
        | Finding::PartlyWritten { .. }
        | Finding::StillWritten { .. }
        | Finding::InPlace { .. }
        | Finding::OutputUnwritten { .. }
        | Finding::ReadOnly { .. }
        | Finding::TwoWriters { .. }
        | Finding::WrittenByEach { .. }
        | Finding::WrittenByItems { .. }
        | Finding::WriteAfterRead { .. } => accesses::words(finding),
    }
}
