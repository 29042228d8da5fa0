//! The work of the tiles of each phase.

use super::extents::{extent, width};
use super::joined::panels;
use super::{CostModel, Joined, PanelReuse, ProductExtents, Shared, TileWalk, Work, Written};
use crate::collections::SortedSet;
use crate::graph::{Height, Phase, Rows, SpaceKind, TaskGraph};
use crate::ids::{Arena, Id, PhaseId};
use crate::target::Target;
use crate::time::Time;
use hpmoe_kernels::op::{Contracted, Device, ElementType, TaskKind};

/// Bytes of the (token, k) that a put of gathered tokens sends with each row.
const ORIGIN: u64 = 4;

/// The work of the tiles of one phase, as a function of their rows.
#[derive(Clone, Debug)]
pub struct Works {
    /// Rows of a full tile; for tiles of a whole expert, [`WHOLE_EXPERT`].
    full_rows: u32,
    /// Whether the phase puts to another rank.
    away: bool,
    /// Rows of tiles that an item has, as [`TaskGraph::column_rows`] counts them.
    column_rows: u32,
    columns: Vec<Column>,
    /// The position in `kinds` of each column's kind, by column of the phase.
    kind_of: Vec<u32>,
    /// The first column of each kind: columns of a kind have the same work.
    kinds: Vec<u32>,
    /// The columns of the tensor that the tile in each column of the phase writes.
    widths: Vec<u32>,
    /// Bytes that vector cores and puts of the taskflow move for each floating-point operation of its products.
    bytes_per_flop: f64,
    /// The first phases with the same left panels and with the same right panels.
    panels: [PhaseId; 2],
    /// The time of a full tile that an external operator declares.
    pub(super) declared: Option<Time>,
}

/// The work of a full tile in one column of a phase.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Column {
    /// Products of the same size.
    Product(TileProduct),
    /// Bytes moved by elementwise work: proportional to the rows, and a fixed number for experts' and ranks' matrices.
    Vector { read: u64, written: u64, fixed: Fixed },
    /// Bytes put for each row.
    Put { row: u64 },
}

/// The products of a tile of a matrix task, added up in one result: each is of an `m`×`k` left panel and a `k`×`n` right panel. At most one
/// of `m` and `k` is `None`, which stands for the number of rows of the tile's item.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TileProduct {
    /// Rows of the result.
    pub m: Option<u32>,
    /// Columns of the result.
    pub n: u32,
    /// Terms of each sum of one product.
    pub k: Option<u32>,
    /// Element type of both operands.
    pub operands: ElementType,
    /// Number of products.
    pub products: u32,
    /// How the result is written to memory.
    pub out: Written,
}

/// Bytes of matrices that elementwise work moves.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Fixed {
    read: u64,
    written: u64,
}

/// The time of a full tile that the external operator of a call declares; `None` if it declares none.
fn declared(graph: &TaskGraph, phase: &Phase) -> Option<Time> {
    let external = graph.tasks[phase.task].external.as_ref()?;
    external.microseconds.map(|microseconds| Time::from_us(microseconds.into()))
}

/// Number of rows for which a tile of a whole expert is priced. The cost is then scaled to the actual number of rows.
const WHOLE_EXPERT: u32 = 128;

/// Number of rows for which a tile of this height is priced.
const fn priced(height: Height) -> u32 {
    match height {
        Height::Rows(rows) => rows,
        Height::WholeExpert => WHOLE_EXPERT,
    }
}

/// The properties of a tile that its work depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryTile {
    /// The rank that a put goes to; ignored for other phases.
    pub peer: u32,
    /// Rows of the tile's item.
    pub rows: u32,
    /// The tile's column in the phase.
    pub column: u32,
    /// Number of items of the entry.
    pub items: u32,
    /// Number of items of a band, which cores walk together, column by column.
    pub band: u32,
    /// The numbers of phases that are walked together, tile by tile.
    pub joined: Joined,
}

