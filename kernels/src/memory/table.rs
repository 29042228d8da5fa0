//! The memory of a launch as a table with a line per tensor.

use super::plan::in_lines;
use super::{CHUNK_BUFFERS, KernelShape, MemoryPlan, RankSizes, RowKind, Storage, TensorShape, Word};
use crate::route::{COUNT_LINE, KEPT_HEAD, KEPT_SLOTS};
use std::fmt;

/// The memory that a line of the table belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MemoryPlace {
    /// The symmetric heap, into which peers put.
    Heap,
    /// The rank's workspace.
    Workspace,
    /// The caller's memory.
    Caller,
}

impl fmt::Display for MemoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "symmetric heap",
            Self::Workspace => "workspace",
            Self::Caller => "caller",
        })
    }
}

/// Numbers of rows that a launch has on one rank, over all chunks. The numbers of rows of the caller's tensors follow from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchRows {
    /// Number of tokens of the rank.
    pub tokens: usize,
    /// Number of rows that the rank receives.
    pub received: usize,
    /// Number of rows that the rank receives if each token is sent to the rank only once.
    pub once: usize,
}

/// One line of the table: a tensor of the launch, or one kind of words. Its numbers are for one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryLine {
    /// Name of the tensor in the taskflow, or name of the words.
    pub name: String,
    /// Number of the tensor in the taskflow; `None` for words.
    pub tensor: Option<usize>,
    /// The memory that holds the tensor or the words.
    pub place: MemoryPlace,
    /// The purpose of the memory, as a text.
    pub purpose: &'static str,
    /// Number of rows as a formula; empty for words.
    pub formula: String,
    /// Number of rows; 0 for words.
    pub rows: usize,
    /// Distance between the starts of consecutive rows, in bytes; 0 for words.
    pub row_bytes: usize,
    /// Number of bytes. In the heap and the workspace, this includes the padding at the end.
    pub bytes: usize,
}

/// The memory of a launch on each rank. Formulae of rows use these names: `T` is the number of tokens of the rank (for tensors in the heap
/// and the workspace, `TOKENS`), `k` of experts per token, `R` of ranks, `E` of logical experts, `S` of places for experts on a rank, and
/// `rows` of received rows that a rank has room for in each chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryTable {
    /// All lines: heap, workspace, and then the caller's tensors.
    pub lines: Vec<MemoryLine>,
    /// Number of received rows of each chunk that a rank has room for.
    pub capacity: usize,
    /// Bytes of the symmetric heap.
    pub heap: usize,
    /// Bytes of the workspace.
    pub workspace: usize,
}

impl MemoryLine {
    /// Whether the line is a tensor that one launch keeps for another.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.purpose == KEPT || self.purpose == TAKEN
    }
}

impl LaunchRows {
    /// The largest numbers of rows that a rank can have.
    #[must_use]
    pub fn most(sizes: &RankSizes) -> Self {
        Self {
            tokens: sizes.chunk_tokens.saturating_mul(sizes.chunks),
            received: sizes.caller_rows(RowKind::Received),
            once: sizes.caller_rows(RowKind::Once),
        }
    }

    fn of(&self, row_kind: RowKind, sizes: &RankSizes) -> usize {
        match row_kind {
            RowKind::Token => self.tokens,
            RowKind::Slot => self.tokens.saturating_mul(sizes.top_k),
            RowKind::Received => self.received,
            RowKind::Once => self.once,
            RowKind::Routed => sizes.kept(self.tokens).end,
            RowKind::Expert(_) | RowKind::Matrix(_) => sizes.caller_rows(row_kind),
        }
    }
}

impl MemoryTable {
    /// The table of a kernel's memory in a group. `launch` determines the numbers of rows of the caller's tensors.
    #[must_use]
    pub fn new(shape: &KernelShape<'_>, sizes: &RankSizes, launch: &LaunchRows) -> Self {
        let plan = MemoryPlan::new(shape, sizes);
        let mut lines = Vec::new();
        for (number, (tensor, bytes)) in shape.tensors.iter().zip(&plan.tensor_bytes).enumerate() {
            let line = |place, purpose, rows, of_caller: bool, bytes| MemoryLine {
                name: tensor.name.to_owned(),
                tensor: Some(number),
                place,
                purpose,
                formula: formula(tensor.row_kind, sizes, of_caller),
                rows,
                row_bytes: tensor.row_bytes(),
                bytes,
            };
            let (own, all) = (sizes.rows(tensor.row_kind), sizes.caller_rows(tensor.row_kind));
            match tensor.storage {
                Storage::Symmetric => {
                    lines.push(line(MemoryPlace::Heap, "rows from peers", own, false, in_lines(*bytes)))
                }
                Storage::Workspace => {
                    lines.push(line(MemoryPlace::Workspace, "between tasks", own, false, in_lines(*bytes)));
                }
                Storage::Shared if sizes.processes => {
                    lines.push(line(MemoryPlace::Heap, "the caller's rows from peers", all, true, in_lines(*bytes)));
                }
                Storage::Argument | Storage::Shared => {}
            }
            if tensor.storage.is_argument() {
                let rows = launch.of(tensor.row_kind, sizes);
                let bytes = rows.saturating_mul(tensor.row_bytes());
                lines.push(line(MemoryPlace::Caller, purpose(tensor), rows, true, bytes));
            }
        }
        let words = Word::ALL.into_iter().filter(|word| plan.bytes(*word) > 0);
        lines.extend(words.map(|word| MemoryLine {
            name: word.name().to_owned(),
            tensor: None,
            place: MemoryPlace::Heap,
            purpose: "synchronisation",
            formula: String::new(),
            rows: 0,
            row_bytes: 0,
            bytes: in_lines(plan.bytes(word)),
        }));
        lines.sort_by_key(|line| line.place);
        Self { lines, capacity: sizes.capacity, heap: plan.heap, workspace: plan.workspace }
    }

