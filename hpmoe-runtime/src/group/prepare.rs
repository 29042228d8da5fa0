//! The tables of each rank and launch.

use hpmoe_kernels::Rank;

use super::launch::{LaunchShared, LaunchStep};
use super::rank::RankLaunch;
use super::session::Session;
use crate::layout::tables::{Addresses, Common, RankTables, TensorAddress, record_bytes};
use crate::memory::LineMemory;
use crate::tables::{ScheduleTable, Storage, TensorTable};

/// Makes the tables that each rank is launched with.
pub(super) fn prepare(
    shared: &LaunchShared<'_>,
    row: &[LaunchStep<'_>],
    schedule: &ScheduleTable,
    session: &mut Session,
) -> Vec<RankLaunch> {
    let tables = shared.kernel.tables();
    let common = Common::new(tables, schedule, &session.plan, shared.options.time_limit_cycles());
    let peers: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.heap.address()).collect();
    let mut launches = Vec::with_capacity(shared.ranks);
    for (rank, memory) in session.ranks.iter_mut().enumerate() {
        let rank = Rank::new(rank);
        let workspace = memory.workspace.address();
        let mut records = LineMemory::zeroed(record_bytes(tables));
        let step_tables = |step: &LaunchStep<'_>| {
            let places = tables.tensors.iter().zip(&session.plan.tensors);
            let tensors: Vec<TensorAddress> =
                places.map(|(tensor, at)| place(tensor, *at, step, rank, workspace)).collect();
            let addresses = Addresses { peers: &peers, tensors: &tensors, records: records.address() };
            RankTables::new(&common, &step.chunks, rank, &addresses)
        };
        let steps = row.iter().map(step_tables).collect();
        launches.push(RankLaunch { rank, steps, records });
    }
    launches
}

/// Where a tensor lies on a rank; `at` is its offset in the workspace or the heap.
fn place(tensor: &TensorTable, at: usize, step: &LaunchStep<'_>, rank: Rank, workspace: u64) -> TensorAddress {
    let parts = |number: usize| &step.arguments[number].parts;
    match tensor.storage {
        Storage::Argument(number) => TensorAddress::At(parts(number)[rank.id()].address),
        Storage::Shared(number) => TensorAddress::OnEach(parts(number).iter().map(|part| part.address).collect()),
        Storage::Workspace => TensorAddress::At(workspace + at as u64),
        Storage::Symmetric => TensorAddress::At(at as u64),
    }
}
