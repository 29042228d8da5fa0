//! Violations of a schedule, as data.

use crate::analyze::Need;
use crate::ids::{CounterId, PartId, PhaseId, RoleId, TensorId};
use crate::schedule::{CoreKind, Entry};

/// One broken promise. [`Violation::text`] puts it into words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The roles of one kind of cores don't have each core once.
    Roles {
        /// The kind of these cores.
        kind: CoreKind,
        /// Number of cores of the kind.
        cores: u32,
    },
    /// A table has not one row for each phase.
    Table {
        /// Name of the table.
        what: &'static str,
    },
    /// A phase is given to cores that can't run it.
    WrongCores {
        /// The phase that they would run.
        phase: PhaseId,
        /// The role of these cores.
        role: RoleId,
    },
    /// A band without rows.
    Band {
        /// The phase that has the band.
        phase: PhaseId,
    },
    /// The deal of tiles to cores moves on by as many cores as share a queue, or more.
    Rotation {
        /// The phase whose tiles are dealt so.
        phase: PhaseId,
    },
    /// The tiles that precede those of a phase in the count that deals tiles to cores are of no phase.
    Preceding {
        /// The phase whose count they precede.
        phase: PhaseId,
    },
    /// Experts run in the order of their rows, though tokens are sent once and stored under their lowest-numbered expert.
    OnceByLoad,
    /// A phase is walked together with the one before it, but has other tiles or other places in queues.
    Joins {
        /// The phase that joins the one before it.
        phase: PhaseId,
    },
    /// There is not one order for each number of ranks that divides the experts.
    Orders {
        /// The numbers for which there is one.
        listed: Vec<u32>,
    },
    /// An entry is in no queue.
    Missing {
        /// Ranks of the order.
        ranks: u32,
        /// The entry that should be there.
        entry: Entry,
    },
    /// An entry is in the queues twice.
    Twice {
        /// Ranks of the order.
        ranks: u32,
        /// The entry that is there twice.
        entry: Entry,
    },
    /// An entry of no group, or in the queue of cores that are not of its phase's role.
    Misplaced {
        /// Ranks of the order.
        ranks: u32,
        /// The part in whose queue it is.
        part: PartId,
        /// The entry that does not belong there.
        entry: Entry,
    },
    /// A signal or a wait that a tile of the phase can't make.
    Form {
        /// The phase that signals or waits.
        phase: PhaseId,
        /// The counter that it names.
        counter: CounterId,
    },
    /// Tiles of two phases, or of one, share an element that one of them writes, and no dependency orders them.
    Unordered {
        /// The phase that comes first in the program.
        before: PhaseId,
        /// The other one.
        after: PhaseId,
        /// Whose element it is.
        tensor: TensorId,
    },
    /// Nothing makes sure that a phase finds what it depends on.
    Uncovered {
        /// Number of the dependency in the checked graph.
        dependency: usize,
    },
    /// Entries that wait for one another in a circle.
    Cycle {
        /// Ranks of the order.
        ranks: u32,
        /// Entries, each before the next and the last before the first, on ranks that the peers of puts lead to.
        entries: Vec<Entry>,
    },
    /// A wait that is not for exactly what is added.
    Threshold {
        /// The phase that waits.
        phase: PhaseId,
        /// The counter that it waits for.
        counter: CounterId,
        /// What it waits for.
        need: Need,
        /// What the phases that signal add.
        added: Need,
    },
    /// The amount that a phase adds to a counter depends on more than the counter's rows.
    Inexact {
        /// The phase that signals.
        phase: PhaseId,
        /// The counter that it adds to.
        counter: CounterId,
    },
    /// Nobody waits for a signal, which may then arrive in the next launch.
    Unawaited {
        /// The phase that signals.
        phase: PhaseId,
        /// The counter that it signals.
        counter: CounterId,
    },
    /// Chunks take memory in turn, and nobody tells when it is free.
    NoWord,
    /// Words that tell of chunks, one after the other, have no queue where they are in order.
    WordsOutOfOrder {
        /// Ranks of the order.
        ranks: u32,
    },
    /// Rows of a chunk may still be in use when their memory is said to be free.
    FreedEarly {
        /// The phase that uses them.
        phase: PhaseId,
        /// The tensor of these rows.
        tensor: TensorId,
    },
    /// Rows of a chunk may be written, or read where nothing was written, while those of another one lie there.
    WrittenEarly {
        /// The phase that touches them.
        phase: PhaseId,
        /// The tensor of these rows.
        tensor: TensorId,
    },
    /// A phase reads ahead that is no product.
    NothingAhead {
        /// The phase that reads ahead.
        phase: PhaseId,
    },
    /// A phase reads a tensor before its waits that is not there before the launch, or doesn't stay as it is.
    ReadEarly {
        /// The phase that reads it.
        phase: PhaseId,
        /// The tensor that it reads too early.
        tensor: TensorId,
    },
    /// There are not just the orders of launches of each number of chunks.
    Chunks,
    /// Chunks that add to the same sums have no queue that keeps their order.
    SumsOutOfOrder {
        /// Ranks of the order.
        ranks: u32,
        /// The phase that adds.
        phase: PhaseId,
    },
    /// The cores of a queue read tables of a route before they have made them or waited for them.
    Unrouted {
        /// Ranks of the order.
        ranks: u32,
        /// The part whose queue it is.
        part: PartId,
    },
    /// A phase before the route needs tables that the kernel makes of it.
    NeedsRoute {
        /// The phase that needs them.
        phase: PhaseId,
    },
    /// The route waits for something else than its complete ids, or for nothing though the kernel writes them.
    RouteForm,
    /// A phase writes ids, and the route does not wait for it.
    RoutedEarly {
        /// The phase that writes them.
        phase: PhaseId,
    },
    /// The route waits for another number than is signalled.
    RouteThreshold {
        /// What it waits for.
        need: Need,
        /// What all phases add.
        added: Need,
    },
    /// The kernel makes a route that the host has made.
    SecondRoute {
        /// Ranks of the order.
        ranks: u32,
    },
    /// A number that doesn't fit its field, or memory that a rank doesn't have.
    TooLarge {
        /// Ranks of the order.
        ranks: u32,
        /// What it is.
        what: &'static str,
        /// How much there would be.
        value: u64,
        /// Most that fits.
        limit: u64,
    },
}