    /// Total bytes of the lines in one memory.
    #[must_use]
    pub fn bytes(&self, place: MemoryPlace) -> usize {
        self.sum(|line| line.place == place)
    }

    /// Total bytes of the caller's tensors that one launch keeps for another.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.sum(|line| line.is_kept())
    }

    fn sum(&self, of: impl Fn(&&MemoryLine) -> bool) -> usize {
        self.lines.iter().filter(of).fold(0, |sum, line| sum.saturating_add(line.bytes))
    }
}

const KEPT: &str = "kept for another launch";
const TAKEN: &str = "kept by another launch";

/// The purpose of a caller's tensor, as a text.
const fn purpose(tensor: &TensorShape<'_>) -> &'static str {
    match (tensor.row_kind.is_kept(), tensor.writable) {
        (true, true) => KEPT,
        (true, false) => TAKEN,
        (false, true) => "result",
        (false, false) => "input",
    }
}

/// The number of rows as a formula.
fn formula(row_kind: RowKind, sizes: &RankSizes, of_caller: bool) -> String {
    let in_one_chunk = of_caller || sizes.of_launches().nth(1).is_none();
    if let (Some(most), false) = (sizes.chunks_at_most, in_one_chunk) {
        return formula_of_any(row_kind, most);
    }
    let chunks = sizes.chunks;
    // The caller's tensors hold the rows of all chunks, and have no row for tokens that do not come.
    let tokens =
        if of_caller || chunks == 1 { "T".to_owned() } else { format!("{}·⌈T/{chunks}⌉", sizes.buffers()) };
    let times = match if of_caller { chunks } else { sizes.buffers() } {
        1 => String::new(),
        chunks => format!("{chunks}·"),
    };
    match row_kind {
        RowKind::Token => tokens,
        RowKind::Slot => format!("{tokens}·k"),
        RowKind::Received => format!("{times}rows"),
        RowKind::Once if chunks == 1 => "min(rows, R·T)".to_owned(),
        RowKind::Once => format!("{times}min(rows, R·⌈T/{chunks}⌉)"),
        RowKind::Expert(height) => format!("S·{height}"),
        RowKind::Matrix(height) => height.to_string(),
        RowKind::Routed => {
            let counted = match sizes.kept_chunks() {
                1 => String::new(),
                chunks => format!("{chunks}·"),
            };
            format!("{KEPT_HEAD} + R·{counted}{COUNT_LINE}·⌈E/{COUNT_LINE}⌉ + 2·{KEPT_SLOTS}·⌈T·k/{KEPT_SLOTS}⌉")
        }
    }
}

/// The number of rows of a tensor of the kernel, as a formula, if launches choose up to `most` chunks.
fn formula_of_any(row_kind: RowKind, most: usize) -> String {
    match row_kind {
        RowKind::Token => format!("{most}·⌈T/{most}⌉"),
        RowKind::Slot => format!("{most}·⌈T/{most}⌉·k"),
        RowKind::Received => format!("{CHUNK_BUFFERS}·rows"),
        RowKind::Expert(height) => format!("S·{height}"),
        RowKind::Matrix(height) => height.to_string(),
        RowKind::Once | RowKind::Routed => unreachable!("no chunk has a tensor of these rows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Grid, KernelSizes};
    use crate::op::ElementType;
    use crate::route::chunk_tokens;

    fn shape() -> KernelShape<'static> {
        let tensor = |name, row_kind, storage, writable| TensorShape {
            name,
            element: ElementType::bf16,
            columns: 100,
            pitch: if matches!(storage, Storage::Argument | Storage::Shared) { 100 } else { 256 },
            row_kind,
            storage,
            writable,
        };
        KernelShape {
            sizes: KernelSizes {
                experts: 8,
                spare: 0,
                top_k: 2,
                tokens: 30,
                chunks: 1,
                chunks_at_most: None,
                groups: 1,
                counts_parts: false,
            },
            cores: 9,
            time_stamps: false,
            makes_route: false,
            tensors: vec![
                tensor("x", RowKind::Token, Storage::Argument, false),
                tensor("w", RowKind::Expert(16), Storage::Argument, false),
                tensor("recv", RowKind::Received, Storage::Symmetric, true),
                tensor("h", RowKind::Received, Storage::Workspace, true),
                tensor("keep", RowKind::Received, Storage::Shared, true),
                tensor("y", RowKind::Token, Storage::Argument, true),
            ],
            spaces: Vec::new(),
            counters: vec![Grid::Rank],
        }
    }

    #[test]
    fn all_lines_together_are_what_is_allocated() {
        for (chunks, processes) in [(1, false), (1, true), (2, false), (4, true)] {
            let shape = KernelShape { sizes: KernelSizes { chunks, ..shape().sizes }, ..shape() };
            let sizes = RankSizes::new(&shape.sizes, 4, None, processes);
            let table = MemoryTable::new(&shape, &sizes, &LaunchRows::most(&sizes));
            let plan = MemoryPlan::new(&shape, &sizes);
            let of_table = (table.bytes(MemoryPlace::Heap), table.bytes(MemoryPlace::Workspace));
            assert_eq!(of_table, (plan.heap, plan.workspace), "{chunks} chunks");
            assert_eq!(of_table, (table.heap, table.workspace));
        }
    }

    #[test]
    fn lines_say_place_purpose_and_rows() {
        let sizes = RankSizes::new(&shape().sizes, 4, Some(50), false);
        let launch = LaunchRows { tokens: 20, received: 45, once: 20 };
        let table = MemoryTable::new(&shape(), &sizes, &launch);
        let lines: Vec<_> = table
            .lines
            .iter()
            .map(|line| {
                format!("{} {} {} {}={} {}", line.name, line.place, line.purpose, line.formula, line.rows, line.bytes)
            })
            .collect();
        let expected = [
            "recv symmetric heap rows from peers rows=50 25600",
            "counters symmetric heap synchronisation =0 1024",
            "launch words symmetric heap synchronisation =0 4608",
            "ready words symmetric heap synchronisation =0 2048",
            "abort word symmetric heap synchronisation =0 512",
            "h workspace between tasks rows=50 25600",
            "x caller input T=20 4000",
            "w caller input S·16=32 6400",
            "keep caller kept for another launch rows=45 9000",
            "y caller result T=20 4000",
        ];
        assert_eq!(lines, expected);
        assert_eq!(table.kept(), 9000);
    }

    #[test]
    fn launches_that_choose_have_memory_for_each_number_of_chunks() {
        let shape = KernelShape { sizes: KernelSizes { chunks_at_most: Some(8), ..shape().sizes }, ..shape() };
        let parts: Vec<_> = [1, 2, 4, 8].into_iter().map(|chunks| chunk_tokens(30, chunks, Some(8))).collect();
        assert_eq!(parts, [30, 16, 8, 4]);
        for capacity in [10, 60, 120, 239, 240] {
            let sizes = RankSizes::new(&shape.sizes, 4, Some(capacity), false);
            let of_any: Vec<_> = sizes.of_launches().map(|sizes| sizes.chunks).collect();
            // Four ranks send two rows of each token of a chunk at most.
            let expected: &[usize] = match capacity {
                240.. => &[1],
                128.. => &[1, 2],
                64.. => &[1, 2, 4],
                _ => &[1, 2, 4, 8],
            };
            assert_eq!(of_any, expected, "{capacity}");
            let plan = MemoryPlan::new(&shape, &sizes);
            let table = MemoryTable::new(&shape, &sizes, &LaunchRows::most(&sizes));
            assert_eq!(
                (table.bytes(MemoryPlace::Heap), table.bytes(MemoryPlace::Workspace)),
                (plan.heap, plan.workspace)
            );
            // Each launch has room in it.
            let buffers = if capacity >= 240 { 1 } else { 2 };
            assert_eq!(sizes.rows(RowKind::Received), buffers * capacity);
            assert_eq!(sizes.rows(RowKind::Token), if buffers == 1 { 30 } else { 32 });
            let of = |kind| formula(kind, &sizes, false);
            let formulae = if buffers == 1 { ["rows", "T"] } else { ["2·rows", "8·⌈T/8⌉"] };
            assert_eq!([of(RowKind::Received), of(RowKind::Token)], formulae);
            assert_eq!(sizes.freed_words(), 4 * expected.iter().filter(|chunks| **chunks > 2).count());
            assert_eq!(sizes.in_chunks(8).freed_words_before(), if expected.len() > 2 { 4 } else { 0 });
        }
    }

    #[test]
    fn chunks_multiply_rows_of_the_caller_and_of_two_buffers() {
        let sizes = RankSizes::new(&KernelSizes { chunks: 4, ..shape().sizes }, 4, Some(50), false);
        let of = |kind| [false, true].map(|of_caller| formula(kind, &sizes, of_caller));
        assert_eq!(of(RowKind::Token), ["2·⌈T/4⌉", "T"]);
        assert_eq!(of(RowKind::Slot), ["2·⌈T/4⌉·k", "T·k"]);
        assert_eq!(of(RowKind::Received), ["2·rows", "4·rows"]);
        assert_eq!(of(RowKind::Once)[1], "4·min(rows, R·⌈T/4⌉)");
        assert_eq!((sizes.rows(RowKind::Received), sizes.caller_rows(RowKind::Received)), (100, 200));
    }
}
