//! The order in which a rank works on its experts.

/// The order in which queues list a rank's experts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpertOrder {
    /// By expert number.
    Number,
    /// In the order of [`by_load`].
    Load,
    /// In the order of [`mixed`].
    Mixed,
    /// In the order of [`lightest_first`].
    LightestFirst,
}

/// The order in which queues list a rank's experts, for every number of ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpertOrders {
    /// [`ExpertOrder::Number`] for any number of ranks.
    Number,
    /// [`ExpertOrder::Load`] for any number of ranks.
    Load,
    /// [`ExpertOrder::Load`] from this number of ranks on, [`ExpertOrder::Number`] below.
    LoadFrom(u32),
    /// [`ExpertOrder::LightestFirst`] from this number of ranks on, [`ExpertOrder::Mixed`] below.
    LightestFirstFrom(u32),
}

impl ExpertOrders {
    /// The order for `ranks` ranks.
    #[must_use]
    pub const fn on(self, ranks: u32) -> ExpertOrder {
        match self {
            Self::LoadFrom(fewest) if ranks < fewest => ExpertOrder::Number,
            Self::Number => ExpertOrder::Number,
            Self::LightestFirstFrom(fewest) if ranks >= fewest => ExpertOrder::LightestFirst,
            Self::LightestFirstFrom(_) => ExpertOrder::Mixed,
            Self::Load | Self::LoadFrom(_) => ExpertOrder::Load,
        }
    }
}

impl ExpertOrder {
    /// The numbers of a rank's expert chunks (indices of `rows`), in the order in which work on them begins: chunk after
    /// chunk, and the experts of each chunk in the order that `self` names. `rows` has the number of rows of each expert
    /// chunk: all experts of chunk 0, then all experts of chunk 1, and so on up to `chunks`.
    #[must_use]
    pub fn of(self, rows: &[usize], chunks: usize) -> Vec<usize> {
        match self {
            Self::Number => (0..rows.len()).collect(),
            Self::Load => by_load(rows, chunks),
            Self::Mixed => mixed(rows, chunks),
            Self::LightestFirst => lightest_first(rows, chunks),
        }
    }
}

/// The numbers of a rank's expert chunks (indices of `rows`), in the order in which work on them begins, chunk after chunk.
/// `rows` has the number of rows of each expert chunk, in `chunks` parts of equal length.
///
/// In each chunk, the expert with the fewest rows (but at least one) comes first, because its work can begin while rows of
/// other experts arrive. The others follow from most rows to fewest, so that the last expert is finished quickly. Experts
/// with equal numbers of rows are ordered by number. If all experts with rows have equally many, none is moved to the front.
///
/// ```
/// use hpmoe_kernels::route::by_load;
///
/// assert_eq!(by_load(&[3, 0, 9, 4], 1), [0, 2, 3, 1]);
/// assert_eq!(by_load(&[3, 0, 9, 4], 2), [0, 1, 3, 2]);
/// ```
#[must_use]
pub fn by_load(rows: &[usize], chunks: usize) -> Vec<usize> {
    chunk_by_chunk(rows, chunks, least_then_most)
}

/// Like [`by_load`], but after the first expert, each expert of the heaviest third is followed by two lighter ones.
/// Tiles that write weight gradients of light experts keep HBM busy while tiles of heavy experts multiply.
///
/// ```
/// use hpmoe_kernels::route::{by_load, mixed};
///
/// let rows = [8, 7, 6, 5, 4, 3, 2, 1];
/// assert_eq!(by_load(&rows, 1), [7, 0, 1, 2, 3, 4, 5, 6]);
/// assert_eq!(mixed(&rows, 1), [7, 0, 2, 3, 1, 4, 5, 6]);
/// ```
#[must_use]
pub fn mixed(rows: &[usize], chunks: usize) -> Vec<usize> {
    chunk_by_chunk(rows, chunks, heavy_then_two_light)
}

