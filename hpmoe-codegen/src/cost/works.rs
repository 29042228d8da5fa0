//! The work of a tile of each phase.

use super::{Costs, Efficiency, Time, Work, reuse};
use crate::target::Target;
use hpmoe_kernels::op::{Contracted, Device, TaskKind};
use hpmoe_language::graph::{Access, Columns, Height, Phase, RowKind, Rows, TaskGraph};
use hpmoe_language::ids::{Arena, Id, PhaseId};

/// Bytes of a (token, k) that goes with each row of a put of gathered tokens.
const ORIGIN: u64 = 4;

/// What the tiles of one phase do.
#[derive(Clone, Debug)]
pub struct Works {
    /// Rows of a tile with all its rows; of a tile of a whole expert, [`WHOLE_EXPERT`].
    full_rows: u32,
    /// It puts to another rank.
    away: bool,
    /// As [`TaskGraph::column_rows`].
    column_rows: u32,
    columns: Vec<Column>,
    /// Columns of what a tile writes, by its column.
    widths: Vec<u32>,
}

/// What the tiles of one column do, with all their rows.
#[derive(Clone, Copy, Debug)]
enum Column {
    /// `m` or `k` are the item's rows where they are none.
    Product {
        m: Option<u32>,
        n: u32,
        k: Option<u32>,
        products: u32,
    },
    /// Bytes that grow with the rows, and bytes that don't.
    Vector {
        read: u64,
        fixed: u64,
        written: u64,
    },
    Put {
        row: u64,
    },
}

/// Rows for which a tile of a whole expert is priced: its cost grows with the rows it really has.
const WHOLE_EXPERT: u32 = 128;

/// Rows for which a tile of that height is priced.
const fn priced(height: Height) -> u32 {
    match height {
        Height::Rows(rows) => rows,
        Height::WholeExpert => WHOLE_EXPERT,
    }
}

impl Works {
    /// Of every phase.
    #[must_use]
    pub fn of(graph: &TaskGraph) -> Arena<PhaseId, Self> {
        let works = graph.phases.iter().map(|(id, phase)| Self {
            column_rows: graph.column_rows(id),
            full_rows: priced(graph.spaces[phase.space].height),
            away: phase.accesses.iter().any(|access| access.remote),
            columns: (0..phase.columns()).map(|column| Column::of(graph, phase, column)).collect(),
            widths: (0..phase.columns()).map(|column| width(graph, phase, column)).collect(),
        });
        works.collect()
    }

    /// Rows for which a tile is priced: all rows of a full tile; for a tile of a whole expert, a fixed number.
    #[must_use]
    pub const fn full_rows(&self) -> u32 {
        self.full_rows
    }

    /// Columns of what a tile writes.
    #[must_use]
    pub fn width(&self, column: u32) -> u32 {
        self.widths[column as usize]
    }

    /// How long a tile with all its rows takes when nothing else runs, columns taken evenly. What may go to another rank does.
    #[must_use]
    pub fn alone(&self, target: &Target, costs: &Costs) -> Time {
        let peer_and_rows = (u32::from(self.away), self.full_rows);
        let columns = 0..self.columns.len() as u32;
        let all: Time = columns.map(|column| costs.alone(0, &self.work(target, peer_and_rows, column, (1, 1)))).sum();
        Time(all.0 / (self.columns.len() as u64).max(1))
    }

    /// The work of the tile of `item_rows` rows in a column, put to `peer` where it is a put; `items` of its entry are walked in bands of
    /// `band`.
    #[must_use]
    pub fn work(&self, target: &Target, (peer, item_rows): (u32, u32), column: u32, (items, band): (u32, u32)) -> Work {
        let scaled = |bytes: u64| bytes * u64::from(item_rows) / u64::from(self.full_rows);
        match self.columns[column as usize] {
            Column::Product { m, n, k, products } => {
                let height = m.unwrap_or(self.full_rows);
                let (m, k) = (m.unwrap_or(item_rows), k.unwrap_or(item_rows));
                let (rows, wide) = (items * self.column_rows, self.columns.len() as u32 / self.column_rows);
                let (left_reuse, right_reuse) = reuse(target, (rows, wide, band), (height, n, k));
                let tiles = products as f32;
                Work::Gemm { m, n, k, tiles, left_reuse, right_reuse, efficiency: Efficiency::Fused }
            }
            Column::Vector { read, fixed, written } => {
                Work::Vector { read: scaled(read) + fixed, written: scaled(written) }
            }
            Column::Put { row } => Work::Put { to: peer, bytes: row * u64::from(item_rows) },
        }
    }
}

