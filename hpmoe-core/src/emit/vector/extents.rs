//! The numbers of elements that calls run over.

use super::super::cpp::{Expr, int, name};
use crate::plan::{Buffer, Instruction, VectorPlan, Width};

/// The number of columns of a width at run time.
pub(super) fn columns(width: Width, params: &[String]) -> Expr {
    match width {
        Width::Fixed(columns) => int(columns),
        Width::Of { param, parts } => name(&params[param]).dot("cols") / int(parts),
    }
}

/// The first row of a piece and its number of rows, in a buffer.
pub(super) fn rows(buffer: &Buffer) -> [Expr; 2] {
    if buffer.single { [int(0u64), int(1u64)] } else { ["first", "rows"].map(|number| name(number) * int(buffer.rows)) }
}

/// Rows and columns that a call runs over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Rows of the buffer for each row of the piece.
    pub(super) rows: u32,
    pub(super) single: bool,
    pub(super) width: Width,
}

impl Extent {
    pub(super) fn new(buffer: &Buffer) -> Self {
        Self { rows: buffer.rows, single: buffer.single, width: buffer.width }
    }

    /// The name of this number of elements: `count`, followed by columns and rows if those of other extents differ.
    pub(super) fn label(&self, all: &[Self], params: &[String]) -> String {
        let columns = match self.width {
            _ if all.iter().all(|other| other.width == self.width) => String::new(),
            Width::Fixed(1) => "_column".to_owned(),
            Width::Fixed(columns) => format!("_{columns}_columns"),
            Width::Of { param, parts: 1 } => format!("_{}", params[param]),
            Width::Of { param, parts } => format!("_{}_by_{parts}", params[param]),
        };
        let times = match self.rows {
            _ if self.single => "_row".to_owned(),
            1 => String::new(),
            rows => format!("_{rows}"),
        };
        format!("count{columns}{times}")
    }
}

/// The distinct extents of all calls that take a number of elements.
pub(super) fn extents(plan: &VectorPlan) -> Vec<Extent> {
    let mut extents = Vec::new();
    let counted = plan
        .program
        .calls
        .iter()
        .filter(|call| !matches!(call.instruction, Instruction::Routine { .. } | Instruction::Spread(_)));
    for call in counted {
        let extent = Extent::new(&plan.program.buffers[call.to]);
        if !extents.contains(&extent) {
            extents.push(extent);
        }
    }
    extents
}
