//! A kernel that does nothing, for tests.

use hpmoe_kernels::op::ElementType;
use hpmoe_kernels::{PerRank, Ranks, Route, Tensor};

use crate::KernelTables;
use crate::abi::{HPMOE_BLOCKS, HPMOE_ROW_TILES};
use crate::layout::RankSizes;
use crate::tables::{
    CounterTable, ExpertOrders, Grid, PhaseTable, RowKind, ScheduleTable, SpaceTable, Storage, TensorTable,
};

pub(crate) const fn tensor(name: &'static str, row_kind: RowKind, storage: Storage) -> TensorTable {
    TensorTable { name, element: ElementType::bf16, columns: 16, pitch: 256, row_kind, storage, writable: true }
}

const fn argument(name: &'static str, row_kind: RowKind, number: usize, writable: bool) -> TensorTable {
    TensorTable { pitch: 16, writable, ..tensor(name, row_kind, Storage::Argument(number)) }
}

/// Tables with four experts, two per token, for one rank or two, with two matrix cores and four vector cores per rank.
pub(crate) const TABLES: KernelTables = KernelTables {
    name: "layer::forward",
    fingerprint: "0",
    file: "src/layer.rs",
    experts: 4,
    spare: 0,
    top_k: 2,
    tokens: 8,
    chunks: 1,
    origins: false,
    route: None,
    whole_slots: None,
    aic: 2,
    aiv: 4,
    expert_orders: ExpertOrders::Load,
    time_stamps: false,
    tensors: &[
        argument("x", RowKind::Token, 0, false),
        argument("gate", RowKind::Expert(32), 1, false),
        argument("y", RowKind::Token, 2, true),
        tensor("recv", RowKind::Received, Storage::Symmetric),
        tensor("h", RowKind::Received, Storage::Workspace),
    ],
    spaces: &[SpaceTable { kind: HPMOE_ROW_TILES, height: 32 }, SpaceTable { kind: HPMOE_BLOCKS, height: 4 }],
    counters: &[
        CounterTable { name: "recv", grid: Grid::RowTiles { space: 0, columns: 1 } },
        CounterTable { name: "back", grid: Grid::Blocks { height: 4 } },
    ],
    phases: &[
        PhaseTable {
            task: "project",
            name: "project",
            source: "project(&recv[r].group(e, m), ..)",
            line: 41,
            space: 0,
            starts: &[],
        },
        PhaseTable {
            task: "combine",
            name: "combine",
            source: "combine(&back[r].slots(t), ..)",
            line: 57,
            space: 1,
            starts: &[(0, 2)],
        },
    ],
    externals: &[],
    tolerances: &[],
    schedules: &[schedule(1), schedule(2)],
    chosen: &[],
};

const fn schedule(ranks: u32) -> ScheduleTable {
    ScheduleTable { ranks, queues: &[(0, 0); 6], descriptors: &[] }
}

/// Makes a route from the ids of each rank, two per token.
pub(crate) fn route(ids: &[&[i32]], experts: usize) -> Route {
    let ids: PerRank<Tensor<i32, 2>> = ids.iter().map(|ids| Tensor::from_slice(ids)).collect();
    Route::new(Ranks::new(ids.ranks().count()), experts, &ids).unwrap()
}

/// Sizes of a kernel's memory on `ranks` ranks, with room for `capacity` received rows.
pub(crate) fn sizes(tables: &KernelTables, ranks: usize, capacity: usize) -> RankSizes {
    RankSizes::new(&tables.sizes(), ranks, Some(capacity), false)
}
