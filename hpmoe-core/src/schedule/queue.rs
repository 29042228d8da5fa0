//! The data of a schedule: roles of cores, queues of entries, and the decisions for each phase.

use crate::analyze::{Signal, Wait};
use crate::ids::{Arena, PartId, PhaseId, RoleId, SpaceId};
use hpmoe_kernels::route::ExpertOrders;
use std::fmt;
use std::num::NonZeroU32;

/// The kind of a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CoreKind {
    /// A matrix core (AIC).
    Aic,
    /// A vector core (AIV).
    Aiv,
}

impl fmt::Display for CoreKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Aic => "AIC",
            Self::Aiv => "AIV",
        })
    }
}

/// Consecutive cores of one kind that share one kind of work, or one queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// Kind of work: `matrix`, `vector` or `communication`.
    pub name: &'static str,
    /// The kind of the cores.
    pub kind: CoreKind,
    /// Number of the first core, among all cores of its kind on the rank.
    pub first: u32,
    /// Number of cores.
    pub count: u32,
}

/// All tiles of one phase in one group, on any rank, for one number of ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    /// The phase whose tiles the entry stands for.
    pub phase: PhaseId,
    /// The local expert (for row tiles, whole experts and arrivals), the peer's local expert (for sends), or the chunk (for blocks and
    /// chunks). An expert is given by its position in the order in which its rank works on its experts, plus the number of local experts
    /// for each earlier chunk.
    pub expert: u32,
    /// For sends and arrivals, the distance to the peer, which is rank `(rank + peer_offset) mod ranks`; for all other entries, 0.
    pub peer_offset: u32,
}

/// The order in which a rank sends the rows of an expert to its peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sends {
    /// Peer by peer: the cores of a queue put all rows for one peer before rows for the next peer. If sending cores are dedicated to peers,
    /// nearer peers may have more cores.
    PeerAfterPeer,
    /// In turns: each peer gets the rows of one turn, then each peer that has rows left gets another turn; see
    /// [`PairTurns`](hpmoe_kernels::route::PairTurns). Results are put back in the same turns.
    InTurn {
        /// Number of rows per turn.
        rows: NonZeroU32,
    },
}

impl Sends {
    /// Number of rows of a turn; `None` if peers are not served in turns. In an order with turns, phases with
    /// [`by_arrival`](PhaseSchedule::by_arrival) walk row tiles in the order in which their rows arrive.
    #[must_use]
    pub const fn turn(self) -> Option<u32> {
        match self {
            Self::PeerAfterPeer => None,
            Self::InTurn { rows } => Some(rows.get()),
        }
    }
}

/// The queues for one number of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Number of ranks in the group.
    pub ranks: u32,
    /// Sets of cores that share a queue, each a role of the schedule or a part of a role. Every core is in exactly one set.
    pub parts: Arena<PartId, Role>,
    /// The queue of each part.
    pub queues: Arena<PartId, Vec<Entry>>,
    /// The order in which each rank sends rows to its peers.
    pub sends: Sends,
    /// For a kernel that makes its route: the number of entries of each queue that precede the point at which the queue's cores make the
    /// route's tables, or wait for them. `None` if the host makes the route.
    pub routed_at: Option<Arena<PartId, u32>>,
}

/// The reason why a dependency needs no counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Implied {
    /// A path: each phase of this list waits for the one before it, for the same rows. The list begins and ends with the two phases of the
    /// dependency.
    Path(Vec<PhaseId>),
    /// The core that makes a tile of `earlier` makes the same tile of `later` afterwards, and the consumer waits for `later`.
    QueueOrder {
        /// The phase whose signal is dropped.
        earlier: PhaseId,
        /// The phase whose signal stands for both.
        later: PhaseId,
    },
    /// The core that consumes a tile has made the tile itself, in another task. A vector core finishes one task before it starts the next.
    SameCore,
    /// An earlier entry on the same core has already waited for the counter. The wait is dropped, but not the signal.
    AlreadyAwaited {
        /// The phase that has waited.
        by: PhaseId,
    },
}

/// A dependency that needs no counter of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elision {
    /// Number of the dependency in the checked graph.
    pub dependency: usize,
    /// The reason why the dependency needs no counter.
    pub implied: Implied,
}