impl Works {
    /// The work of the tiles of each phase of a graph.
    #[must_use]
    pub fn of_phases(graph: &TaskGraph) -> Arena<PhaseId, Self> {
        let panels = panels(graph);
        let mut works: Arena<PhaseId, Self> = graph
            .phases
            .iter()
            .map(|(id, phase)| {
                let columns: Vec<_> = (0..phase.columns()).map(|column| Column::new(graph, phase, column)).collect();
                let (kind_of, kinds) = kinds(&columns);
                Self {
                    column_rows: graph.column_rows(id),
                    full_rows: priced(graph.spaces[phase.space].height),
                    away: phase.accesses.iter().any(|access| access.remote),
                    columns,
                    kind_of,
                    kinds,
                    widths: (0..phase.columns()).map(|column| width(graph, phase, column)).collect(),
                    bytes_per_flop: 0.0,
                    panels: panels[id],
                    declared: declared(graph, phase),
                }
            })
            .collect();
        let bytes_per_flop = bytes_per_flop(graph, &works);
        works.ids().for_each(|id| works[id].bytes_per_flop = bytes_per_flop);
        works
    }

    /// The numbers of phases that are walked together with `phase`, and of those that read the same panels. `phases` are all of them.
    #[must_use]
    pub fn joined(works: &Arena<PhaseId, Self>, phases: &[PhaseId], phase: PhaseId) -> Joined {
        let shared = |side: usize| {
            let panels = || phases.iter().map(|&other| works[other].panels[side]);
            Shared {
                same: panels().filter(|&panels| panels == works[phase].panels[side]).count() as u32,
                different: panels().collect::<SortedSet<_>>().iter().count() as u32,
            }
        };
        Joined { phases: phases.len() as u32, left: shared(0), right: shared(1) }
    }

    /// Number of rows for which a tile is priced: all rows of a full tile, or a fixed number for a tile of a whole expert.
    #[must_use]
    pub const fn full_rows(&self) -> u32 {
        self.full_rows
    }

    /// Bytes that vector cores and puts of the taskflow move for each floating-point operation of its products.
    #[must_use]
    pub const fn bytes_per_flop(&self) -> f64 {
        self.bytes_per_flop
    }

    /// The first column of each kind. Tiles that differ only in their columns have the same work if these columns are of the same kind.
    #[must_use]
    pub fn kinds(&self) -> &[u32] {
        &self.kinds
    }

    /// The position in [`kinds`](Self::kinds) of the kind that a column of the phase belongs to.
    #[must_use]
    pub fn kind_of(&self, column: u32) -> usize {
        self.kind_of[column as usize] as usize
    }

    /// The products of a tile in a column of the phase; `None` if the task is not a matrix task.
    #[must_use]
    pub fn product(&self, column: u32) -> Option<TileProduct> {
        match self.columns[column as usize] {
            Column::Product(product) => Some(product),
            Column::Vector { .. } | Column::Put { .. } => None,
        }
    }

    /// The declared time of a full tile, if the task has an operator that declares it.
    #[must_use]
    pub const fn declared(&self) -> Option<Time> {
        self.declared
    }

    /// Number of tensor columns of the tile that the task writes (its first `&mut` argument), in column `column` of the phase; 0 if the
    /// task writes none.
    #[must_use]
    pub fn width(&self, column: u32) -> u32 {
        self.widths[column as usize]
    }

    /// The mean time of a tile with `rows` rows, over all columns of the phase, if nothing else runs and L2 holds all operands. A phase
    /// that puts to other ranks is priced for a put to another rank.
    #[must_use]
    pub fn alone(&self, target: &Target, costs: &CostModel, rows: u32) -> Time {
        let tile = EntryTile { peer: u32::from(self.away), rows, column: 0, items: 1, band: 1, joined: Joined::ALONE };
        let columns = 0..self.columns.len() as u32;
        let all: Time = columns.map(|column| costs.least(0, &self.work(target, EntryTile { column, ..tile }))).sum();
        Time(all.0 / (self.columns.len() as u64).max(1))
    }

