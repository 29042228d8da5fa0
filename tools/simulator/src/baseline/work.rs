//! The work that every policy must do, for tests that compare policies with it.

use super::collective::between;
use super::{Direction, LayerShape, Operator, OperatorKind};
use crate::simulate::Routing;

/// The work of one rank, without the costs of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Covered {
    /// FLOPs of products.
    pub(super) flops: u64,
    /// Bytes read and written by vector operators.
    pub(super) vector_bytes: u64,
    /// Bytes sent to other ranks.
    pub(super) sent_bytes: u64,
    /// Bytes that puts move within the rank.
    pub(super) kept_bytes: u64,
}

impl Covered {
    /// The work that any policy does on one rank under a routing.
    #[must_use]
    pub(super) fn of(shape: &LayerShape, direction: Direction, routing: &Routing, rank: u32) -> Self {
        let own = shape.experts_per_rank();
        let experts = rank * own..(rank + 1) * own;
        let received = routing.received_rows(rank);
        let mut covered = Self::default();
        for &operator in Operator::all(direction) {
            let row = u64::from(operator.row_bytes(shape));
            match operator.kind(shape) {
                OperatorKind::Product(product) => {
                    let flops = experts.clone().map(|expert| product.flops(routing.expert_rows(expert)));
                    covered.flops += flops.sum::<u64>();
                }
                OperatorKind::Vector => covered.vector_bytes += row * u64::from(received),
                OperatorKind::Put => {
                    for peer in 0..shape.ranks {
                        let dispatched = operator == Operator::Dispatch;
                        let [source, owner] = if dispatched { [rank, peer] } else { [peer, rank] };
                        let bytes = row * u64::from(between(routing, source, owner));
                        *if peer == rank { &mut covered.kept_bytes } else { &mut covered.sent_bytes } += bytes;
                    }
                }
                OperatorKind::Terminate => {}
            }
        }
        covered
    }
}

mod tests;