/// The schedule of one phase, for every number of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseSchedule {
    /// The role that runs the phase.
    pub role: RoleId,
    /// Number of rows of tiles that are walked together, column by column; see [`Swizzle`](super::Swizzle).
    pub band: u32,
    /// Whether row tiles are walked in the order in which their rows arrive, in orders with turns ([`Sends::turn`]). In all other orders,
    /// and if this is false, they are walked rank by rank, starting with the rank's own rows.
    pub by_arrival: bool,
    /// Number of cores by which each round shifts the assignment of tiles; see [`Deal`](super::Deal).
    pub rotation: u32,
    /// Tiles that precede the phase's own in the numbering that deals tiles to cores. For each pair, these are all items of the space,
    /// times the number of columns. Without preceding tiles, all phases with few tiles would run on the first cores.
    pub preceding: Vec<(SpaceId, u32)>,
    /// Whether the phase is walked together with the previous phase. In every queue, the phase's entry of a group directly follows the
    /// previous phase's entry of that group. A core makes a tile of the previous phase and then the same tile of this phase.
    pub joins_previous: bool,
    /// Whether one descriptor can stand for entries of consecutive experts, because an expert has tiles for at most half of the cores.
    pub spans_experts: bool,
    /// Whether the right operand of a tile's product (weights that no phase writes) is read before the tile begins, while the core ends
    /// the previous tile and while it waits.
    pub reads_ahead: bool,
    /// The waits of each tile.
    pub waits: Vec<Wait>,
    /// The signals of each tile.
    pub signals: Vec<Signal>,
}

/// A schedule for every supported number of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// Matrix cores per rank.
    pub aic: u32,
    /// Vector cores per rank.
    pub aiv: u32,
    /// The order in which each rank works on its experts.
    pub expert_orders: ExpertOrders,
    /// Sets of cores with one kind of work. Every core is in exactly one set.
    pub roles: Arena<RoleId, Role>,
    /// The schedule of each phase.
    pub phases: Arena<PhaseId, PhaseSchedule>,
    /// The dependencies without a wait of their own, with the reasons.
    pub elided: Vec<Elision>,
    /// The wait for complete ids before the kernel makes its route; `None` if the host makes the route, or if no phase writes the ids.
    pub routed_after: Option<Wait>,
    /// One order for each number of ranks up to 256 that divides the experts or that the build names, ascending.
    pub orders: Vec<Order>,
    /// The orders of launches with more than one chunk, by the number of chunks, ascending. Empty unless launches choose the number of
    /// chunks.
    pub chosen: Vec<ChunkedOrders>,
}

/// The orders of launches with a given number of chunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkedOrders {
    /// Number of chunks.
    pub chunks: usize,
    /// One order for each number of ranks, ascending.
    pub orders: Vec<Order>,
}

impl Schedule {
    /// Each number of chunks above 1 that launches can choose, with the schedule of launches with this number of chunks. Empty if launches
    /// don't choose.
    pub fn in_chunks(&self) -> impl Iterator<Item = (usize, Self)> + '_ {
        let of = |ChunkedOrders { chunks, orders }: &ChunkedOrders| {
            (*chunks, Self { orders: orders.clone(), chosen: Vec::new(), ..self.clone() })
        };
        self.chosen.iter().map(of)
    }

    /// The waits of all phases, phase by phase, followed by the route's wait for ids if there is one.
    pub fn waits(&self) -> impl Iterator<Item = &Wait> {
        self.phases.iter().flat_map(|(_, phase)| &phase.waits).chain(&self.routed_after)
    }

    /// The signals of all phases, phase by phase.
    pub fn signals(&self) -> impl Iterator<Item = &Signal> {
        self.phases.iter().flat_map(|(_, phase)| &phase.signals)
    }

    /// The order for a number of ranks; `None` if the schedule has none.
    #[must_use]
    pub fn order(&self, ranks: u32) -> Option<&Order> {
        self.orders.iter().find(|order| order.ranks == ranks)
    }

    /// A queue as cores walk it: each entry together with the entries that join it.
    pub(crate) fn walks<'a>(&'a self, queue: &'a [Entry]) -> impl Iterator<Item = &'a [Entry]> {
        walks(&self.phases, queue)
    }
}

/// A queue as cores walk it: each entry together with the entries that join it.
pub(super) fn walks<'a>(
    phases: &'a Arena<PhaseId, PhaseSchedule>,
    queue: &'a [Entry],
) -> impl Iterator<Item = &'a [Entry]> {
    queue.chunk_by(|_, next| phases[next.phase].joins_previous)
}
