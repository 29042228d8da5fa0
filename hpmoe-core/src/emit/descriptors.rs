//! Queues and descriptors as the device reads them.

use crate::graph::TaskGraph;
use crate::ids::Id as _;
use crate::schedule::{CoreKind, Order, Range, Role, Schedule, chunk, peer_step};
use hpmoe_kernels::abi::{HPMOE_ROUTE, HpmoeDescriptor};

/// Bytes of a descriptor.
pub(super) const DESCRIPTOR_BYTES: usize = HpmoeDescriptor::BYTES;

/// The descriptors and queues of one order.
pub(super) struct Encoded {
    /// `(first, count)` for each core, matrix cores first.
    pub(super) queues: Vec<(u32, u32)>,
    /// Descriptors, little endian.
    pub(super) bytes: Vec<u8>,
}

/// Encodes the queues for one number of ranks. The cores of a part share one queue.
pub(super) fn encode(graph: &TaskGraph, schedule: &Schedule, order: &Order) -> Encoded {
    let mut queues = vec![(0, 0); (schedule.aic + schedule.aiv) as usize];
    let mut bytes = Vec::new();
    for part in order.queues.ids() {
        let role = &order.parts[part];
        let first = (bytes.len() / DESCRIPTOR_BYTES) as u32;
        let before = bytes.len();
        let [unrouted, routed] = schedule.ranges_of(graph, order, part);
        let descriptor = |range: &Range<'_>| descriptor(graph, schedule, Shared { order, role }, range).to_le_bytes();
        bytes.extend(unrouted.iter().flat_map(descriptor));
        if order.routed_at.is_some() {
            bytes.extend(route_descriptor().to_le_bytes());
        }
        bytes.extend(routed.iter().flat_map(descriptor));
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

/// The descriptor at which the cores of a queue make the tables of a route, or wait until they are made.
fn route_descriptor() -> HpmoeDescriptor {
    HpmoeDescriptor { kind: HPMOE_ROUTE as u16, ..HpmoeDescriptor::default() }
}

/// A queue that the cores of a part share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    order: &'a Order,
    role: &'a Role,
}

/// The descriptor of a range. Validation has already checked that all values fit their fields.
fn descriptor(graph: &TaskGraph, schedule: &Schedule, queue: Shared<'_>, range: &Range<'_>) -> HpmoeDescriptor {
    let Shared { order, role } = queue;
    let (entries, entry) = (range[0], range[0][0]);
    let (phase, scheduled) = (&graph.phases[entry.phase], &schedule.phases[entry.phase]);
    let space = &graph.spaces[phase.space];
    let peer_step = range.get(1).and_then(|next| peer_step(order.ranks, entry, next[0]));
    HpmoeDescriptor {
        phase: entry.phase.index() as u16,
        space: phase.space.index() as u16,
        kind: space.kind.number() as u16,
        band: scheduled.band.max(1) as u16,
        columns: phase.columns(),
        expert: if space.by_chunk() { 0 } else { entry.expert },
        peer_offset: entry.peer_offset,
        core_first: role.first as u16,
        core_count: role.count as u16,
        column_rows: graph.column_rows(entry.phase),
        more: entries.len() as u32 - 1,
        chunk: chunk(graph, order.ranks, entry),
        arrival_turn: schedule.arrival_turn(order, entry.phase).unwrap_or(0),
        rotation: scheduled.rotation,
        turn: order.turn(graph, entry.phase).unwrap_or(0),
        peers: if peer_step.is_some() { range.len() as u32 } else { 1 },
        peer_step: peer_step.unwrap_or(0),
        more_experts: if peer_step.is_some() { 0 } else { range.len() as u32 - 1 },
        reserved: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_backward, moe_ffn, once, router};
    use crate::ids::PhaseId;
    use crate::schedule::{Choices, Cores, Entry, Sends, schedule, schedule_with};
    use crate::target::Target;
    use std::num::NonZeroU32;

    /// A little-endian field of a descriptor: a whole number of two or four bytes.
    fn field(descriptor: &[u8], at: usize, bytes: usize) -> u32 {
        descriptor[at..at + bytes].iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
    }

    /// The entries of a queue's descriptors, in the order in which a core walks them, and the place at which the route is
    /// made.
    fn walked(graph: &TaskGraph, order: &Order, descriptors: &[u8]) -> (Vec<Entry>, Vec<usize>) {
        let (mut entries, mut routed) = (Vec::new(), Vec::new());
        for descriptor in descriptors.chunks_exact(DESCRIPTOR_BYTES) {
            let word = |at| field(descriptor, at, 4);
            if field(descriptor, 4, 2) == HPMOE_ROUTE {
                routed.push(entries.len());
                continue;
            }
            let (phase, more, peers, step) = (field(descriptor, 0, 2), word(28), word(48), word(52));
            let more_experts = word(56);
            assert!(peers > 0 && step < order.ranks && (peers == 1 || more_experts == 0));
            let by_chunk = graph.spaces[graph.phases[PhaseId(phase)].space].by_chunk();
            let first = if by_chunk { word(32) } else { word(12) };
            for (peer, expert) in (0..peers).flat_map(|peer| (first..=first + more_experts).map(move |e| (peer, e))) {
                let peer_offset = (word(16) + peer * step) % order.ranks;
                entries.extend((phase..=phase + more).map(|phase| Entry {
                    phase: PhaseId(phase),
                    expert,
                    peer_offset,
                }));
            }
        }
        (entries, routed)
    }

    #[test]
    fn every_core_walks_the_queue_of_its_part() {
        let wide = Layer { experts: 64, ..Layer::SMALL };
        let kernels: [fn(&Layer) -> CheckedGraph; 4] = [moe_ffn, moe_backward, once, router];
        for (checked, choices) in
            kernels.into_iter().flat_map(|kernel| ["", "turn_rows=40"].map(|choices| (kernel(&wide), choices)))
        {
            let graph = checked.graph();
            let schedule = schedule_with(&checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
            for order in &schedule.orders {
                let encoded = encode(graph, &schedule, order);
                assert_eq!(encoded.queues.len(), 72);
                for (id, queue) in order.queues.iter() {
                    let role = &order.parts[id];
                    let core = if role.kind == CoreKind::Aic { role.first } else { 24 + role.first };
                    let (first, count) = encoded.queues[core as usize];
                    let bytes =
                        &encoded.bytes[first as usize * DESCRIPTOR_BYTES..][..count as usize * DESCRIPTOR_BYTES];
                    let (entries, routed) = walked(graph, order, bytes);
                    assert_eq!(&entries, queue, "{} ranks, {}", order.ranks, role.name);
                    let routed_at = order.routed_at.iter().map(|at| at[id] as usize);
                    assert_eq!(routed, routed_at.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn peers_of_one_expert_share_a_descriptor() {
        let checked = moe_ffn(&Layer { experts: 64, ..Layer::SMALL });
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let count = |ranks| {
            let order = schedule.order(ranks).unwrap();
            let entries: usize = order.queues.iter().map(|(_, queue)| schedule.walks(queue).count()).sum();
            (encode(checked.graph(), &schedule, order).bytes.len() / DESCRIPTOR_BYTES, entries)
        };
        // Of one expert on each rank, 64 entries that send and 64 that put back, and five others.
        let (descriptors, entries) = count(64);
        assert!(entries > 128 && descriptors < 12, "{descriptors} descriptors of {entries} entries");
    }

    #[test]
    fn experts_with_few_tiles_share_a_descriptor() {
        let count = |tokens: usize| {
            let checked = moe_ffn(&Layer { experts: 256, tokens, ..Layer::SMALL });
            let schedule = schedule(&checked, Cores::ASCEND_A3);
            let order = schedule.order(1).unwrap();
            let entries: usize = order.queues.iter().map(|(_, queue)| schedule.walks(queue).count()).sum();
            (encode(checked.graph(), &schedule, order).bytes.len() / DESCRIPTOR_BYTES, entries)
        };
        let (descriptors, entries) = count(16);
        assert!(descriptors * 2 < entries, "{descriptors} descriptors of {entries} entries");
        let (alone, entries) = count(256 * 1024);
        assert_eq!(alone, entries);
    }

    #[test]
    fn fields_lie_where_the_abi_has_them() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut schedule = schedule(&checked, Cores::ASCEND_A3);
        let role = Role { name: "vector", kind: CoreKind::Aiv, first: 16, count: 32 };
        let phase = checked.graph().phases.ids().nth(3).expect("the layer has seven phases");
        let entry = Entry { phase, expert: 1, peer_offset: 2 };
        let mut order = schedule.order(4).unwrap().clone();
        order.sends = Sends::PeerAfterPeer;
        let queue = Shared { order: &order, role: &role };
        let bytes = descriptor(checked.graph(), &schedule, queue, &vec![&[entry, entry]]).to_le_bytes();
        let [short, word]: [&dyn Fn(usize) -> u32; 2] = [&|at| field(&bytes, at, 2), &|at| field(&bytes, at, 4)];
        assert_eq!((short(0), short(4)), (3, 0));
        assert_eq!((word(8), word(12), word(16)), (2, 1, 2));
        assert_eq!((short(20), short(22), word(24), word(28)), (16, 32, 1, 1));
        assert_eq!((word(32), word(36), word(40), word(44), word(48)), (0, 0, 0, 0, 1));
        assert!(bytes[52..].iter().all(|&byte| byte == 0));
        let experts = [1, 2, 3].map(|expert| Entry { expert, peer_offset: 0, ..entry });
        let range = experts.iter().map(std::slice::from_ref).collect();
        let bytes = descriptor(checked.graph(), &schedule, queue, &range).to_le_bytes();
        assert_eq!([12, 48, 52, 56, 60].map(|at| field(&bytes, at, 4)), [1, 1, 0, 2, 0]);
        for phase in checked.graph().phases.ids() {
            schedule.phases[phase].by_arrival = true;
            schedule.phases[phase].rotation = 7;
        }
        // The layer's sends are cut into pieces of sixteen rows.
        let [first, next] = [1, 0].map(|peer_offset| Entry { phase: PhaseId(0), expert: 1, peer_offset });
        for (sends, arrival_turn, turn) in
            [(Sends::PeerAfterPeer, 0, 0), (Sends::InTurn { rows: NonZeroU32::new(20).unwrap() }, 20, 20)]
        {
            order.sends = sends;
            let queue = Shared { order: &order, role: &role };
            let of = |range: Range<'_>| descriptor(checked.graph(), &schedule, queue, &range).to_le_bytes();
            let computes = of(vec![&[entry]]);
            assert_eq!([36, 40, 44, 48, 52].map(|at| field(&computes, at, 4)), [arrival_turn, 7, 0, 1, 0]);
            let sends = of(vec![&[first], &[next]]);
            assert_eq!([16, 44, 48, 52].map(|at| field(&sends, at, 4)), [1, turn, 2, 3]);
        }
    }
}
