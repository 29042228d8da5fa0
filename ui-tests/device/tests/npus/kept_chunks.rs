//! A forward pass that keeps its route in the memory of NPUs, and a backward pass that takes it: launches of two argument blocks, each of
//! which chooses its number of chunks.

#[path = "../../../kernels/kept_chunks.rs"]
mod kept_chunks_file;

use super::{numbers, run};
use hpmoe_runtime::npus::{self, DeviceMemory};
use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::RowKind;
use hpmoe_runtime::{Argument, LaunchError, RawPart, RawTensor};
use kept_chunks_file::kept_chunks::{EXPERTS, HIDDEN, INTER, TOP_K, backward, forward};

const RANKS: usize = 2;
const TOKENS: [usize; RANKS] = [40, 31];
const CHUNKS: usize = 8;
/// Rows of a chunk that a rank has room for, in each pass.
const ROOM: [usize; 2] = [107, 60];
/// The word of a kept route with its number of chunks.
const CHUNKS_WORD: usize = 9;

/// The ids of a launch: evenly, or for one token in `often` those of rank 1.
fn ids(rank: Rank, often: usize) -> Vec<i32> {
    let local = EXPERTS / RANKS;
    let id = |token: usize, k: usize| match often > 0 && token.is_multiple_of(often) {
        true => local + (token + k) % local,
        false => (token * 3 + k * 2 + rank.id()) % EXPERTS,
    };
    (0..TOKENS[rank.id()]).flat_map(|token| (0..TOP_K).map(move |k| id(token, k) as i32)).collect()
}

/// The least number of chunks that fits.
fn least(often: usize, room: usize) -> Option<usize> {
    let fullest = |chunks: usize| {
        let mut rows = vec![0; RANKS * chunks];
        for rank in Ranks::new(RANKS) {
            let part = TOKENS[rank.id()].div_ceil(CHUNKS) * (CHUNKS / chunks);
            for (slot, id) in ids(rank, often).into_iter().enumerate() {
                rows[id as usize / (EXPERTS / RANKS) * chunks + slot / TOP_K / part] += 1;
            }
        }
        rows.into_iter().max().unwrap_or(0)
    };
    [1, 2, 4, CHUNKS].into_iter().find(|chunks| fullest(*chunks) <= room)
}

