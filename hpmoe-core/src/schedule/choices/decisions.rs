//! The decisions of the scheduler, with the best known values.

/// Decisions of the scheduler, which change times but not results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choices {
    /// Number of vector cores that put. `None`: as many as saturate the link in the phase that puts most bytes, but no more than the share
    /// of puts in the vector work (if that share is small, the share by the square roots of the times). Up to half of the vector cores are
    /// kept to keep pace with the matrix cores. The number is then rounded to a nearby multiple of common numbers of ranks.
    pub put_cores: Option<u32>,
    /// Number of rows of tiles that products walk together, column by column. `None`: two, or more if the shape needs it.
    pub matrix_band: Option<u32>,
    /// Number of rows of tiles that products walk together if their rows are put to other ranks afterwards. `None`: one, or more
    /// if the shape needs it.
    pub put_band: Option<u32>,
    /// Number of cores by which each round shifts the assignment of products' tiles to matrix cores. `None`: 0, unless the same
    /// cores would make all short or narrow tiles.
    pub rotation: Option<u32>,
    /// The way in which sending cores are divided among peers.
    pub peer_cores: PeerCores,
    /// Minimum rows per (rank, expert) pair, in percent of a row tile, before sending cores are dedicated to peers. With
    /// fewer rows, a row tile holds rows of several ranks and needs all of them at once.
    pub dedicate_from: u32,
    /// The kernels that walk row tiles in the order in which their rows arrive, if sending cores are dedicated to peers.
    pub by_arrival: ByArrival,
    /// Number of rows per expert that a rank puts to one peer before it serves the next peer; 0 for all rows. `None`: 0 on few ranks; on
    /// many ranks, the rows of a row tile. In kernels that need all rows of an expert at once, it is instead the number of rows that a peer
    /// gets if all experts are chosen equally often, rounded up to whole row tiles.
    pub turn_rows: Option<u32>,
    /// The vector cores that put results back, if sending cores are dedicated to peers.
    pub return_cores: ReturnCores,
    /// Whether consecutive phases with the same tiles are walked together, tile by tile, rather than one after the other.
    pub join: bool,
    /// Whether a rank orders its experts by their rows at run time, rather than by number: first the expert with the fewest rows, then the
    /// others from the most rows down. In kernels with a phase that needs all rows of an expert at once, two light experts follow each
    /// heavy one.
    pub by_load: bool,
    /// With `by_load`: the smallest number of ranks on which experts run from the fewest rows to the most. `None`: never, except in kernels
    /// with a phase that needs all rows of an expert at once. In these, it is two if the group has few experts, and otherwise the number of
    /// ranks from which on the rows of an expert that all tokens choose arrive late.
    pub lightest_first: Option<u32>,
    /// Whether matrix cores read weights while they wait for rows, as far as L1 has room.
    pub read_ahead: bool,
    /// Number of experts that a role starts before it uses another role's results for the first one. `None`: one, or as
    /// many as give each core a tile.
    pub experts_ahead: Option<u32>,
}

/// The way in which sending cores are divided among peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerCores {
    /// All cores serve one peer after another.
    Shared,
    /// Each core serves only a few peers, if there are three cores for each rank and enough rows are sent. The share of the
    /// i-th peer is proportional to 1/i + percent/100.
    Dedicated {
        /// The constant part of each peer's share, in percent of the distance-dependent part of the first peer.
        percent: u32,
    },
}

/// The kernels that walk row tiles in the order in which their rows arrive. In these, all peers have the same number of sending cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByArrival {
    /// No kernels: row tiles are walked rank by rank. Kernels with a phase that needs all rows of an expert at once always
    /// share their sending cores.
    Never,
    /// Kernels with a phase that needs all rows of an expert at once.
    WholeExperts,
    /// All kernels.
    Always,
}

/// The vector cores that put results back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReturnCores {
    /// The cores that send.
    Sending,
    /// The cores that compute.
    Computing,
}

impl Default for Choices {
    fn default() -> Self {
        Self::BEST_KNOWN
    }
}

impl Choices {
    /// Found on the DeepSeek-V3 layer on eight Ascend A3, with even and with uneven routing.
    const BEST_KNOWN: Self = Self {
        put_cores: None,
        matrix_band: None,
        put_band: None,
        rotation: None,
        peer_cores: PeerCores::Shared,
        dedicate_from: 100,
        by_arrival: ByArrival::WholeExperts,
        turn_rows: None,
        return_cores: ReturnCores::Computing,
        join: true,
        by_load: true,
        lightest_first: None,
        read_ahead: true,
        experts_ahead: None,
    };
}
