//! The columns of tensors that phases access, and the bytes that one operator moves for them.

use super::operator::MovedBytes;
use hpmoe_core::graph::{Access, Columns, Phase, RowKind, Rows, TaskGraph};
use hpmoe_core::ids::TensorId;
use hpmoe_kernels::op::Device;
use std::collections::BTreeMap;
use std::ops::Range;

/// The columns of its tensor that an access covers, over all columns of the phase.
pub(super) fn columns(graph: &TaskGraph, phase: &Phase, access: &Access) -> Range<u32> {
    let all = graph.tensors[access.tensor].columns;
    match access.region.columns {
        Columns::All => 0..all,
        Columns::Tile { range, index, width } => tiles(phase, range, (index, width), all),
    }
}

/// The rows of a matrix that an access covers, over all columns of the phase; `None` if the item determines the rows.
pub(super) fn matrix_rows(phase: &Phase, access: &Access) -> Option<Range<u32>> {
    let Rows::Expert { range, index, height, outer } = access.region.rows else { return None };
    let rows = tiles(phase, range, (index, height), outer.rows);
    Some(outer.first + rows.start..outer.first + rows.end)
}

fn tiles(phase: &Phase, range: Option<u32>, (index, size): (u32, u32), all: u32) -> Range<u32> {
    let count = range.map_or(1, |range| phase.ranges[range as usize]);
    let [start, end] = [index, index + count].map(|tile| tile.saturating_mul(size).min(all));
    start..end
}

/// The rows of a tensor that elementwise work accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Touched {
    /// One row for each row of the operator.
    Row,
    /// All slots of each token of the operator.
    Slots,
    /// Rows `first` to `end` of each expert's matrix, or of the rank's matrix.
    Matrix { first: u32, end: u32 },
}

/// The columns that an operator accesses, by tensor and rows.
#[derive(Default)]
struct Regions(BTreeMap<(TensorId, Touched), Vec<Range<u32>>>);

impl Regions {
    fn add(&mut self, graph: &TaskGraph, phase: &Phase, access: &Access) {
        let touched = match (access.region.rows, matrix_rows(phase, access)) {
            (_, Some(rows)) => Touched::Matrix { first: rows.start, end: rows.end },
            (Rows::BlockSlots, None) => Touched::Slots,
            _ => Touched::Row,
        };
        self.0.entry((access.tensor, touched)).or_default().push(columns(graph, phase, access));
    }

    /// Bytes of all regions, with each column counted once.
    fn bytes(mut self, graph: &TaskGraph) -> MovedBytes {
        let mut sum = MovedBytes::default();
        for (&(tensor, touched), columns) in &mut self.0 {
            let tensor = &graph.tensors[tensor];
            let row = u64::from(united(columns)) * tensor.element.bytes() as u64;
            match touched {
                Touched::Row => sum.row += row,
                Touched::Slots => sum.row += row * graph.sizes.top_k as u64,
                Touched::Matrix { first, end } => {
                    let bytes = row * u64::from(end - first);
                    let of_expert = matches!(tensor.rows, RowKind::Expert(_));
                    *if of_expert { &mut sum.expert } else { &mut sum.rank } += bytes;
                }
            }
        }
        sum
    }
}

/// Number of columns that lie in at least one of the ranges.
fn united(ranges: &mut [Range<u32>]) -> u32 {
    ranges.sort_by_key(|range| range.start);
    let (mut sum, mut end) = (0, 0);
    for range in ranges {
        sum += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    sum
}

/// The bytes that one kernel reads and writes for phases on vector cores. It keeps on chip what one phase makes for another. `stays` tells
/// whether no other kernel reads a tensor, which then need not be written.
pub(super) fn moved(graph: &TaskGraph, phases: &[&Phase], stays: impl Fn(TensorId) -> bool) -> [MovedBytes; 2] {
    let (mut read, mut written) = (Regions::default(), Regions::default());
    let mut made: Vec<TensorId> = Vec::new();
    for phase in phases {
        for access in phase.accesses.iter().filter(|access| !access.write && !made.contains(&access.tensor)) {
            read.add(graph, phase, access);
        }
        for (param, access) in phase.accesses.iter().enumerate().filter(|(_, access)| access.write) {
            // A result that is added to is read, too.
            if adds_to(graph, phase, param) {
                read.add(graph, phase, access);
            }
            if !stays(access.tensor) {
                written.add(graph, phase, access);
            }
            made.push(access.tensor);
        }
    }
    [read.bytes(graph), written.bytes(graph)]
}

/// Whether a task adds to the contents of the argument for parameter `param`.
fn adds_to(graph: &TaskGraph, phase: &Phase, param: usize) -> bool {
    let mut steps = graph.tasks[phase.task].body.steps.iter();
    steps.any(|step| matches!(step.operation.device, Device::Accumulate) && step.operands[0].0 as usize == param)
}