impl Column {
    fn of(graph: &TaskGraph, phase: &Phase, column: u32) -> Self {
        let task = &graph.tasks[phase.task];
        let extent = |param: usize| {
            let shape = task.params[param].shape;
            extent(
                graph,
                phase,
                &phase.accesses[param],
                column,
                (priced(Height::from_source(shape.rows)), shape.cols as u32),
            )
        };
        let bytes = |param: usize| {
            let (rows, columns) = extent(param);
            u64::from(rows) * u64::from(columns) * task.params[param].shape.element.bytes() as u64
        };
        match task.kind {
            TaskKind::Matrix => {
                let terms = task.body.steps.iter().filter_map(|step| match step.operation.device {
                    Device::Matmul { x, w, adds } => Some((step, x, w, usize::from(adds))),
                    _ => None,
                });
                let terms: Vec<_> = terms.collect();
                let Some(&(step, x, w, first)) = terms.first() else {
                    return Self::Product { m: Some(0), n: 0, k: Some(0), products: 0 };
                };
                let (left, right) = (step.operands[first].index(), step.operands[first + 1].index());
                let by_item = |param: usize| !matches!(phase.accesses[param].region.rows, Rows::Expert { .. });
                let split = |param: usize, way| match (extent(param), way) {
                    ((rows, columns), Contracted::Columns) => (Some(rows).filter(|_| !by_item(param)), Some(columns)),
                    ((rows, columns), Contracted::Rows) => (Some(columns), Some(rows).filter(|_| !by_item(param))),
                };
                let ((m, k), (n, _)) = (split(left, x), split(right, w));
                Self::Product { m, n: n.unwrap_or(0), k, products: terms.len() as u32 }
            }
            TaskKind::Vector => {
                let (mut read, mut fixed, mut written) = (0, 0, 0);
                for (param, access) in phase.accesses.iter().enumerate() {
                    let with_rows = !matches!(access.region.rows, Rows::Expert { .. });
                    let sum = if access.write {
                        &mut written
                    } else if with_rows {
                        &mut read
                    } else {
                        &mut fixed
                    };
                    *sum += bytes(param);
                }
                Self::Vector { read, fixed, written }
            }
            TaskKind::Put => {
                let written = phase.accesses.iter().enumerate().filter(|(_, access)| access.write);
                let row = written.map(|(param, _)| bytes(param) / u64::from(extent(param).0.max(1))).sum::<u64>();
                Self::Put { row: row + if phase.origins.is_some_and(|origins| origins.write) { ORIGIN } else { 0 } }
            }
        }
    }
}

/// Columns of the first tile that a task writes, in one column of the phase.
fn width(graph: &TaskGraph, phase: &Phase, column: u32) -> u32 {
    let mut written = phase.accesses.iter().enumerate().filter(|(_, access)| access.write);
    let shape = |param: usize| graph.tasks[phase.task].params[param].shape;
    let of =
        |(param, access)| extent(graph, phase, access, column, (shape(param).rows as u32, shape(param).cols as u32)).1;
    written.next().map_or(0, of)
}

/// Rows and columns of an argument in one column of the phase: at the edge of a tensor fewer than the tile has.
fn extent(graph: &TaskGraph, phase: &Phase, access: &Access, column: u32, (rows, columns): (u32, u32)) -> (u32, u32) {
    let tensor = &graph.tensors[access.tensor];
    let index = |range: Option<u32>, fixed: u32| match range {
        Some(range) => {
            let inner: u32 = phase.ranges[range as usize + 1..].iter().product();
            column / inner % phase.ranges[range as usize]
        }
        None => fixed,
    };
    let rows = match (access.region.rows, tensor.rows) {
        (
            Rows::Expert { range, index: fixed, height },
            RowKind::Expert { rows: all } | RowKind::Matrix { rows: all },
        ) => height.min(all.saturating_sub(index(range, fixed) * height)),
        _ => rows,
    };
    let columns = match access.region.columns {
        Columns::All => columns.min(tensor.columns),
        Columns::Tile { range, index: fixed, width } => {
            width.min(tensor.columns.saturating_sub(index(range, fixed) * width))
        }
    };
    (rows, columns)
}