    /// The work of a tile according to the task's body. `reused` gives the reuse of its panels.
    pub(super) fn work_of_body(
        &self,
        tile: EntryTile,
        reused: impl FnOnce(TileWalk, ProductExtents) -> PanelReuse,
    ) -> Work {
        let EntryTile { peer, rows: item_rows, column, items, band, .. } = tile;
        let scaled = |bytes: u64| bytes * u64::from(item_rows) / u64::from(self.full_rows);
        match self.columns[column as usize] {
            Column::Product(TileProduct { m, n, k, operands, products, out }) => {
                let height = m.unwrap_or(self.full_rows);
                let (m, k) = (m.unwrap_or(item_rows), k.unwrap_or(item_rows));
                let (items, columns) = (items * self.column_rows, self.columns.len() as u32 / self.column_rows);
                let walk = TileWalk { items, columns, band };
                let reuse = reused(walk, ProductExtents { m: height, n, k, operands, written: out.element });
                Work::Gemm { m, n, k, operands, products, left_reuse: reuse.left, right_reuse: reuse.right, out }
            }
            Column::Vector { read, written, fixed } => {
                Work::Vector { read: scaled(read) + fixed.read, written: scaled(written) + fixed.written }
            }
            Column::Put { row } => Work::Put { to: peer, bytes: row * u64::from(item_rows) },
        }
    }
}

/// The kind of each column, and the first column of each kind. Columns with equal work are of one kind.
fn kinds(columns: &[Column]) -> (Vec<u32>, Vec<u32>) {
    let mut kinds: Vec<u32> = Vec::new();
    let kind_of = columns.iter().zip(0..).map(|(column, number)| {
        let known = kinds.iter().position(|&kind| columns[kind as usize] == *column);
        known.unwrap_or_else(|| {
            kinds.push(number);
            kinds.len() - 1
        }) as u32
    });
    (kind_of.collect(), kinds)
}

impl Column {
    fn new(graph: &TaskGraph, phase: &Phase, column: u32) -> Self {
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
                    let operands = ElementType::bf16;
                    let (m, k, out) = (Some(0), Some(0), Written::BF16);
                    return Self::Product(TileProduct { m, n: 0, k, operands, products: 0, out });
                };
                let (left, right) = (step.operands[first].index(), step.operands[first + 1].index());
                let by_item = |param: usize| !matches!(phase.accesses[param].region.rows, Rows::Expert { .. });
                let split = |param: usize, way| match (extent(param), way) {
                    ((rows, columns), Contracted::Columns) => (Some(rows).filter(|_| !by_item(param)), Some(columns)),
                    ((rows, columns), Contracted::Rows) => (Some(columns), Some(rows).filter(|_| !by_item(param))),
                };
                let ((m, k), (n, _)) = (split(left, x), split(right, w));
                let written = (0..).zip(&phase.accesses).find(|(_, access)| access.write);
                let out = written.map_or(Written::BF16, |(param, _)| {
                    let (element, adds) = (task.params[param].shape.element.bytes(), adds_to(graph, phase, param));
                    // Only sums over all rows of an expert add up by parts.
                    let parts = if k.is_none() && adds { graph.sizes.chunk_parts() as u32 } else { 1 };
                    Written { element: element as u32, adds, parts }
                });
                let operands = task.params[left].shape.element;
                Self::Product(TileProduct { m, n: n.unwrap_or(0), k, operands, products: terms.len() as u32, out })
            }
            TaskKind::Vector => {
                let (mut read, mut written, mut fixed) = (0, 0, Fixed::default());
                for (param, access) in phase.accesses.iter().enumerate() {
                    let with_rows = !matches!(access.region.rows, Rows::Expert { .. });
                    let (read, written) =
                        if with_rows { (&mut read, &mut written) } else { (&mut fixed.read, &mut fixed.written) };
                    *if access.write { &mut *written } else { &mut *read } += bytes(param);
                    // A result that is added to is read, too.
                    if access.write && adds_to(graph, phase, param) {
                        *read += bytes(param);
                    }
                }
                Self::Vector { read, written, fixed }
            }
            TaskKind::Put => {
                let written = phase.accesses.iter().enumerate().filter(|(_, access)| access.write);
                let row = written.map(|(param, _)| bytes(param) / u64::from(extent(param).0.max(1))).sum::<u64>();
                Self::Put { row: row + if phase.origins.is_some_and(|origins| origins.write) { ORIGIN } else { 0 } }
            }
        }
    }
}

