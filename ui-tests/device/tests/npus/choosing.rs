//! A kernel that makes its route and chooses its number of chunks at each launch of one argument block.

#[path = "../../../kernels/routed.rs"]
mod routed_file;

use super::{numbers, run};
use hpmoe_runtime::npus::{self, DeviceMemory};
use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::RowKind;
use hpmoe_runtime::{Argument, LaunchError, RawPart, RawTensor};
use routed_file::routed::{EXPERTS, HIDDEN, INTER, TOP_K, chunked};

const RANKS: usize = 2;
const TOKENS: [usize; RANKS] = [40, 31];
/// Maximum number of rows of a chunk that a rank can receive: enough for an even load.
const ROOM: usize = 107;

/// The ids of a launch: evenly distributed, or on rank 1 for one in `often` tokens.
fn ids(rank: Rank, often: usize) -> Vec<i32> {
    let local = EXPERTS / RANKS;
    let id = |token: usize, k: usize| match often > 0 && token.is_multiple_of(often) {
        true => local + (token + k) % local,
        false => (token * 3 + k * 3 + rank.id()) % EXPERTS,
    };
    (0..TOKENS[rank.id()]).flat_map(|token| (0..TOP_K).map(move |k| id(token, k) as i32)).collect()
}

/// Maximum number of rows that a rank receives in a chunk, for this number of chunks.
fn fullest(often: usize, chunks: usize) -> usize {
    let mut rows = vec![0; RANKS * chunks];
    for rank in Ranks::new(RANKS) {
        let part = TOKENS[rank.id()].div_ceil(4) * (4 / chunks);
        for (slot, id) in ids(rank, often).into_iter().enumerate() {
            rows[id as usize / (EXPERTS / RANKS) * chunks + slot / TOP_K / part] += 1;
        }
    }
    rows.into_iter().max().unwrap_or(0)
}

