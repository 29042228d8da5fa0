//! What a schedule is made of.

use hpmoe_language::analyze::{Signal, Wait};
use hpmoe_language::ids::{Arena, PartId, PhaseId, RoleId, SpaceId};

/// Matrix or vector cores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CoreKind {
    /// Matrix cores.
    Aic,
    /// Vector cores.
    Aiv,
}

/// Consecutive cores with one kind of work. The tiles of an entry go round among those that share a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// What they do: `matrix`, `vector`, `communication`.
    pub name: &'static str,
    /// Their kind.
    pub unit: CoreKind,
    /// The first, among the cores of the kind.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// A range of tiles: those of one phase in one group. For one group size, on any rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    /// Which phase.
    pub phase: PhaseId,
    /// Local expert (row tiles, arrivals), the peer's local expert (sends), by its place in the order in which that rank
    /// works on them; 0 (blocks).
    pub expert: u32,
    /// Sends and arrivals: the peer is `(rank + peer_offset) mod ranks`; else 0.
    pub peer_offset: u32,
}

/// The order of entries for one number of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Ranks of the group.
    pub ranks: u32,
    /// Cores that share a queue; together all cores, each once. Each is a role of the schedule or a part of it.
    pub parts: Arena<PartId, Role>,
    /// The queue of each part.
    pub queues: Arena<PartId, Vec<Entry>>,
    /// Whether all ranks send to one at once and at the same rate: `coming` phases are walked as rows come.
    pub alike: bool,
}

/// Why a dependency needs no counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Implied {
    /// Phases that wait for one another lead from one to the other for the same rows.
    Path(Vec<PhaseId>),
    /// The core that makes `earlier`'s tile makes the same tile of `later` after it, and `later` is waited for.
    QueueOrder {
        /// The phase whose signal is dropped.
        earlier: PhaseId,
        /// The phase whose signal stands for both.
        later: PhaseId,
    },
    /// The core that reads a tile has made it itself, in another task: a vector core is done with all of a task before it
    /// begins with another.
    SameCore,
    /// The same core has waited for the same counter in an entry before: the signal stays, the wait goes.
    AlreadyAwaited {
        /// The phase that waited.
        by: PhaseId,
    },
}

/// A dependency that the program does not pay for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elision {
    /// Number of the dependency in the checked graph.
    pub dependency: usize,
    /// Why it holds all the same.
    pub implied: Implied,
}

/// Queues with joined entries next to the one that they join: as cores walk them.
pub(crate) fn walks<'a>(queue: &'a [Entry], joins: &'a Arena<PhaseId, bool>) -> impl Iterator<Item = &'a [Entry]> {
    queue.chunk_by(|_, next| joins[next.phase])
}

/// A schedule for every supported number of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// Matrix cores of a rank.
    pub aic: u32,
    /// Vector cores of a rank.
    pub aiv: u32,
    /// Whether each rank works on its experts by their rows at run time, see [`by_load`](hpmoe_kernels::route::by_load); else by
    /// number.
    pub by_load: bool,
    /// Sets of cores with one kind of work; together all cores, each once.
    pub roles: Arena<RoleId, Role>,
    /// Which role runs a phase.
    pub role_of: Arena<PhaseId, RoleId>,
    /// Swizzle of a phase: rows of tiles that are walked together, column by column.
    pub band_of: Arena<PhaseId, u32>,
    /// Whether row tiles of a phase are walked as their rows come, where an order is `alike`; else from the rank's own rows on.
    pub coming: Arena<PhaseId, bool>,
    /// Where the count of a phase's tiles begins, so that phases of few tiles don't all fall on the first cores: behind all
    /// tiles of the row, `(space, columns)` each.
    pub starts: Arena<PhaseId, Vec<(SpaceId, u32)>>,
    /// Whether a phase joins the one before it: in every queue its entry follows that of the same group of the phase before,
    /// and cores make both tile by tile, first one of that phase and then the same of this.
    pub joins: Arena<PhaseId, bool>,
    /// What a tile of a phase waits for.
    pub waits: Arena<PhaseId, Vec<Wait>>,
    /// What a tile of a phase signals.
    pub signals: Arena<PhaseId, Vec<Signal>>,
    /// Dependencies without a wait of their own.
    pub elided: Vec<Elision>,
    /// One for each number of ranks that divides the experts, up to 64, ascending.
    pub orders: Vec<Order>,
}