/// The numbers of a rank's expert chunks (indices of `rows`), chunk after chunk. In each chunk, experts with rows come
/// first, from the fewest rows to the most, and then the experts without rows. `rows` has the number of rows of each expert
/// chunk, in `chunks` parts of equal length. Work on the heaviest expert begins last, so that its rows can arrive while
/// the others are computed.
///
/// ```
/// use hpmoe_kernels::route::lightest_first;
///
/// assert_eq!(lightest_first(&[3, 0, 9, 4], 1), [0, 3, 2, 1]);
/// assert_eq!(lightest_first(&[3, 0, 9, 4], 2), [0, 1, 3, 2]);
/// ```
#[must_use]
pub fn lightest_first(rows: &[usize], chunks: usize) -> Vec<usize> {
    chunk_by_chunk(rows, chunks, least_to_most)
}

fn chunk_by_chunk(rows: &[usize], chunks: usize, in_chunk: fn(&[usize]) -> Vec<usize>) -> Vec<usize> {
    let experts = (rows.len() / chunks.max(1)).max(1);
    let of_chunk =
        |(chunk, rows): (usize, &[usize])| in_chunk(rows).into_iter().map(move |place| chunk * experts + place);
    rows.chunks(experts).enumerate().flat_map(of_chunk).collect()
}

fn least_to_most(rows: &[usize]) -> Vec<usize> {
    let mut experts: Vec<usize> = (0..rows.len()).collect();
    experts.sort_by_key(|&expert| (rows[expert] == 0, rows[expert]));
    experts
}

fn least_then_most(rows: &[usize]) -> Vec<usize> {
    let mut experts: Vec<usize> = (0..rows.len()).collect();
    experts.sort_by_key(|&expert| std::cmp::Reverse(rows[expert]));
    // If all experts have the same number of rows, the order is by number.
    let some = experts.iter().rposition(|&expert| rows[expert] > 0);
    if let Some(least) = some.filter(|&place| rows[experts[place]] < rows[experts[0]]) {
        experts[..=least].rotate_right(1);
    }
    experts
}

/// Reorders experts that are sorted by load. The heavy expert at position p moves to position 3p - 2. Every other
/// expert moves back by the number of heavy experts that now follow it.
fn heavy_then_two_light(rows: &[usize]) -> Vec<usize> {
    let experts = least_then_most(rows);
    let heavy = experts.len().saturating_sub(1) / 3;
    let mut mixed = experts.clone();
    for (place, expert) in experts.into_iter().enumerate() {
        let moved = match place.checked_sub(heavy + 1) {
            Some(light) => place - heavy.saturating_sub(light / 2 + 1),
            None => (3 * place).saturating_sub(2),
        };
        mixed[moved] = expert;
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_differences_nothing_moves() {
        assert_eq!(by_load(&[5, 5, 5], 1), [0, 1, 2]);
        assert_eq!(by_load(&[0, 0], 1), [0, 1]);
        assert_eq!(by_load(&[0, 7, 0], 1), [1, 0, 2]);
        assert_eq!(lightest_first(&[5, 5, 0, 5], 1), [0, 1, 3, 2]);
        assert_eq!(mixed(&[5; 4], 1), [0, 1, 2, 3]);
    }

    #[test]
    fn each_heavy_expert_is_followed_by_two_light_ones() {
        // Twelve experts after the lightest: four heavy ones, each followed by two, and two more.
        let rows: Vec<usize> = (1..16).rev().collect();
        assert_eq!(mixed(&rows, 1), [14, 0, 4, 5, 1, 6, 7, 2, 8, 9, 3, 10, 11, 12, 13]);
        assert_eq!(mixed(&rows[..14], 2), [6, 0, 2, 3, 1, 4, 5, 13, 7, 9, 10, 8, 11, 12]);
        for experts in 0..4 {
            assert_eq!(mixed(&rows[..experts], 1), by_load(&rows[..experts], 1));
        }
    }

    proptest! {
        #[test]
        fn every_expert_comes_once_in_its_chunk(rows in prop::collection::vec(0usize..5, 12), chunks in 1usize..5) {
            for order in [ExpertOrder::Number, ExpertOrder::Load, ExpertOrder::Mixed, ExpertOrder::LightestFirst] {
                let mut experts = order.of(&rows, chunks);
                for (chunk, experts) in experts.chunks(12 / chunks).enumerate() {
                    prop_assert!(experts.iter().all(|expert| expert / (12 / chunks) == chunk));
                }
                experts.sort_unstable();
                prop_assert!(experts.into_iter().eq(0..rows.len()));
            }
        }
    }
}