fn bytes(values: &[bf16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn small(number: f32) -> bf16 {
    bf16::from_f32(0.5 * number)
}

/// The tensors of a rank: ids, x, weights, gate, down, y.
fn content(tensor: usize, rank: Rank, often: usize) -> Vec<u8> {
    let tokens = TOKENS[rank.id()];
    let matrices = EXPERTS / RANKS * INTER * HIDDEN;
    match tensor {
        0 => ids(rank, often).iter().flat_map(|id| id.to_le_bytes()).collect(),
        1 => bytes(&numbers(tokens * HIDDEN, rank.id(), small)),
        2 => numbers(tokens * TOP_K, 10 + rank.id(), |number| number).iter().flat_map(|w| w.to_le_bytes()).collect(),
        3 => bytes(&numbers(matrices, 20 + rank.id(), small)),
        4 => bytes(&numbers(matrices, 30 + rank.id(), small)),
        _ => vec![0; 2 * tokens * HIDDEN],
    }
}

/// The reference of a launch.
fn expected(often: usize) -> PerRank<Tensor<bf16, HIDDEN>> {
    let ep = Ranks::new(RANKS);
    let matrices = EXPERTS / RANKS * INTER * HIDDEN;
    let of = |r: Rank| TOKENS[r.id()];
    let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(of(r)));
    chunked(
        ep,
        &PerRank::from_fn(ep, |r| Tensor::from_vec(ids(r, often))),
        &PerRank::from_fn(ep, |r| Tensor::from_vec(numbers(of(r) * HIDDEN, r.id(), small))),
        &PerRank::from_fn(ep, |r| Tensor::from_vec(numbers(of(r) * TOP_K, 10 + r.id(), |number| number))),
        &PerRank::from_fn(ep, |r| Experts::from_vec(numbers(matrices, 20 + r.id(), small))),
        &PerRank::from_fn(ep, |r| Experts::from_vec(numbers(matrices, 30 + r.id(), small))),
        &mut y,
    );
    y
}

/// The tensors of a launch, in the memory of NPUs.
struct OnNpus {
    memory: Vec<PerRank<DeviceMemory>>,
}

impl OnNpus {
    fn new() -> Self {
        let (ep, npus) = (Ranks::new(RANKS), npus::open(0, RANKS).unwrap());
        let part = |tensor, rank: Rank| {
            let bytes = content(tensor, rank, 0);
            let memory = DeviceMemory::poisoned(&npus[rank.id()], bytes.len(), 0).unwrap();
            memory.write(0, &bytes).unwrap();
            memory
        };
        Self { memory: (0..6).map(|tensor| PerRank::from_fn(ep, |rank| part(tensor, rank))).collect() }
    }

    #[expect(unsafe_code, reason = "memory of others")]
    fn arguments(&self) -> Vec<Argument<'_>> {
        let ep = Ranks::new(RANKS);
        let raw = |element, columns, kind, writable| RawTensor { element, columns, kind, writable };
        let tensors = [
            ("ids", raw(ElementType::i32, TOP_K, RowKind::Token, false)),
            ("x", raw(ElementType::bf16, HIDDEN, RowKind::Token, false)),
            ("weights", raw(ElementType::f32, TOP_K, RowKind::Token, false)),
            ("gate", raw(ElementType::bf16, HIDDEN, RowKind::Expert(INTER as u32), false)),
            ("down", raw(ElementType::bf16, INTER, RowKind::Expert(HIDDEN as u32), false)),
            ("y", raw(ElementType::bf16, HIDDEN, RowKind::Token, true)),
        ];
        let argument = |(number, (name, tensor)): (usize, (&'static str, RawTensor))| {
            let count = |rank: Rank| if matches!(number, 3 | 4) { EXPERTS / RANKS } else { TOKENS[rank.id()] };
            let address = |rank: Rank| self.memory[number][rank].address() as usize;
            let parts = PerRank::from_fn(ep, |rank| RawPart {
                address: std::ptr::with_exposed_provenance_mut(address(rank)),
                count: count(rank),
            });
            // SAFETY: memory of these NPUs, which nothing else uses while a launch runs.
            unsafe { Argument::on_npus(name, tensor, &parts) }
        };
        tensors.into_iter().enumerate().map(argument).collect()
    }
}

/// Launches of one block with other ids each time choose the smallest number of chunks that fits, and give the
/// reference's bits.
pub(super) fn choosing() {
    let group = Group::new(RANKS).capacity_rows(ROOM).on_npus().unwrap();
    let tensors = OnNpus::new();
    let mut fixed = group.fix(&chunked::KERNEL, None, &tensors.arguments()).unwrap();
    let mut seen = [0; 5];
    for often in [0, 1, 2, 1, 0, 3, 1, 0] {
        for rank in Ranks::new(RANKS) {
            tensors.memory[0][rank].write(0, &content(0, rank, often)).unwrap();
        }
        let least = [1, 2, 4].into_iter().find(|chunks| fullest(often, *chunks) <= ROOM);
        let report = fixed.launch(&tensors.arguments()).unwrap();
        assert_eq!((Some(report.chunks), report.on_npus), (least, true), "one token in {often}");
        seen[report.chunks] += 1;
        let expected = expected(often);
        for rank in Ranks::new(RANKS) {
            let mut found = vec![0; 2 * TOKENS[rank.id()] * HIDDEN];
            tensors.memory[5][rank].read(0, &mut found).unwrap();
            assert!(found == bytes(&expected[rank].to_vec()), "one token in {often}, {rank}");
        }
    }
    assert_eq!(seen, [0, 3, 2, 0, 3], "launches of each number of chunks");
    drop(fixed);
    // No number of chunks fits.
    let group = Group::new(RANKS).capacity_rows(10).on_npus().unwrap();
    let mut fixed = group.fix(&chunked::KERNEL, None, &tensors.arguments()).unwrap();
    let error = fixed.launch(&tensors.arguments()).unwrap_err();
    assert!(matches!(error, LaunchError::Capacity { chunks: Some(4), capacity: 10, .. }), "{error}");
}

#[test]
fn each_launch_of_a_block_chooses_its_number_of_chunks() {
    run("choosing", &[]);
}
