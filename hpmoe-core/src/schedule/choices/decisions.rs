//! The decisions, with the best known answers.

/// Decisions that change when things happen, but never what is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choices {
    /// Number of vector cores that put. `None`: as many as fill the link with the rows that have most bytes, but no more than the share of
    /// the vector work that puts are; where that is small, the share by the roots of the times. At least as many are left, up to half, as
    /// compute no slower than the matrix cores. Of the numbers near that, one that divides the usual numbers of ranks.
    pub put_cores: Option<u32>,
    /// Rows of tiles that products walk together, column by column. `None`: two, or as many as the shape needs.
    pub matrix_band: Option<u32>,
    /// Rows of tiles that products walk together if their rows are put to other ranks afterwards. `None`: one, or as many as the
    /// shape needs.
    pub put_band: Option<u32>,
    /// Cores by which the deal of products' tiles to matrix cores moves on in each round. `None`: none, unless the same cores would
    /// make all short or narrow tiles.
    pub rotation: Option<u32>,
    /// How sending cores are divided among peers.
    pub peer_cores: PeerCores,
    /// Minimum rows per (rank, expert) pair, in percent of a row tile, before sending cores are dedicated to peers. With
    /// fewer rows, a row tile holds rows of several ranks and needs all of them at once.
    pub dedicate_from: u32,
    /// Which kernels walk row tiles in the order in which their rows arrive, where sending cores are dedicated to peers.
    pub by_arrival: ByArrival,
    /// Rows that a rank puts to one peer for an expert before it is the next peer's turn; 0: all. `None`: on many ranks, those of a row tile, or
    /// as many as a peer gets where all experts are chosen alike.
    pub turn_rows: Option<u32>,
    /// Which vector cores put results back, where sending cores are dedicated to peers.
    pub return_cores: ReturnCores,
    /// Whether consecutive phases with the same tiles are walked together, tile by tile, rather than one after the other.
    pub join: bool,
    /// Whether a rank works on its experts in the order of their rows at run time, the least loaded one first and then from
    /// the most loaded one down, rather than in the order of their numbers. In kernels with a phase that needs all rows of an expert at
    /// once, two light experts follow each heavy one.
    pub by_load: bool,
    /// With `by_load`: the fewest ranks with which experts go from the fewest rows to the most. `None`: as many as have the rows of an
    /// expert that all tokens name come late, or two where experts are few, in kernels with a phase that needs all rows of an expert at
    /// once; never in others.
    pub lightest_first: Option<u32>,
    /// Whether matrix cores read weights while they wait for rows, as far as L1 has room.
    pub read_ahead: bool,
    /// Number of experts that a role starts before it continues with what another role has made of the first. `None`: one, or as many
    /// as have a tile for each core together.
    pub experts_ahead: Option<u32>,
}

/// How sending cores are divided among peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerCores {
    /// All of them serve one peer after another.
    Shared,
    /// Each serves a few peers only, where there are three cores for each rank and enough is sent. The share of the i-th
    /// peer is proportional to 1/i + percent/100.
    Dedicated {
        /// The part of a share that is the same for all peers, in percent of the first peer's other part.
        percent: u32,
    },
}

/// Which kernels walk row tiles in the order in which their rows arrive. Peers then have equally many sending cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByArrival {
    /// None: row tiles are walked rank after rank. Kernels with a phase that needs all rows of an expert at once always share
    /// their sending cores.
    Never,
    /// Those with a phase that needs all rows of an expert at once.
    WholeExperts,
    /// All of them.
    Always,
}

/// Which vector cores put results back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReturnCores {
    /// Those that send.
    Sending,
    /// Those that compute.
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
