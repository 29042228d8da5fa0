//! Vector tasks: pieces of rows, two stages of each tile, values that share UB once they are dead.

use super::OnChipMemory;
use super::contents::by_size;
use super::limits::{BLOCK, COPY_BLOCKS, ROW_ALIGN, UB_TASKS};
use super::program::{Buffer, BufferId, Call, Holds, Instruction, VectorProgram};
use crate::finding::{Content, Overflow, Piece};
use crate::graph::Task;
use crate::ids::Arena;
use crate::units::Bytes;

/// The UB layout of a vector task, which processes its rows piece by piece.
#[derive(Clone, PartialEq, Debug)]
pub struct VectorPlan {
    /// The body as vector calls on buffers.
    pub program: VectorProgram,
    /// Number of rows of a piece, counted in rows of the program's leader.
    pub rows: u32,
    /// The offset of each buffer in UB. If a buffer has two stages, the second one follows the first.
    pub offsets: Arena<BufferId, Bytes>,
    /// High-water mark of UB in bytes.
    pub used: Bytes,
}

impl VectorPlan {
    /// The size of one stage of a buffer, for a whole piece.
    #[must_use]
    pub fn bytes(&self, buffer: BufferId) -> Bytes {
        let buffer = &self.program.buffers[buffer];
        row_bytes(buffer) * if buffer.single { 1 } else { u64::from(self.rows) }
    }
}

/// Plans the UB layout of a vector task. Buffers of a single row come first. All other buffers are placed as if a piece had one row, and
/// their offsets are then multiplied by its number of rows.
pub(super) fn vector(task: &Task) -> Result<VectorPlan, Overflow> {
    let program = VectorProgram::new(task);
    let lives = lives(&program);
    let mut offsets: Arena<BufferId, Bytes> = program.buffers.ids().map(|_| Bytes(0)).collect();
    let fixed = place(&program, &lives, true, &mut offsets);
    let row = place(&program, &lives, false, &mut offsets);
    if fixed + row > UB_TASKS {
        return Err(overflow(task, &program, &lives, fixed + row));
    }
    let most_rows = program.buffers.iter().map(|(_, buffer)| u64::from(buffer.rows)).max().unwrap_or(1);
    let most = ((UB_TASKS.0 - fixed.0) / row.0.max(1)).min(COPY_BLOCKS / most_rows).max(1) as u32;
    // As many pieces as are needed, of about equal size.
    let rows = program.rows.div_ceil(program.rows.div_ceil(most));
    for (id, _) in program.buffers.iter().filter(|(_, buffer)| !buffer.single) {
        offsets[id] = fixed + offsets[id] * u64::from(rows);
    }
    Ok(VectorPlan { program, rows, offsets, used: fixed + row * u64::from(rows) })
}

/// Bytes of a buffer for one row of a piece, in one stage.
fn row_bytes(buffer: &Buffer) -> Bytes {
    let bytes = buffer.element.bytes() as u64;
    let pitch = u64::from(buffer.cols).next_multiple_of(ROW_ALIGN.max(BLOCK / bytes));
    Bytes(pitch * bytes * u64::from(buffer.rows))
}

/// The first and last calls that touch a buffer. Stages of tiles are never shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Life {
    first: usize,
    last: usize,
    /// Whether the call that makes the value can write it in place of an operand that no later call reads.
    in_place: bool,
}

impl Life {
    fn clashes(self, other: Self) -> bool {
        let (early, late) = if self.first <= other.first { (self, other) } else { (other, self) };
        late.first < early.last || late.first == early.last && !late.in_place || late.first == early.first
    }
}

fn lives(program: &VectorProgram) -> Arena<BufferId, Life> {
    let touches = |call: &Call, id: BufferId| call.to == id || call.from.contains(&id) || call.scratch.contains(&id);
    let life = |id: BufferId| {
        let mut calls = (0..program.calls.len()).filter(|&call| touches(&program.calls[call], id));
        let first = calls.next().unwrap_or_default();
        let maker = program.calls.get(first).map(|call| call.instruction);
        let in_place = matches!(maker, Some(Instruction::Binary(_) | Instruction::Scalar(..) | Instruction::Unary(_)));
        Life { first, last: calls.next_back().unwrap_or(first), in_place }
    };
    program.buffers.ids().map(life).collect()
}

