//! Queues and descriptors as the device reads them.

use crate::schedule::{CoreKind, Entry, Order, Role, Schedule, chunk};
use hpmoe_language::graph::{SpaceKind, TaskGraph};
use hpmoe_language::ids::Id as _;

/// Bytes of `HpmoeDescriptor`.
pub(super) const DESCRIPTOR_BYTES: usize = 64;

/// What one order becomes.
pub(super) struct Encoded {
    /// `(first, count)` for each core, matrix cores first.
    pub(super) queues: Vec<(u32, u32)>,
    /// Descriptors, little endian.
    pub(super) bytes: Vec<u8>,
}

/// Encodes the queues of one number of ranks. Cores of a part share one.
pub(super) fn encode(graph: &TaskGraph, schedule: &Schedule, order: &Order) -> Encoded {
    let mut queues = vec![(0, 0); (schedule.aic + schedule.aiv) as usize];
    let mut bytes = Vec::new();
    for (part, queue) in order.queues.iter() {
        let role = &order.parts[part];
        let first = (bytes.len() / DESCRIPTOR_BYTES) as u32;
        let before = bytes.len();
        let routed_at = order.routed_at.as_ref().map(|at| at[part] as usize);
        let mut done = 0;
        for run in schedule.runs(graph, order, queue) {
            for (place, entries) in run.iter().enumerate() {
                if routed_at == Some(done) {
                    bytes.extend(route_descriptor());
                }
                bytes.extend(descriptor(graph, schedule, (order, role), entries, run.len() - place));
                done += entries.len();
            }
        }
        if routed_at == Some(done) {
            bytes.extend(route_descriptor());
        }
        let count = ((bytes.len() - before) / DESCRIPTOR_BYTES) as u32;
        let offset = match role.kind {
            CoreKind::Aic => 0,
            CoreKind::Aiv => schedule.aic,
        };
        for core in role.first..role.first + role.count {
            queues[(offset + core) as usize] = (first, count);
        }
    }
    Encoded { queues, bytes }
}

/// `HpmoeSpaceKind` of the ABI.
pub(super) const fn space_kind(kind: SpaceKind) -> u16 {
    match kind {
        SpaceKind::RowTiles => 0,
        SpaceKind::Sends => 1,
        SpaceKind::Arrivals => 2,
        SpaceKind::Blocks => 3,
        SpaceKind::Experts => 4,
        SpaceKind::Chunks => 5,
        SpaceKind::SendsOnce => 6,
        SpaceKind::OnceTiles => 7,
    }
}

/// `HPMOE_ROUTE` of the ABI, where the cores of a queue make the tables of a route or wait for them.
const ROUTE: u16 = 8;

fn route_descriptor() -> [u8; DESCRIPTOR_BYTES] {
    let mut bytes = [0; DESCRIPTOR_BYTES];
    bytes[4..6].copy_from_slice(&ROUTE.to_le_bytes());
    bytes
}

/// Fields in the order of `HpmoeDescriptor`. The schedule's validation has seen that they fit. `left`: walks of its run from this one on.
fn descriptor(
    graph: &TaskGraph,
    schedule: &Schedule,
    (order, role): (&Order, &Role),
    entries: &[Entry],
    left: usize,
) -> [u8; DESCRIPTOR_BYTES] {
    let entry = entries[0];
    let phase = &graph.phases[entry.phase];
    let mut bytes = [0; DESCRIPTOR_BYTES];
    let mut at = 0;
    let mut put = |field: &[u8]| {
        bytes[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    };
    put(&(entry.phase.index() as u16).to_le_bytes());
    put(&(phase.space.index() as u16).to_le_bytes());
    put(&space_kind(graph.spaces[phase.space].kind).to_le_bytes());
    put(&(schedule.phases[entry.phase].band.max(1) as u16).to_le_bytes());
    put(&phase.columns().to_le_bytes());
    let chunk = chunk(graph, order.ranks, entry);
    put(&if graph.spaces[phase.space].by_chunk() { 0 } else { entry.expert }.to_le_bytes());
    put(&entry.peer_offset.to_le_bytes());
    put(&(role.first as u16).to_le_bytes());
    put(&(role.count as u16).to_le_bytes());
    put(&graph.column_rows(entry.phase).to_le_bytes());
    put(&(entries.len() as u32 - 1).to_le_bytes());
    put(&chunk.to_le_bytes());
    put(&schedule.coming(order, entry.phase).unwrap_or(0).to_le_bytes());
    put(&schedule.phases[entry.phase].rotation.to_le_bytes());
    let turn = order.turn(graph, entry.phase).unwrap_or(0);
    put(&turn.to_le_bytes());
    put(&if turn > 0 { left as u32 } else { 0 }.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cores, Sends, schedule};
    use hpmoe_language::fixture::{Layer, moe_ffn};
    use hpmoe_language::ids::PhaseId;
    use std::num::NonZeroU32;

    #[test]
    fn every_core_has_the_queue_of_its_part() {
        let checked = moe_ffn(&Layer::SMALL);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let order = &schedule.orders[1];
        let encoded = encode(checked.graph(), &schedule, order);
        let count = |queue: &[Entry]| schedule.walks(queue).count();
        let entries: usize = order.queues.iter().map(|(_, queue)| count(queue)).sum();
        assert_eq!(encoded.bytes.len(), entries * DESCRIPTOR_BYTES);
        assert_eq!(encoded.queues.len(), 72);
        for (id, queue) in order.queues.iter() {
            let role = &order.parts[id];
            let core = if role.kind == CoreKind::Aic { role.first } else { 24 + role.first };
            assert_eq!(encoded.queues[core as usize].1 as usize, count(queue));
        }
    }

    #[test]
    fn fields_lie_where_the_abi_has_them() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut schedule = schedule(&checked, Cores::ASCEND_A3);
        let role = Role { name: "vector", kind: CoreKind::Aiv, first: 16, count: 32 };
        let phase = checked.graph().phases.ids().nth(3).expect("the layer has seven phases");
        let entry = Entry { phase, expert: 5, peer_offset: 2 };
        let mut order = schedule.orders[1].clone();
        order.sends = Sends::PeerAfterPeer;
        let bytes = descriptor(checked.graph(), &schedule, (&order, &role), &[entry, entry], 1);
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        assert_eq!((short(0), short(4)), (3, 0));
        assert_eq!((word(8), word(12), word(16)), (2, 5, 2));
        assert_eq!((short(20), short(22), word(24), word(28)), (16, 32, 1, 1));
        assert!(bytes[32..].iter().all(|&byte| byte == 0));
        for phase in checked.graph().phases.ids() {
            schedule.phases[phase].by_arrival = true;
            schedule.phases[phase].rotation = 7;
        }
        // The layer's sends are cut into pieces of sixteen rows.
        let send = Entry { phase: PhaseId(0), expert: 5, peer_offset: 2 };
        for (sends, coming, turn) in
            [(Sends::PeerAfterPeer, 0, [0, 0]), (Sends::InTurn { rows: NonZeroU32::new(20).unwrap() }, 20, [20, 4])]
        {
            order.sends = sends;
            let of = |entry| descriptor(checked.graph(), &schedule, (&order, &role), &[entry], 4);
            assert_eq!((of(entry)[36], of(entry)[40], of(entry)[44..52].iter().max()), (coming, 7, Some(&0)));
            assert_eq!((of(send)[44], of(send)[48]), (turn[0], turn[1]), "{sends:?}");
        }
    }
}
