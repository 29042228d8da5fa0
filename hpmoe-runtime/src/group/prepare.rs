//! The tables of each launch on the ranks of this process.

use hpmoe_kernels::Rank;

use super::LaunchOptions;
use super::rank::RankLaunch;
use super::row::{LaunchStep, PreparedRow};
use super::session::Session;
use crate::CompiledKernel;
use crate::layout::stamps::stamp_bytes;
use crate::layout::tables::{Addresses, Common, RankTables, TablePlace, TensorAddress, record_bytes};
use crate::memory::LineMemory;
use crate::tables::{Storage, TensorTable};

/// Makes the tables of all steps for each rank of this process.
pub(super) fn prepare(
    kernel: &CompiledKernel,
    options: &LaunchOptions,
    row: &PreparedRow<'_>,
    session: &mut Session,
) -> Vec<RankLaunch> {
    let tables = kernel.tables();
    let common = Common::new(tables, row.schedule, &session.plan, options.time_limit_cycles(), options.stamp_room);
    let peers: Vec<u64> = session.ranks.iter_mut().map(|memory| memory.heap.address()).collect();
    let mut launches = Vec::with_capacity(session.here.len());
    for rank in session.here.clone().map(Rank::new) {
        let workspace = session.ranks[rank.id()].workspace.address();
        let on_each = |step: &LaunchStep<'_>, number: usize, at: usize| match session.sizes.processes {
            true => peers.iter().map(|heap| heap + at as u64).collect(),
            false => route_ranks(step).map(|rank| step.arguments[number].part(rank).address).collect(),
        };
        let mut records = LineMemory::zeroed(record_bytes(tables));
        let mut stamps = LineMemory::zeroed(stamp_bytes(tables, session.ranks.len(), options.stamp_room));
        let step_tables = |step: &LaunchStep<'_>| {
            let places = tables.tensors.iter().zip(&session.plan.tensors);
            let tensors: Vec<TensorAddress> =
                places.map(|(tensor, at)| place(tensor, *at, step, rank, workspace, &on_each)).collect();
            let addresses = Addresses {
                peers: &peers,
                tensors: &tensors,
                records: records.address(),
                stamps: if tables.time_stamps { stamps.address() } else { 0 },
                tables: TablePlace::Here,
            };
            RankTables::new(&common, &step.route, rank, &addresses)
        };
        let steps = row.steps.iter().map(step_tables).collect();
        launches.push(RankLaunch { rank, steps, records, stamps });
    }
    launches
}

fn route_ranks(step: &LaunchStep<'_>) -> impl Iterator<Item = Rank> {
    step.route.ranks().into_iter()
}

/// The address of a tensor on a rank. `at` is its offset in the workspace or the heap. For a tensor that peers write,
/// `on_each` returns its addresses on all ranks.
fn place(
    tensor: &TensorTable,
    at: usize,
    step: &LaunchStep<'_>,
    rank: Rank,
    workspace: u64,
    on_each: &impl Fn(&LaunchStep<'_>, usize, usize) -> Vec<u64>,
) -> TensorAddress {
    match tensor.storage {
        Storage::Argument(number) => TensorAddress::At(step.arguments[number].part(rank).address),
        Storage::Shared(number) => TensorAddress::OnEach(on_each(step, number, at)),
        Storage::Workspace => TensorAddress::At(workspace + at as u64),
        Storage::Symmetric => TensorAddress::At(at as u64),
    }
}