/// Places all buffers of single rows (if `single`) or all others, as if a piece had one row; returns the end. Stages come first, then every
/// value at the lowest offset that is free during its life.
fn place(
    program: &VectorProgram,
    lives: &Arena<BufferId, Life>,
    single: bool,
    offsets: &mut Arena<BufferId, Bytes>,
) -> Bytes {
    let buffers = || program.buffers.iter().filter(|(_, buffer)| buffer.single == single);
    let mut end = Bytes(0);
    for (id, buffer) in buffers().filter(|(_, buffer)| buffer.holds != Holds::Value) {
        offsets[id] = end;
        end += row_bytes(buffer) * 2;
    }
    let values = end;
    let mut placed: Vec<BufferId> = Vec::new();
    for (id, buffer) in buffers().filter(|(_, buffer)| buffer.holds == Holds::Value) {
        let bytes = row_bytes(buffer);
        let range = |other: BufferId| (offsets[other], offsets[other] + row_bytes(&program.buffers[other]));
        let others: Vec<BufferId> = placed.iter().copied().filter(|&other| overlap(lives[id], lives[other])).collect();
        // If an operation works in place, its result takes exactly the bytes of the dying value.
        let dying = others.iter().find(|&&dying| {
            let in_the_way = |&&other: &&BufferId| other != dying && meet(range(dying), range(other));
            !lives[id].clashes(lives[dying])
                && row_bytes(&program.buffers[dying]) == bytes
                && !others.iter().any(|other| in_the_way(&other))
        });
        let at = match dying {
            Some(&dying) => offsets[dying],
            None => lowest(values, bytes, others.iter().map(|&other| range(other)).collect()),
        };
        offsets[id] = at;
        end = end.max(at + bytes);
        placed.push(id);
    }
    end
}

/// The lowest offset, from `from` on, at which `bytes` bytes overlap none of the taken ranges.
fn lowest(from: Bytes, bytes: Bytes, mut taken: Vec<(Bytes, Bytes)>) -> Bytes {
    taken.sort_unstable();
    let mut at = from;
    for (start, end) in taken {
        if at + bytes <= start {
            break;
        }
        at = at.max(end);
    }
    at
}

fn meet(a: (Bytes, Bytes), b: (Bytes, Bytes)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

fn overlap(a: Life, b: Life) -> bool {
    a.first <= b.last && b.first <= a.last
}

fn overflow(task: &Task, program: &VectorProgram, lives: &Arena<BufferId, Life>, needed: Bytes) -> Overflow {
    let leader = &task.params[program.leader];
    let live = |call: usize| {
        program.buffers.iter().filter(move |(id, buffer)| {
            buffer.holds != Holds::Value || lives[*id].first <= call && call <= lives[*id].last
        })
    };
    let stages = |buffer: &Buffer| if buffer.holds == Holds::Value { 1 } else { 2 };
    let bytes = |buffer: &Buffer| row_bytes(buffer) * u64::from(stages(buffer));
    let fullest = (0..program.calls.len())
        .max_by_key(|&call| (live(call).map(|(_, b)| bytes(b)).sum::<Bytes>(), std::cmp::Reverse(call)))
        .unwrap_or_default();
    let content = |buffer: &Buffer| {
        let (name, stages, rows, columns) = (buffer.name.clone(), stages(buffer), buffer.rows, buffer.cols);
        (Content::Buffer { name, stages, rows, columns, element: buffer.element }, bytes(buffer))
    };
    Overflow {
        memory: OnChipMemory::Ub,
        capacity: UB_TASKS,
        needed,
        piece: Piece::Row { tile: leader.name.clone(), shape: leader.shape },
        contents: by_size(live(fullest).map(|(_, buffer)| content(buffer)).collect()),
    }
}

#[cfg(test)]
pub(super) fn clashing(plan: &VectorPlan) -> Option<(BufferId, BufferId)> {
    let lives = lives(&plan.program);
    let ids: Vec<BufferId> = plan.program.buffers.ids().collect();
    let range = |id: BufferId| {
        let stages = if plan.program.buffers[id].holds == Holds::Value { 1 } else { 2 };
        (plan.offsets[id], plan.offsets[id] + plan.bytes(id) * stages)
    };
    let always = |id: BufferId| plan.program.buffers[id].holds != Holds::Value;
    ids.iter()
        .flat_map(|&a| ids.iter().map(move |&b| (a, b)))
        .filter(|(a, b)| a < b)
        .find(|&(a, b)| meet(range(a), range(b)) && (always(a) || always(b) || lives[a].clashes(lives[b])))
}
