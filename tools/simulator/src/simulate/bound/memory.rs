//! Bytes through HBM.

use crate::simulate::{Ahead, CoreKind, Cost, Time};
use hpmoe_core::target::Target;

/// Number of bytes that the tasks of each rank move through its HBM, regardless of their order.
pub(super) struct HbmBytes {
    of_ranks: Vec<OfRank>,
    /// Bytes per picosecond that HBM moves for tasks other than puts. `together` is the rate for all tasks including
    /// puts.
    alone: f64,
    together: f64,
}

#[derive(Clone, Copy, Default)]
struct OfRank {
    /// Bytes that tasks of matrix cores move. `vector` is the same for vector cores.
    matrix: f64,
    vector: f64,
    /// Bytes of puts from this rank, and of puts to it.
    puts: f64,
    /// Maximum number of bytes that a matrix core can read before a task begins.
    ahead: f64,
}

impl HbmBytes {
    pub(super) fn new(target: &Target, ranks: u32) -> Self {
        let (hbm, link) = (target.memory.hbm_gb_per_s, &target.link);
        // Puts leave a quarter to other work, however much they take.
        let with_puts = hbm / 4.0 + 2.0 * (link.same_package_gb_per_s + link.other_package_gb_per_s);
        Self { of_ranks: vec![OfRank::default(); ranks as usize], alone: hbm / 1e3, together: hbm.max(with_puts) / 1e3 }
    }

    pub(super) fn add(&mut self, (rank, kind): (u32, CoreKind), cost: Cost, ahead: Ahead) {
        match cost {
            Cost::Shared(shared) => {
                let of_rank = &mut self.of_ranks[rank as usize];
                let sum = if kind == CoreKind::Aic { &mut of_rank.matrix } else { &mut of_rank.vector };
                *sum += shared.hbm;
                of_rank.ahead = of_rank.ahead.max(ahead.hbm);
            }
            Cost::Link { to, bytes } => {
                [rank, to].into_iter().for_each(|rank| self.of_ranks[rank as usize].puts += bytes as f64)
            }
            Cost::Nothing | Cost::Alone(_) => {}
        }
    }

    /// Minimum time of a rank's HBM for all bytes.
    pub(super) fn of_all(&self, rank: u32) -> Time {
        let OfRank { matrix, vector, puts, .. } = self.of_ranks[rank as usize];
        let tasks = matrix + vector;
        Time((tasks / self.alone).max((tasks + puts) / self.together) as u64)
    }

    /// Minimum time of a rank's HBM for the bytes that `cores` matrix cores move after their first tasks have begun.
    pub(super) fn of_matrix(&self, rank: u32, cores: u32) -> Time {
        let OfRank { matrix, ahead, .. } = self.of_ranks[rank as usize];
        Time(((matrix - f64::from(cores) * ahead).max(0.0) / self.alone) as u64)
    }
}
