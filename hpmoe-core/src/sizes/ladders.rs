//! The values that open tile sizes may get, and the latency that each must save.

use super::latency::Latency;

/// The values that a tile size may get, ascending. `first` is the index of the value that the search begins with, `least` that of the smallest
/// value that it tries. Values below `least` are only for kernels whose memories hold no larger tiles.
///
/// With fewer than 128 rows or columns a matrix core reads operands for longer than it multiplies. Even routings hide that, since HBM is
/// slower still; an expert that many more tokens choose would take half as long again.
#[derive(Clone, Copy)]
pub(super) struct Ladder {
    pub(super) values: &'static [usize],
    pub(super) first: usize,
    pub(super) least: usize,
    /// How much shorter the estimated latency with evenly distributed tokens must be with another size. The estimate with uneven tokens is too
    /// rough for sizes other than those of products, because rows are then in transit for longer than one rank shows. Taller tiles must save
    /// more: they make the loads of cores less even, by up to a fifth of the latency if the experts' rows differ a little.
    pub(super) even: Saving,
    /// The part of the estimated latency that another size must save. If sizes differ by less, the larger ones stay, because they
    /// suit more rows than expected. Larger puts must save more: the wait for rows is only estimated to a sixteenth of an expert's.
    pub(super) gain: f64,
    /// The maximum number of steps from the current value to one that is tried.
    pub(super) far: usize,
}

/// How much shorter than another one a latency must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Saving {
    /// It may have any length.
    Any,
    /// By more than this part.
    Part(f64),
    /// By more than this part, or of exactly the same length, because the tiles are the same: experts of 128 rows are one tile of 128 or of
    /// 256 rows. Uneven tokens decide then: an expert of 130 rows is two tiles of 128.
    PartOrSame(f64),
}

impl Saving {
    fn is_met(self, now: f64, before: f64) -> bool {
        match self {
            Self::Any => true,
            Self::Part(part) => now < before * (1.0 - part),
            Self::PartOrSame(part) => now == before || now < before * (1.0 - part),
        }
    }
}

impl Ladder {
    /// Whether a size with the latency `now` saves enough of the latency `before`.
    pub(super) fn saves(&self, now: &Latency, before: &Latency) -> bool {
        now.mean < before.mean * (1.0 - self.gain) && self.even.is_met(now.even, before.even)
    }

    /// A latency with even tokens with which no other size saves enough; `None` if there is none.
    pub(super) fn even_below(&self, before: &Latency) -> Option<f64> {
        match self.even {
            Saving::Any => None,
            Saving::Part(part) => Some(before.even * (1.0 - part)),
            // A little more than the same: a sum of latencies is compared in parts, which are rounded.
            Saving::PartOrSame(_) => Some(before.even * (1.0 + 1e-9)),
        }
    }

    /// The indices of the values to try if the current value has index `from`: nearer values first, larger ones before smaller ones. If
    /// a nearer value is chosen, a farther one must save enough compared with it. Values from `enough` on make the same tiles, so at most
    /// the first of them is tried.
    pub(super) fn tried(&self, from: usize, enough: usize) -> impl Iterator<Item = usize> {
        let far = self.far.min(self.values.len());
        let around = (1..=far).flat_map(move |steps| [Some(from + steps), from.checked_sub(steps)]);
        let (least, end) = (self.least, self.values.len());
        let most = self.values.iter().position(|value| *value >= enough).unwrap_or(end);
        let differs = move |place: &usize| *place < most || *place == most && from < most;
        around.flatten().filter(move |place| (least..end).contains(place) && differs(place))
    }
}

/// Steps to all values: good and bad sizes alternate for the columns of products and for gradients, depending on a narrow last tile or cores
/// without a tile.
const TO_ALL: usize = usize::MAX;

/// The columns of products.
pub(super) const PRODUCT_COLUMNS: Ladder =
    Ladder { values: &[32, 64, 128, 256], first: 3, least: 1, even: Saving::Any, gain: 0.005, far: TO_ALL };

/// The rows of products.
pub(super) const PRODUCT_ROWS: Ladder = Ladder {
    values: &[16, 32, 64, 128, 256],
    first: 3,
    least: 2,
    even: Saving::PartOrSame(0.012),
    gain: 0.005,
    far: 1,
};
/// The rows of products in kernels that also have gradients. Gradient tiles are more than half of the work there, and have all rows of an
/// expert with any size.
pub(super) const ROWS_BESIDE_GRADIENTS: Ladder = Ladder { even: Saving::PartOrSame(0.011), ..PRODUCT_ROWS };
/// The rows or columns of gradients.
const GRADIENTS: Ladder =
    Ladder { values: &[32, 64, 128, 256, 512], first: 3, least: 2, even: Saving::Any, gain: 0.005, far: TO_ALL };
