//! The decisions of the scheduler, with the best known values.

/// Decisions of the scheduler, which change times but not results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choices {
    /// Number of vector cores that put, at most all but one. `None`: the share of puts in the vector work by time, or by the square roots
    /// of the times if that is more; but at most as many as saturate the link in the phase that puts most bytes. The number is then rounded
    /// to a nearby multiple of 8, and leaves as many vector cores, up to half of them, as keep pace with the matrix cores. If 8, 16 or 32
    /// cores save at least 3 % of the estimated time of a typical launch, that number is used instead. The choice has no effect if nothing
    /// is put, or if vector cores compute nothing.
    pub put_cores: Option<u32>,
    /// Number of rows of tiles that products with at least four columns walk together, column by column. `None`: two, or more if that takes
    /// less time.
    pub matrix_band: Option<u32>,
    /// Like `matrix_band`, for products whose rows are put to other ranks afterwards. `None`: one, or more if that takes less time.
    pub put_band: Option<u32>,
    /// Number of cores, modulo the number of matrix cores, by which each round shifts the assignment of products' tiles to matrix cores.
    /// `None`: 0, unless the same cores would make all short or narrow tiles.
    pub rotation: Option<u32>,
    /// The way in which sending cores are divided among peers.
    pub peer_cores: PeerCores,
    /// Minimum number of rows that a rank sends to an expert, in percent of the rows of a row tile, before sending cores are dedicated to
    /// peers. With fewer rows, a row tile holds rows of several ranks and needs all of them at once.
    pub dedicate_from: u32,
    /// The kernels that walk row tiles in the order in which their rows arrive, if sending cores are dedicated to peers.
    pub by_arrival: ByArrival,
    /// Number of rows of an expert that a rank puts to one peer before it puts rows to the next peer; 0 for all rows. `None`: with shared
    /// sending cores, 0 on fewer than 16 ranks, in kernels that make their route, and if a rank sends less than a sixth of a row tile to
    /// each expert. In all other cases, it is the number of rows of a row tile or, in kernels with a phase that needs all rows of an expert
    /// at once, the number of rows that a peer gets if all experts are chosen equally often, rounded up to whole row tiles. Only kernels
    /// that walk row tiles in the order in which their rows arrive have turns.
    pub turn_rows: Option<u32>,
    /// The vector cores that put results back, if sending cores are dedicated to peers.
    pub return_cores: ReturnCores,
    /// Whether consecutive phases with the same tiles are walked together, tile by tile, rather than one after the other. The later phase
    /// must wait for nothing that the earlier phase doesn't wait for.
    pub join: bool,
    /// Whether a rank orders its experts by their rows at run time, rather than by number: first the expert with the fewest rows (at least
    /// one), then the others from the most rows down. If `lightest_first` gives a number of ranks, two light experts follow each heavy
    /// expert on fewer ranks. Whatever the choice, experts run by number if tokens are sent once, or if the kernel makes its route and
    /// `lightest_first` gives no number, on ranks with 64 experts or more.
    pub by_load: bool,
    /// With `by_load`: the smallest number of ranks on which experts run from the fewest rows to the most. `None`: never, except in kernels
    /// with a phase that needs all rows of an expert at once. In these kernels, it is two if the group has at most eight experts.
    /// Otherwise, it is the number of ranks from which on the rows of an expert that all tokens choose arrive late.
    pub lightest_first: Option<u32>,
    /// Whether matrix cores read weights while they wait for rows, as far as L1 has room.
    pub read_ahead: bool,
    /// Number of further experts that a role starts before it continues with an expert that another role has worked on meanwhile. `None`: 0
    /// if an expert has many row tiles; otherwise one, or as many (up to 16) as give each matrix core a tile.
    pub experts_ahead: Option<u32>,
}

/// The way in which sending cores are divided among peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerCores {
    /// All sending cores share one queue, so each of them serves all peers.
    Shared,
    /// Each sending core serves only a few peers. This needs at least three sending cores for each rank and enough rows; otherwise, cores
    /// are shared. The peer that is i ranks before the sending rank gets a share of the cores in proportion to 1/i + percent/100; the
    /// sending rank itself counts as i = 3. In kernels that [`ByArrival`] names, all peers get equal shares.
    Dedicated {
        /// The constant part of each peer's share, in percent of 1/i for the nearest peer (i = 1).
        percent: u32,
    },
}

/// The kernels that walk row tiles in the order in which their rows arrive, if sending cores are dedicated to peers. In these kernels, all
/// peers have the same number of sending cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByArrival {
    /// No kernels: row tiles are walked rank by rank. Sending cores are then never dedicated in kernels with a phase that needs all rows of
    /// an expert at once.
    Never,
    /// Kernels with a phase that needs all rows of an expert at once.
    WholeExperts,
    /// All kernels.
    Always,
}

/// The vector cores that put results back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReturnCores {
    /// The vector cores that send rows.
    Sending,
    /// The vector cores that compute.
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
