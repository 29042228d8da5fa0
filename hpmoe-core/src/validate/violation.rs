//! Violations of a schedule, as data.

use crate::analyze::Need;
use crate::ids::{CounterId, PartId, PhaseId, RoleId, TensorId};
use crate::schedule::{CoreKind, Entry};

/// One broken promise. [`Violation::text`] describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The roles of the schedule, or the parts of one order, don't contain each core of one kind exactly once.
    Roles {
        /// The kind of the cores.
        kind: CoreKind,
        /// Number of cores of this kind that a rank has.
        cores: u32,
    },
    /// A table of the schedule does not match the graph or another table: there must be one row in `phases` for each phase, an existing
    /// role for each phase, and one queue for each part of an order.
    Table {
        /// Name of the table: `phases`, `roles` or `queues`.
        what: &'static str,
    },
    /// A phase is assigned to cores that can't run it.
    WrongCores {
        /// The phase that the cores can't run.
        phase: PhaseId,
        /// The role that the phase is assigned to.
        role: RoleId,
    },
    /// The band of a phase has zero rows.
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
        /// The phase whose own tiles are preceded.
        phase: PhaseId,
    },
    /// Experts run in an order by load, although tokens are sent once and stored under their lowest-numbered expert.
    OnceByLoad,
    /// A phase joins the previous phase although it can't: there is no previous phase, the tiles of the two or the cores that make them
    /// differ, or an entry doesn't directly follow that of the previous phase.
    Joins {
        /// The phase that joins the previous phase.
        phase: PhaseId,
    },
    /// The schedule does not have exactly one order for each number of ranks that divides the experts or that the build names.
    Orders {
        /// The numbers of ranks that have an order.
        listed: Vec<u32>,
    },
    /// An entry is missing from all queues.
    Missing {
        /// Number of ranks that the order is for.
        ranks: u32,
        /// The entry that should be there.
        entry: Entry,
    },
    /// An entry is in the queues twice.
    Twice {
        /// Number of ranks that the order is for.
        ranks: u32,
        /// The duplicate entry.
        entry: Entry,
    },
    /// An entry belongs to no group, or is in the queue of cores that are not of its phase's role.
    Misplaced {
        /// Number of ranks that the order is for.
        ranks: u32,
        /// The part whose queue has the entry.
        part: PartId,
        /// The misplaced entry.
        entry: Entry,
    },
    /// A tile of the phase can't address the counter of a signal or a wait.
    Form {
        /// The phase that signals or waits.
        phase: PhaseId,
        /// The counter of the signal or the wait.
        counter: CounterId,
    },
    /// Tiles of two phases, or of one phase, share an element that one of them writes, but no dependency orders the tiles.
    Unordered {
        /// The phase that comes first in the program.
        before: PhaseId,
        /// The phase that comes later in the program.
        after: PhaseId,
        /// The tensor that contains the element.
        tensor: TensorId,
    },
    /// Nothing in the schedule makes the second phase of a dependency wait for the first one.
    Uncovered {
        /// Number of the dependency in the checked graph.
        dependency: usize,
    },
    /// Entries that wait for one another in a cycle.
    Cycle {
        /// Number of ranks that the order is for.
        ranks: u32,
        /// The entries, each before the next and the last before the first. They may be on several ranks.
        entries: Vec<Entry>,
    },
    /// The need of a phase's wait differs from the sum of all signals to the counter.
    Threshold {
        /// The phase that waits.
        phase: PhaseId,
        /// The counter that the phase waits for.
        counter: CounterId,
        /// The need of the wait.
        need: Need,
        /// The sum of all signals to the counter.
        added: Need,
    },
    /// The amount that a phase adds to a counter depends on more than the number of rows that the counter stands for.
    Inexact {
        /// The phase that signals.
        phase: PhaseId,
        /// The counter that the phase adds to.
        counter: CounterId,
    },
    /// Neither a phase nor the route waits for a counter that a phase signals. The signal may then arrive in the next launch.
    Unawaited {
        /// The phase that signals.
        phase: PhaseId,
        /// The counter that the phase signals.
        counter: CounterId,
    },
    /// Chunks reuse memory, but no phase signals when memory is free.
    NoWord,
    /// The entries that write freed words are not all in one queue, in the order of chunks.
    WordsOutOfOrder {
        /// Number of ranks that the order is for.
        ranks: u32,
    },
    /// Rows of a chunk may still be in use when a freed word frees their memory.
    FreedEarly {
        /// The phase that uses the rows.
        phase: PhaseId,
        /// The tensor that contains the rows.
        tensor: TensorId,
    },
    /// Rows of a chunk may be accessed while their memory still has rows of another chunk.
    WrittenEarly {
        /// The phase that accesses the rows.
        phase: PhaseId,
        /// The tensor that contains the rows.
        tensor: TensorId,
    },
    /// A phase reads weights ahead, but its task is not a product, or has an external operator.
    NothingAhead {
        /// The phase that reads ahead.
        phase: PhaseId,
    },
    /// A phase reads a tensor before its waits, but the tensor is not the caller's, is written during the launch, or is not a matrix whose
    /// position the tile knows so early.
    ReadEarly {
        /// The phase that reads the tensor.
        phase: PhaseId,
        /// The tensor that the phase reads too early.
        tensor: TensorId,
    },
    /// The schedule does not have orders for exactly the numbers of chunks that launches choose from.
    Chunks,
    /// The entries of a phase that adds to sums over chunks are not all in one queue, in the order of chunks.
    SumsOutOfOrder {
        /// Number of ranks that the order is for.
        ranks: u32,
        /// The phase that adds to the sums.
        phase: PhaseId,
    },
    /// The cores of a queue come to an entry that follows the route before they have made the tables of the route or waited for them, or
    /// never come to the route.
    Unrouted {
        /// Number of ranks that the order is for.
        ranks: u32,
        /// The part whose queue is wrong.
        part: PartId,
    },
    /// A phase before the route needs tables of the route.
    NeedsRoute {
        /// The phase that needs the tables.
        phase: PhaseId,
    },
    /// The route must wait for all ids of its rank and for nothing else, but its wait is another one.
    RouteForm,
    /// A phase writes ids, but the route does not wait for it, or the phase comes after the route.
    RoutedEarly {
        /// The phase that writes the ids.
        phase: PhaseId,
    },
    /// The need of the route's wait differs from the sum of all signals to the counter of the ids.
    RouteThreshold {
        /// The need of the route's wait.
        need: Need,
        /// The sum of all signals to the counter.
        added: Need,
    },
    /// An order lets cores make a route, although the host makes it.
    SecondRoute {
        /// Number of ranks that the order is for.
        ranks: u32,
    },
    /// A number does not fit its field, or memory exceeds that of a die.
    TooLarge {
        /// Number of ranks of the group in which the limit is exceeded.
        ranks: u32,
        /// Name of the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest value that fits.
        limit: u64,
    },
}
