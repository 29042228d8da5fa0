//! What a schedule of ours moves through HBM in any order.

use super::layout::Layout;
use crate::simulate::LeastHbm;
use hpmoe_codegen::cost::matrices;
use hpmoe_language::graph::TaskGraph;

/// Bytes that a rank moves at least: each matrix of an expert once, and of gradients that are added to only those of experts with
/// rows.
pub(super) fn least_hbm(graph: &TaskGraph, layout: &Layout, rank: u32) -> LeastHbm {
    let own = layout.local / layout.chunks;
    let has_rows = |expert: &u32| (0..layout.chunks).any(|chunk| layout.expert_rows(rank, chunk * own + expert) > 0);
    let with_rows = (0..own).filter(has_rows).count() as u64;
    let mut least = LeastHbm::default();
    for matrix in matrices(graph) {
        least.read += matrix.read * with_rows;
        least.written += matrix.written * if matrix.always { own.into() } else { with_rows };
    }
    least
}