fn bytes(values: &[bf16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn small(number: f32) -> bf16 {
    bf16::from_f32(0.5 * number)
}

type Tokens = PerRank<Tensor<bf16, HIDDEN>>;

/// Tensors of both passes, of the host.
struct Layer {
    x: Tokens,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    dy: Tokens,
}

impl Layer {
    fn new() -> Self {
        let ep = Ranks::new(RANKS);
        let matrices = EXPERTS / RANKS * INTER * HIDDEN;
        let tokens = |r: Rank, seed: usize| numbers(TOKENS[r.id()] * HIDDEN, seed + r.id(), small);
        Self {
            x: PerRank::from_fn(ep, |r| Tensor::from_vec(tokens(r, 0))),
            gate: PerRank::from_fn(ep, |r| Experts::from_vec(numbers(matrices, 10 + r.id(), small))),
            down: PerRank::from_fn(ep, |r| Experts::from_vec(numbers(matrices, 20 + r.id(), small))),
            dy: PerRank::from_fn(ep, |r| Tensor::from_vec(tokens(r, 30))),
        }
    }

    fn room() -> PerRank<Routed> {
        let ep = Ranks::new(RANKS);
        PerRank::routed_in_chunks(ep, EXPERTS, TOP_K, CHUNKS, &PerRank::from_fn(ep, |r| TOKENS[r.id()]))
    }

    /// Results of both passes, and the kept route.
    fn reference(&self, often: usize) -> (Tokens, Tokens, PerRank<Routed>) {
        let ep = Ranks::new(RANKS);
        let zeros = || PerRank::from_fn(ep, |r| Tensor::zeros(TOKENS[r.id()]));
        let (mut y, mut dx, mut routed) = (zeros(), zeros(), Self::room());
        let ids = PerRank::from_fn(ep, |r| Tensor::from_vec(ids(r, often)));
        let Self { x, gate, down, dy } = self;
        forward(ep, &ids, x, gate, down, &mut y, &mut routed);
        backward(ep, &routed, dy, gate, down, &mut dx);
        (y, dx, routed)
    }
}

/// A tensor in the memory of NPUs.
struct OnNpus {
    name: &'static str,
    tensor: RawTensor,
    memory: PerRank<DeviceMemory>,
    counts: PerRank<usize>,
}

impl OnNpus {
    fn new(name: &'static str, element: ElementType, columns: usize, kind: RowKind, parts: &PerRank<Vec<u8>>) -> Self {
        let (ep, npus) = (Ranks::new(RANKS), npus::open(0, RANKS).unwrap());
        let part = |rank: Rank| {
            let memory = DeviceMemory::poisoned(&npus[rank.id()], parts[rank].len(), 0).unwrap();
            memory.write(0, &parts[rank]).unwrap();
            memory
        };
        let height = if let RowKind::Expert(height) = kind { height as usize } else { 1 };
        let counts = PerRank::from_fn(ep, |rank| parts[rank].len() / (columns * element.bytes() * height));
        let tensor = RawTensor { element, columns, kind, writable: false };
        Self { name, tensor, memory: PerRank::from_fn(ep, part), counts }
    }

    fn tokens(name: &'static str, tensor: &Tokens) -> Self {
        let parts = PerRank::from_fn(tensor.ranks(), |r| bytes(&tensor[r].to_vec()));
        Self::new(name, ElementType::bf16, HIDDEN, RowKind::Token, &parts)
    }

    #[expect(unsafe_code, reason = "memory of others")]
    fn argument(&self, writable: bool) -> Argument<'_> {
        let address = |rank: Rank| std::ptr::with_exposed_provenance_mut(self.memory[rank].address() as usize);
        let part = |rank| RawPart { address: address(rank), count: self.counts[rank] };
        let parts = PerRank::from_fn(Ranks::new(RANKS), part);
        // SAFETY: memory of these NPUs, which nothing else uses while a launch runs.
        unsafe { Argument::on_npus(self.name, RawTensor { writable, ..self.tensor }, &parts) }
    }

    fn bytes(&self, rank: Rank, count: usize) -> Vec<u8> {
        let mut found = vec![0; count];
        self.memory[rank].read(0, &mut found).unwrap();
        found
    }
}

/// Launches of both blocks, with other ids each time.
pub(super) fn kept_chunks() {
    let ep = Ranks::new(RANKS);
    let layer = Layer::new();
    let of_ids = |often| PerRank::from_fn(ep, |r| ids(r, often).iter().flat_map(|id| id.to_le_bytes()).collect());
    let zeros: Tokens = PerRank::from_fn(ep, |r| Tensor::zeros(TOKENS[r.id()]));
    let given = OnNpus::new("ids", ElementType::i32, TOP_K, RowKind::Token, &of_ids(0));
    let (x, dy) = (OnNpus::tokens("x", &layer.x), OnNpus::tokens("dy", &layer.dy));
    let (y, dx) = (OnNpus::tokens("y", &zeros), OnNpus::tokens("dx", &zeros));
    let gate = PerRank::from_fn(ep, |r| bytes(&layer.gate[r].to_vec()));
    let gate = OnNpus::new("gate", ElementType::bf16, HIDDEN, RowKind::Expert(INTER as u32), &gate);
    let down = PerRank::from_fn(ep, |r| bytes(&layer.down[r].to_vec()));
    let down = OnNpus::new("down", ElementType::bf16, INTER, RowKind::Expert(HIDDEN as u32), &down);
    let words = Layer::room().map(|routed| vec![0; 4 * routed.word_count()]);
    let routed = OnNpus::new("routed", ElementType::i32, 1, RowKind::Routed, &words);
    let ahead = || {
        let mut arguments: Vec<_> = [&given, &x, &gate, &down].map(|tensor| tensor.argument(false)).into();
        arguments.extend([y.argument(true), routed.argument(true)]);
        arguments
    };
    let back = || {
        let mut arguments: Vec<_> = [&routed, &dy, &gate, &down].map(|tensor| tensor.argument(false)).into();
        arguments.push(dx.argument(true));
        arguments
    };
    let [first, second] = ROOM.map(|rows| Group::new(RANKS).capacity_rows(rows).on_npus().unwrap());
    let mut first = first.fix(&forward::KERNEL, None, &ahead()).unwrap();
    let mut second = second.fix(&backward::KERNEL, None, &back()).unwrap();
    let mut seen = [[0; 9]; 2];
    for often in [0, 1, 2, 1, 0, 3] {
        for rank in ep {
            given.memory[rank].write(0, &of_ids(often)[rank]).unwrap();
        }
        let (expected, expected_back, kept) = layer.reference(often);
        let chunks = [first.launch(&ahead()).unwrap().chunks, second.launch(&back()).unwrap().chunks];
        assert_eq!(chunks.map(Some), ROOM.map(|room| least(often, room)), "one token in {often}");
        seen.iter_mut().zip(chunks).for_each(|(seen, chunks)| seen[chunks] += 1);
        for rank in ep {
            let of_tokens = 2 * TOKENS[rank.id()] * HIDDEN;
            assert!(y.bytes(rank, of_tokens) == bytes(&expected[rank].to_vec()), "one token in {often}, {rank}");
            assert!(dx.bytes(rank, of_tokens) == bytes(&expected_back[rank].to_vec()), "one token in {often}, {rank}");
            let mut found = routed.bytes(rank, 4 * kept[rank].word_count());
            found[4..8].fill(0); // the number of the launch
            let kept: Vec<u8> = kept[rank].to_vec().iter().flat_map(|word| word.to_le_bytes()).collect();
            assert!(found == kept, "one token in {often}, {rank}");
        }
    }
    assert!(seen.iter().all(|seen| seen.iter().filter(|count| **count > 0).count() > 1), "{seen:?}");
    // A head with another number of chunks.
    routed.memory[Rank::new(1)].write(4 * CHUNKS_WORD, &4_i32.to_le_bytes()).unwrap();
    let error = second.launch(&back()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the route kept in `routed` of rank 1 is for 4 chunks, not for 8: pass a route that a launch with the same chunks_at_most has kept"
    );
    routed.memory[Rank::new(1)].write(4 * CHUNKS_WORD, &(CHUNKS as i32).to_le_bytes()).unwrap();
    second.launch(&back()).unwrap();
    drop((first, second));
    // None of the numbers fits the second pass.
    let group = Group::new(RANKS).capacity_rows(5).on_npus().unwrap();
    let error = group.fix(&backward::KERNEL, None, &back()).unwrap().launch(&back()).unwrap_err();
    assert!(matches!(error, LaunchError::Capacity { chunks: Some(CHUNKS), capacity: 5, .. }), "{error}");
}

#[test]
fn each_pass_chooses_its_number_of_chunks() {
    run("kept chunks", &[]);
}