/// Whether a task adds to the contents of an argument, rather than overwriting it.
pub(super) fn adds_to(graph: &TaskGraph, phase: &Phase, param: usize) -> bool {
    let mut steps = graph.tasks[phase.task].body.steps.iter();
    steps.any(|step| matches!(step.operation.device, Device::Accumulate) && step.operands[0].index() == param)
}

/// Bytes of all vector work and puts for a received row, divided by the operations of all products for it. A put row counts twice, because
/// it leaves one rank and arrives at another.
fn bytes_per_flop(graph: &TaskGraph, works: &Arena<PhaseId, Works>) -> f64 {
    let (mut bytes, mut flops) = (0.0, 0.0);
    for (id, phase) in graph.phases.iter() {
        let tokens_of_row = match graph.spaces[phase.space].kind {
            SpaceKind::Blocks => 1.0 / graph.sizes.top_k as f64,
            SpaceKind::Chunks => 0.0,
            _ => 1.0,
        };
        let full = f64::from(works[id].full_rows);
        for column in &works[id].columns {
            match *column {
                Column::Product(TileProduct { m, n, k, products, .. }) => {
                    let of_row = f64::from(m.unwrap_or(1)) * f64::from(k.unwrap_or(1));
                    flops += 2.0 * f64::from(n) * f64::from(products) * of_row;
                }
                Column::Vector { read, written, .. } => bytes += tokens_of_row * (read + written) as f64 / full,
                Column::Put { row } => bytes += 2.0 * row as f64,
            }
        }
    }
    if flops > 0.0 { bytes / flops } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward, widened};

    #[test]
    fn columns_of_a_kind_have_the_same_work() {
        let layer = Layer { hidden: 2880, inter: 1000, tokens: 300, ..Layer::DEEPSEEK };
        let (checked, target) = (moe_backward(&layer), Target::ascend_a3());
        let works = Works::of_phases(checked.graph());
        let mut fewer = 0;
        for (id, phase) in checked.graph().phases.iter() {
            let tile = |column| EntryTile { peer: 1, rows: 77, column, items: 5, band: 2, joined: Joined::ALONE };
            let work = |column| works[id].work(&target, tile(column));
            for column in 0..phase.columns() {
                assert_eq!(work(column), work(works[id].kinds()[works[id].kind_of(column)]));
            }
            fewer += u32::from((works[id].kinds().len() as u32) < phase.columns());
        }
        assert!(fewer > 5, "{fewer}");
    }

    #[test]
    fn what_is_made_of_a_matrix_costs_the_same_for_any_rows_of_the_expert() {
        let (graph, target) = (widened(&Layer::SMALL), Target::ascend_a3());
        let (works, tiles) = (Works::of_phases(graph.graph()), [0, 1, 4096]);
        let widens = graph.graph().phases.iter().filter(|(_, phase)| graph.graph().tasks[phase.task].name == "widen");
        let mut found = 0;
        for (id, _) in widens {
            let tile = |rows: u32| EntryTile { peer: 0, rows, column: 0, items: 1, band: 1, joined: Joined::ALONE };
            let [none, one, many] = tiles.map(|rows| works[id].work(&target, tile(rows)));
            let Work::Vector { read, written } = none else { panic!("widening is vector work") };
            assert_eq!((none, 2 * read), (one, written), "a byte becomes two");
            assert_eq!(none, many);
            found += 1;
        }
        assert_eq!(found, 3);
    }
}
