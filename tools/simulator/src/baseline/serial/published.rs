//! The operators of the layer whose operator-by-operator latencies are published.

use super::operator::{MovedBytes, RowClass, SerialOperator, SerialProduct, SerialWork, Way};
use crate::baseline::{Direction, LayerShape, Operator, OperatorKind, ProductExtent};
use crate::simulate::Written;
use hpmoe_kernels::op::ElementType;

/// The operators of one direction, without the kernels before and after it, which the published latencies exclude.
pub(super) fn published(shape: &LayerShape, direction: Direction) -> Vec<SerialOperator> {
    let mut steps = Operator::all(direction).to_vec();
    steps.sort_by_key(|&operator| operator == Operator::Combine);
    let work = |operator: Operator| match operator.kind(shape) {
        OperatorKind::Product(extents) => SerialWork::Product(SerialProduct {
            rows: RowClass::Received,
            by_expert: true,
            extents,
            terms: 1,
            operands: ElementType::bf16,
            out: Written::BF16,
        }),
        OperatorKind::Vector => {
            let [read, written] = operator.read_and_written(shape).map(|row| MovedBytes::of_row(u64::from(row)));
            SerialWork::Vector { rows: RowClass::Received, read, written }
        }
        OperatorKind::Put | OperatorKind::Terminate => SerialWork::Collective {
            way: if operator == Operator::Dispatch { Way::Out } else { Way::Back },
            row: u64::from(operator.row_bytes(shape)),
        },
    };
    steps.into_iter().map(|operator| SerialOperator::new(operator.name(), 0, work(operator))).collect()
}

impl SerialProduct {
    /// Whether the product sums over rows, and is thus the gradient of a weight.
    #[must_use]
    pub const fn is_gradient(&self) -> bool {
        matches!(self.extents.k, ProductExtent::Rows)
    }
}