/// The rows of puts. Puts of short rows need many rows: a put of 1 KiB takes as long as one of 4 KiB. If a larger put saves nothing because it
/// leaves few rows for an expert's last put, the next larger one may save much.
pub(super) const PUTS: Ladder =
    Ladder { values: &[2, 4, 8, 16, 32, 64, 128], first: 2, least: 2, even: Saving::Part(0.01), gain: 0.01, far: 2 };
/// The rows that a put may always have, regardless of their bytes.
pub(super) const ROWS_OF_PUTS: usize = 16;
/// The maximum number of bytes that a rank sends by a put of more rows, unless there are [`MANY_PUTS`]. A core puts them in 6.5 µs, nearly three
/// times as long as it takes to start and to fence.
pub(super) const BYTES_OF_PUTS: usize = 64 << 10;
/// Puts of more bytes than [`BYTES_OF_PUTS`] are tried only if a rank's rows for an expert make at least this number of them. Cores then still
/// have about equal numbers of bytes.
pub(super) const MANY_PUTS: usize = 8;
/// The tokens of blocks.
const BLOCKS: Ladder = Ladder {
    values: &[1, 2, 4, 8, 16, 32, 64, 128],
    first: 4,
    least: 2,
    even: Saving::Part(0.005),
    gain: 0.005,
    far: 1,
};
/// The columns of tiles of vector tasks.
const VECTOR_COLUMNS: Ladder = Ladder {
    values: &[64, 128, 256, 512, 1024, 2048],
    first: 4,
    least: 3,
    even: Saving::Part(0.005),
    gain: 0.005,
    far: 1,
};
/// Tile sizes with a name of the kernel's own.
const OTHERS: Ladder = Ladder {
    values: &[4, 8, 16, 32, 64, 128, 256],
    first: 3,
    least: 1,
    even: Saving::Part(0.005),
    gain: 0.005,
    far: 1,
};

/// The usual tile sizes in the order in which they are chosen: sizes of products matter most. A gradient's rows come before its columns:
/// if doubling one makes doubling the other unnecessary, doubling the rows costs less with uneven tokens.
const USUAL: [(&str, Ladder); 7] = [
    ("TILE_N", PRODUCT_COLUMNS),
    ("TILE_M", PRODUCT_ROWS),
    ("GRAD_M", GRADIENTS),
    ("GRAD_N", GRADIENTS),
    ("PUT", PUTS),
    ("BLOCK", BLOCKS),
    ("COLUMNS", VECTOR_COLUMNS),
];

/// A tile size that a kernel leaves open.
#[derive(Clone)]
pub(super) struct OpenSize {
    pub(super) name: String,
    pub(super) ladder: Ladder,
}

impl OpenSize {
    /// The open sizes of a kernel in the order in which they are chosen: the usual ones, then those with names of the kernel's own.
    pub(super) fn of(open: &[String]) -> Vec<Self> {
        let usual = USUAL.iter().filter(|(name, _)| open.iter().any(|open| open == name));
        let others = open.iter().filter(|open| USUAL.iter().all(|(name, _)| open != name));
        let usual = usual.map(|&(name, ladder)| Self { name: name.to_owned(), ladder });
        usual.chain(others.map(|name| Self { name: name.clone(), ladder: OTHERS })).collect()
    }
}

/// The columns of products in launches that mainly read weights. Narrow tiles take the same time as wide ones there. But at the end
/// all cores wait for the last tile, and no estimate predicts how many cores then have one.
pub(super) const NARROW: Ladder = Ladder { first: 2, gain: 0.006, ..PRODUCT_COLUMNS };
/// The maximum number of rows per expert for which the time of products is mainly that of reading weights: half of the rows for which a matrix core
/// multiplies as long as it reads.
pub(super) const FEW_ROWS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearer_values_are_tried_first_and_larger_ones_before_smaller_ones() {
        let tried = |ladder: Ladder, from: usize| {
            ladder.tried(from, usize::MAX).map(|place| ladder.values[place]).collect::<Vec<_>>()
        };
        assert_eq!(tried(PRODUCT_COLUMNS, 3), [128, 64]);
        assert_eq!(tried(GRADIENTS, 3), [512, 128]);
        // No more than two steps away, and none below the least.
        assert_eq!(tried(PUTS, 4), [64, 16, 128, 8]);
        assert_eq!(tried(PUTS, 2), [16, 32]);
        assert_eq!(tried(PRODUCT_ROWS, 2), [128]);
    }

    #[test]
    fn values_with_the_same_tiles_as_a_smaller_one_are_not_tried() {
        let tried = |enough: usize, from: usize| {
            PRODUCT_COLUMNS.tried(from, enough).map(|place| PRODUCT_COLUMNS.values[place]).collect::<Vec<_>>()
        };
        assert_eq!([tried(usize::MAX, 1), tried(256, 1), tried(80, 1)], [vec![128, 256], vec![128, 256], vec![128]]);
        // 256 and 128 columns make the same tiles of 80 columns.
        assert_eq!([tried(256, 3), tried(80, 3), tried(80, 2)], [vec![128, 64], vec![64], vec![64]]);
        assert_eq!(tried(16, 2), [0usize; 0]);
    }
}
