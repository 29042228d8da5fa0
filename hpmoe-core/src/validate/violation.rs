//! Violations of a schedule, as data.

use crate::analyze::Need;
use crate::ids::{CounterId, PartId, PhaseId, RoleId, TensorId};
use crate::schedule::{CoreKind, Entry};

/// One broken promise. [`Violation::text`] describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The roles of one kind of core don't have each core exactly once.
    Roles {
        /// The kind of these cores.
        kind: CoreKind,
        /// Number of cores of the kind.
        cores: u32,
    },
    /// A table does not have one row per phase.
    Table {
        /// Name of the table.
        what: &'static str,
    },
    /// A phase is assigned to cores that can't run it.
    WrongCores {
        /// The phase.
        phase: PhaseId,
        /// The role of the cores.
        role: RoleId,
    },
    /// A band without rows.
    Band {
        /// The phase that has the band.
        phase: PhaseId,
    },
    /// A rotation is not less than the number of cores that share a queue.
    Rotation {
        /// The phase with the rotation.
        phase: PhaseId,
    },
    /// Tiles that precede a phase's own, in the numbering that deals tiles to cores, belong to a space that no phase runs over.
    Preceding {
        /// The phase whose tiles they precede.
        phase: PhaseId,
    },
    /// Experts run in an order by load, although tokens are sent once and stored under their lowest-numbered expert.
    OnceByLoad,
    /// A phase joins the one before it, but has other tiles or other positions in queues.
    Joins {
        /// The phase that joins the one before it.
        phase: PhaseId,
    },
    /// The schedule does not have exactly one order for each number of ranks that divides the experts or that the build names.
    Orders {
        /// The numbers of ranks that have an order.
        listed: Vec<u32>,
    },
    /// An entry is missing from all queues.
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
        /// The duplicate entry.
        entry: Entry,
    },
    /// An entry belongs to no group, or is in the queue of cores that are not of its phase's role.
    Misplaced {
        /// Ranks of the order.
        ranks: u32,
        /// The part in whose queue it is.
        part: PartId,
        /// The misplaced entry.
        entry: Entry,
    },
    /// A tile of the phase can't address the counter of a signal or a wait.
    Form {
        /// The phase that signals or waits.
        phase: PhaseId,
        /// The counter.
        counter: CounterId,
    },
    /// Tiles of two phases, or of one, share an element that one of them writes, but no dependency orders them.
    Unordered {
        /// The phase that comes first in the program.
        before: PhaseId,
        /// The phase that comes later in the program.
        after: PhaseId,
        /// The tensor of the element.
        tensor: TensorId,
    },
    /// The schedule does not keep a dependency.
    Uncovered {
        /// Number of the dependency in the checked graph.
        dependency: usize,
    },
    /// Entries that wait for one another in a cycle.
    Cycle {
        /// Ranks of the order.
        ranks: u32,
        /// The entries, each before the next and the last before the first. They may be on several ranks.
        entries: Vec<Entry>,
    },
    /// A wait is not for exactly the sum of all signals.
    Threshold {
        /// The phase that waits.
        phase: PhaseId,
        /// The counter that it waits for.
        counter: CounterId,
        /// The need of the wait.
        need: Need,
        /// The sum of all signals.
        added: Need,
    },
    /// The amount that a phase adds to a counter depends on more than the counter's rows.
    Inexact {
        /// The phase that signals.
        phase: PhaseId,
        /// The counter that it adds to.
        counter: CounterId,
    },
    /// No phase waits for a signal, which may then arrive in the next launch.
    Unawaited {
        /// The phase that signals.
        phase: PhaseId,
        /// The counter that it signals.
        counter: CounterId,
    },
    /// Chunks reuse memory, but no phase signals when it is free.
    NoWord,
    /// No queue has all words of consecutive chunks in order.
    WordsOutOfOrder {
        /// Ranks of the order.
        ranks: u32,
    },
    /// Rows of a chunk may still be in use when a word frees their memory.
    FreedEarly {
        /// The phase that uses them.
        phase: PhaseId,
        /// The tensor of these rows.
        tensor: TensorId,
    },
    /// Rows of a chunk may be accessed while their memory still has rows of another chunk.
    WrittenEarly {
        /// The phase that touches them.
        phase: PhaseId,
        /// The tensor of these rows.
        tensor: TensorId,
    },
    /// A phase that is not a product reads ahead.
    NothingAhead {
        /// The phase that reads ahead.
        phase: PhaseId,
    },
    /// A phase reads a tensor before its waits, but the tensor is not complete before the launch, or changes during it.
    ReadEarly {
        /// The phase that reads it.
        phase: PhaseId,
        /// The tensor that it reads too early.
        tensor: TensorId,
    },
    /// The schedule does not have orders for exactly the numbers of chunks that launches choose from.
    Chunks,
    /// The entries of a phase that adds to sums over chunks are not in one queue in the order of chunks.
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
    /// A phase before the route needs tables of the route.
    NeedsRoute {
        /// The phase that needs them.
        phase: PhaseId,
    },
    /// The wait of the route is not for exactly all ids of its rank.
    RouteForm,
    /// A phase writes ids, but the route does not wait for it.
    RoutedEarly {
        /// The phase that writes them.
        phase: PhaseId,
    },
    /// The need of the route's wait differs from the sum of all signals.
    RouteThreshold {
        /// The need of the wait.
        need: Need,
        /// The sum of all signals.
        added: Need,
    },
    /// The kernel makes a route, although the host has made it.
    SecondRoute {
        /// Ranks of the order.
        ranks: u32,
    },
    /// A number does not fit its field, or memory exceeds that of a rank.
    TooLarge {
        /// Ranks of the order.
        ranks: u32,
        /// Name of the quantity.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value that fits.
        limit: u64,
    },
}
