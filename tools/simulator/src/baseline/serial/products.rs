//! The products of phases on matrix cores, as operators.

use super::moved::{columns, matrix_rows};
use super::operator::{RowClass, SerialProduct};
use crate::baseline::{OperatorProduct, ProductExtent};
use hpmoe_core::cost::Works;
use hpmoe_core::graph::{Access, Phase, RowKind, Rows, TaskGraph};
use hpmoe_core::ids::TensorId;
use std::ops::Range;

/// The product of a phase, with the operands that it reads.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PhaseProduct {
    pub(super) product: SerialProduct,
    /// The left operand of each term.
    left: Vec<Operand>,
    /// The right operand of each term.
    right: Vec<Operand>,
}

/// The part of a tensor that a product reads.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Operand {
    tensor: TensorId,
    rows: Option<Range<u32>>,
    columns: Range<u32>,
}

impl PhaseProduct {
    /// The product of a phase over the rows of a class; `None` if the phase multiplies nothing.
    pub(super) fn new(graph: &TaskGraph, phase: &Phase, works: &Works, rows: RowClass) -> Option<Self> {
        let (left, right) = operands(graph, phase);
        let tiles: Vec<_> = (0..phase.columns()).filter_map(|column| works.product(column)).collect();
        let first = *tiles.first().filter(|_| !left.is_empty())?;
        let out = phase.accesses.iter().find(|access| access.write)?;
        let columns_of = columns(graph, phase, out);
        let n = columns_of.end - columns_of.start;
        // The fixed extents of all tiles, multiplied.
        let macs: u64 = tiles
            .iter()
            .map(|tile| {
                [tile.m.unwrap_or(1), tile.n, tile.k.unwrap_or(1), tile.products].map(u64::from).iter().product::<u64>()
            })
            .sum();
        let m = match (first.m, matrix_rows(phase, out)) {
            (Some(_), Some(rows)) => ProductExtent::Fixed(rows.end - rows.start),
            (Some(m), None) => ProductExtent::Fixed(m),
            (None, _) => ProductExtent::Rows,
        };
        let fixed = |extent| if let ProductExtent::Fixed(size) = extent { size } else { 1 };
        let area = u64::from(fixed(m)) * u64::from(n);
        let deep = (macs as f64 / area.max(1) as f64).round() as u32;
        let (k, terms) = match first.k {
            Some(_) => (ProductExtent::Fixed(deep), 1),
            None => (ProductExtent::Rows, deep.max(1)),
        };
        let by_expert = rows == RowClass::Received && of_experts(graph, phase);
        Some(Self {
            product: SerialProduct {
                rows,
                by_expert,
                extents: OperatorProduct { m, n: ProductExtent::Fixed(n), k },
                terms,
                operands: first.operands,
                out: first.out,
            },
            left,
            right,
        })
    }

    /// This product and another one as a single product: `x · [v, w]`, or `[v, w]ᵀ · x` if both contract the same rows. `None` if that is
    /// not possible.
    pub(super) fn joined(&self, other: &Self) -> Option<Self> {
        let (one, two) = (&self.product, &other.product);
        let alike = |product: &SerialProduct| {
            (product.rows, product.by_expert, product.terms, product.operands, product.out, product.extents.k)
        };
        if alike(one) != alike(two) {
            return None;
        }
        let OperatorProduct { m, n, k } = one.extents;
        let extents = if self.left == other.left && m == two.extents.m {
            OperatorProduct { m, n: added(n, two.extents.n)?, k }
        } else if self.right == other.right && n == two.extents.n {
            OperatorProduct { m: added(m, two.extents.m)?, n, k }
        } else {
            return None;
        };
        Some(Self { product: SerialProduct { extents, ..*one }, left: self.left.clone(), right: self.right.clone() })
    }
}

/// The sum of two extents; `None` unless both are fixed.
fn added(one: ProductExtent, two: ProductExtent) -> Option<ProductExtent> {
    let (ProductExtent::Fixed(one), ProductExtent::Fixed(two)) = (one, two) else { return None };
    Some(ProductExtent::Fixed(one + two))
}

/// The left operands and the right operands of a matrix task, one per term.
fn operands(graph: &TaskGraph, phase: &Phase) -> (Vec<Operand>, Vec<Operand>) {
    let operand = |param: usize| {
        let access = &phase.accesses[param];
        Operand { tensor: access.tensor, rows: matrix_rows(phase, access), columns: columns(graph, phase, access) }
    };
    graph.tasks[phase.task].body.factors().map(|[left, right]| (operand(left), operand(right))).unzip()
}

/// Whether a phase on received rows has one product per expert: it accesses experts' matrices, or all rows of an expert.
fn of_experts(graph: &TaskGraph, phase: &Phase) -> bool {
    let by_expert = |access: &Access| {
        matches!(graph.tensors[access.tensor].rows, RowKind::Expert(_)) || access.region.rows == Rows::Group
    };
    phase.accesses.iter().any(by_expert)
}
