//! Errors of placements.

use std::fmt;

/// The reason why a placement can't be made or used. Physical experts are numbered across ranks, rank 0's first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlacementError {
    /// There are no ranks, or no experts.
    Nothing {
        /// Number of ranks in the group.
        ranks: usize,
        /// Number of logical experts.
        experts: usize,
    },
    /// There are no places, or they can't be divided evenly among the ranks.
    Uneven {
        /// Number of entries in the list, one per place.
        places: usize,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// A physical expert would hold a logical expert that does not exist.
    Unknown {
        /// Number of the physical expert.
        physical: usize,
        /// Number of the logical expert that it would hold.
        expert: usize,
        /// Number of logical experts.
        experts: usize,
    },
    /// A rank holds the same logical expert twice.
    Twice {
        /// Number of the rank.
        rank: usize,
        /// Number of the logical expert.
        expert: usize,
        /// The rank's first physical expert that holds the logical expert.
        first: usize,
        /// The rank's second physical expert that holds the logical expert.
        second: usize,
    },
    /// A logical expert has no place.
    Missing {
        /// The logical expert.
        expert: usize,
    },
    /// The number of shares is not the number of physical experts.
    Shares {
        /// Number of shares passed.
        shares: usize,
        /// Number of physical experts.
        places: usize,
    },
    /// All physical experts of a logical expert have a share of 0.
    NoShare {
        /// The logical expert.
        expert: usize,
    },
    /// The number of loads is not the number of logical experts.
    Loads {
        /// Number of loads passed.
        loads: usize,
        /// Number of logical experts.
        experts: usize,
    },
    /// A factor of a moving average is more than 999 thousandths: the average would ignore new launches.
    Factor {
        /// Thousandths of the average that a launch would keep.
        thousandths: u32,
    },
    /// Two placements belong to different groups or layers.
    Apart {
        /// The number that differs: `ranks`, `experts` or `places of a rank`.
        what: &'static str,
        /// The number in the new placement.
        one: usize,
        /// The number in the old placement.
        other: usize,
    },
    /// The number of weight matrices is not the number of logical experts, or a rank's number of gradients is not its number of
    /// physical experts.
    Weights {
        /// Number of matrices passed.
        matrices: usize,
        /// Number of matrices required.
        wanted: usize,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing { ranks, experts } => {
                write!(f, "{experts} experts can't be placed on {ranks} ranks: give at least one expert and one rank")
            }
            Self::Uneven { places, ranks } => write!(
                f,
                "{places} places can't be divided evenly among {ranks} ranks: give each rank the same number of places, including empty ones"
            ),
            Self::Unknown { physical, expert, experts } => {
                write!(f, "place {physical} holds expert {expert}, but experts are numbered from 0 to {}", experts - 1)
            }
            Self::Twice { rank, expert, first, second } => write!(
                f,
                "rank {rank} has expert {expert} in place {first} and again in place {second}: put copies of an expert on different ranks"
            ),
            Self::Missing { expert } => {
                write!(f, "expert {expert} has no place: every expert needs one, even if no token goes to it")
            }
            Self::Shares { shares, places } => {
                write!(
                    f,
                    "{shares} shares were given for {places} places: give one for each place, of any value for an empty one"
                )
            }
            Self::NoShare { expert } => write!(
                f,
                "all places of expert {expert} have a share of 0, so its rows have no place: make at least one of these shares greater than 0"
            ),
            Self::Loads { loads, experts } => {
                write!(f, "{loads} loads were given for {experts} experts: give one for each expert")
            }
            Self::Factor { thousandths } => {
                write!(f, "a factor of {thousandths} thousandths ignores new launches: use at most 999, such as 900")
            }
            Self::Apart { what, one, other } => write!(
                f,
                "one placement is for {one} {what} and the other one for {other}: compare placements of the same layer and group"
            ),
            Self::Weights { matrices, wanted } => write!(
                f,
                "{matrices} matrices were given, but the placement has {wanted} experts: pass one matrix per expert"
            ),
        }
    }
}

/// Prints the text of `Display`, because `unwrap` prints errors by `Debug`.
impl fmt::Debug for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PlacementError {}
