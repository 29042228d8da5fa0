//! Translates the steps of a body to vector calls on buffers.

mod buffers;
mod bytes;
mod empty_slots;
mod slots;

use super::program::{BufferId, Call, Holds, Instruction, VectorProgram, Width};
use super::single::single_rows;
use crate::graph::{Param, Step, Task};
use crate::ids::{Arena, Id as _, ValueId};
use hpmoe_kernels::op::{self, Device, ElementType, More, Shape, Sizes, Slot, VectorCall, Waits};

impl VectorProgram {
    /// Translates the body of a vector task to vector calls on buffers.
    #[must_use]
    pub fn new(task: &Task) -> Self {
        flatten(task)
    }
}

fn flatten(task: &Task) -> VectorProgram {
    let single = single_rows(task);
    // If a task has only single rows, its pieces have one row.
    let all = task.params.iter().enumerate();
    let most = || all.clone().filter(|(number, _)| !single[*number]);
    let rows = most().map(|(_, param)| param.shape.rows).min().unwrap_or(1);
    let has_rows = |(_, param): &(usize, &Param)| param.shape.rows == rows;
    let written = most().filter(has_rows).find(|(_, param)| param.write);
    let leader = written.or_else(|| most().find(has_rows)).map_or(0, |(number, _)| number);
    let mut builder = Builder {
        task,
        shapes: task.shapes(),
        program: VectorProgram { buffers: Arena::new(), calls: Vec::new(), rows: rows as u32, leader },
        place: vec![None; task.params.len() + task.body.steps.len()],
        width: (0..task.params.len()).map(|param| Width::Of { param, parts: 1 }).collect(),
        same: (0..task.params.len()).collect(),
        single,
        slots: slots::slots(task),
    };
    for (number, step) in task.body.steps.iter().enumerate() {
        builder.step(number, step);
    }
    builder.finish()
}

/// Width and rows of a value that has no buffer yet.
#[derive(Clone, Copy)]
struct Made {
    width: Width,
    single: bool,
}

struct Builder<'a> {
    task: &'a Task,
    /// Shapes of parameters and of the results of steps.
    shapes: Arena<ValueId, Shape>,
    program: VectorProgram,
    /// The buffer of each value, if it has one yet; for a parameter, the buffer of its input stage.
    place: Vec<Option<BufferId>>,
    /// The number of columns of each value at run time.
    width: Vec<Width>,
    /// Whether each value has one row for all rows of a piece.
    single: Vec<bool>,
    /// For each parameter, a parameter with the same number of columns at run time: itself, or another one that operations combine with it.
    same: Vec<usize>,
    /// Whether the rows of each value are slots.
    slots: Vec<bool>,
}

impl Builder<'_> {
    fn step(&mut self, number: usize, step: &Step) {
        let from: Vec<BufferId> = match step.operation.device {
            Device::Load | Device::Unpack | Device::LookUp | Device::Store => Vec::new(),
            _ => step.operands.iter().map(|value| self.value(*value)).collect(),
        };
        // One column may stand for all of another operand's.
        let all_columns = |value: &&ValueId| self.shapes[**value].cols == step.result.cols;
        let leading = match step.operation.device {
            Device::Vector { .. } => step.operands.iter().find(all_columns).unwrap_or(&step.operands[0]),
            _ => &step.operands[0],
        };
        let first = self.width[leading.index()];
        let sizes = match step.operation.device {
            Device::Routine(routine) => Some(routine.sizes),
            _ => None,
        };
        let width = match (sizes, first) {
            _ if self.shapes[step.operands[0]].element == ElementType::i4x2 => Width::Fixed(step.result.cols as u32),
            (Some(Sizes::OneColumn), _) => Width::Fixed(1),
            (Some(Sizes::Columns | Sizes::Slice | Sizes::Reshaped), _) => Width::Fixed(step.result.cols as u32),
            (Some(Sizes::Picked), _) => self.width[step.operands[1].index()],
            (Some(Sizes::HalfOfColumns), Width::Of { param, parts }) => Width::Of { param, parts: parts * 2 },
            (_, first) => first,
        };
        self.width.push(width);
        let alike = matches!(step.operation.device, Device::Store | Device::Vector { .. });
        let of_all_columns = |other: &&ValueId| alike && self.shapes[**other].cols == step.result.cols;
        let others: Vec<ValueId> = step.operands.iter().skip(1).filter(of_all_columns).copied().collect();
        for other in others {
            self.join(first, self.width[other.index()]);
        }
        let made = Made { width, single: self.single[self.task.params.len() + number] };
        let name = step.name.clone().unwrap_or_else(|| match step.operation.device {
            Device::Load | Device::Unpack | Device::LookUp => self.task.params[step.operands[0].index()].name.clone(),
            _ => plain(&step.operation.name()).to_owned(),
        });
        let place = match step.operation.device {
            Device::Load => self.load(number, step.operands[0].index(), name),
            Device::Unpack => self.unpack(number, step, made, name),
            Device::LookUp => self.look_up(number, step, made, name),
            Device::Store => {
                self.store(number, step.operands[0].index(), step.operands[1]);
                return;
            }
            Device::Cast => self.cast(number, from[0], step, name),
            Device::Vector { scratch, calls } => match self.in_one_call(step, calls) {
                Some((routine, waits)) => {
                    let to = self.buffer(name, Holds::Value, ElementType::f32, &step.result, made);
                    let (more, size, slots) = (More::Nothing, 0, false);
                    let instruction = Instruction::Routine { name: routine, waits, more, size, slots };
                    self.program.calls.push(Call { instruction, to, from, scratch: Vec::new(), step: number });
                    to
                }
                None => {
                    let from = self.spread((number, step), &from, &name, made);
                    let scratch = self.scratch(scratch, &name, step, made);
                    let to = self.buffer(name, Holds::Value, ElementType::f32, &step.result, made);
                    for call in calls {
                        self.vector_call((number, &step.numbers), call, to, &from, &scratch);
                    }
                    to
                }
            },
            Device::Routine(routine) => {
                let mut from = from;
                if routine.sizes == Sizes::Picked {
                    from[0] = self.one_row_for_all((number, step), from[0], &name, first);
                }
                let scratch = self.scratch(routine.scratch, &name, step, made);
                let to = self.buffer(name, Holds::Value, ElementType::f32, &step.result, made);
                let size = step.sizes.first().map_or(0, |size| *size as u32);
                let (name, waits, more) = (routine.name, routine.waits, routine.more());
                let slots = more == More::Terms && self.slots[step.operands[0].index()];
                let instruction = Instruction::Routine { name, waits, more, size, slots };
                self.program.calls.push(Call { instruction, to, from, scratch, step: number });
                to
            }
            Device::Matmul { .. } | Device::Accumulate | Device::Put | Device::Steps(_) | Device::Broadcast => {
                unreachable!("the front end keeps {} off vector cores", step.operation.name())
            }
        };
        self.place[self.task.params.len() + number] = Some(place);
    }

    fn load(&mut self, step: usize, param: usize, name: String) -> BufferId {
        let shape = self.task.params[param].shape;
        let made = self.of_param(param);
        let input = self.input(param);
        let clears = self.clears(step, param);
        let loaded = self.widened(step, (input, &shape, made), name, clears);
        if clears {
            self.clear_empty(step, loaded);
        }
        loaded
    }

    /// The buffer that receives the rows of a tile.
    fn input(&mut self, param: usize) -> BufferId {
        if let Some(input) = self.place[param] {
            return input;
        }
        let Param { name, shape, .. } = &self.task.params[param];
        let input = self.buffer(format!("{name}_in"), Holds::Input(param), shape.element, shape, self.of_param(param));
        self.place[param] = Some(input);
        input
    }

    /// The value of a tile in f32. If an operation will overwrite the value, `apart` keeps it in another buffer than the tile.
    fn widened(
        &mut self,
        step: usize,
        (input, shape, made): (BufferId, &Shape, Made),
        name: String,
        apart: bool,
    ) -> BufferId {
        if shape.element == ElementType::f32 && !apart {
            return input;
        }
        let name = self.of_value(name);
        if shape.element == ElementType::i8 {
            return self.load_bytes(step, input, shape, made, name);
        }
        let to = self.buffer(name, Holds::Value, ElementType::f32, shape, made);
        let instruction = if shape.element == ElementType::f32 { Instruction::Copy } else { Instruction::Widen };
        self.call(step, instruction, to, &[input]);
        to
    }

    fn store(&mut self, step: usize, param: usize, value: ValueId) {
        let shape = self.task.params[param].shape;
        let mut from = self.value(value);
        if let Some(spread) = op::spread(&self.shapes[value], &shape) {
            let name = format!("{}_spread", self.task.params[param].name);
            let to = self.buffer(name, Holds::Value, ElementType::f32, &shape, self.of_param(param));
            self.call(step, Instruction::Spread(spread), to, &[from]);
            from = to;
        }
        let name = format!("{}_out", self.task.params[param].name);
        let to = self.buffer(name, Holds::Output(param), shape.element, &shape, self.of_param(param));
        match shape.element {
            ElementType::f32 => self.call(step, Instruction::Copy, to, &[from]),
            ElementType::i8 => self.store_bytes(step, param, to, from),
            ElementType::bf16 | ElementType::f16 | ElementType::i32 | ElementType::i4x2 => {
                self.call(step, Instruction::Narrow, to, &[from])
            }
        }
    }

    fn cast(&mut self, step: usize, from: BufferId, to: &Step, name: String) -> BufferId {
        let element = to.element.unwrap_or(ElementType::f32);
        if element == ElementType::f32 {
            return from;
        }
        let buffer = &self.program.buffers[from];
        let made = Made { width: buffer.width, single: buffer.single };
        let narrow = self.buffer(format!("{name}_{element}"), Holds::Value, element, &to.result, made);
        let wide = self.buffer(name, Holds::Value, ElementType::f32, &to.result, made);
        self.call(step, Instruction::Narrow, narrow, &[from]);
        self.call(step, Instruction::Widen, wide, &[narrow]);
        wide
    }

    fn vector_call(
        &mut self,
        (step, numbers): (usize, &[f32]),
        call: &VectorCall,
        out: BufferId,
        from: &[BufferId],
        scratch: &[BufferId],
    ) {
        let buffer = |slot: Slot| match slot {
            Slot::Out => out,
            Slot::In(operand) => from[operand],
            Slot::Scratch(number) => scratch[number],
        };
        match *call {
            VectorCall::Binary(name, to, a, b) => {
                self.call(step, Instruction::Binary(name), buffer(to), &[buffer(a), buffer(b)])
            }
            VectorCall::Scalar(name, to, a, scalar) => {
                self.call(step, Instruction::Scalar(name, scalar.value(numbers)), buffer(to), &[buffer(a)]);
            }
            VectorCall::Unary(name, to, a) => self.call(step, Instruction::Unary(name), buffer(to), &[buffer(a)]),
            VectorCall::Whole(mode, to, a) => self.call(step, Instruction::Whole(mode), buffer(to), &[buffer(a)]),
            VectorCall::Library(name, to, operands, scratch) => {
                let (from, scratch) =
                    (operands.iter().map(|&slot| buffer(slot)), scratch.iter().map(|&slot| buffer(slot)));
                let (from, scratch) = (from.collect(), scratch.collect());
                let instruction = Instruction::Library(name);
                self.program.calls.push(Call { instruction, to: buffer(to), from, scratch, step });
            }
            VectorCall::Fill(to, scalar) => self.call(step, Instruction::Fill(scalar.value(numbers)), buffer(to), &[]),
        }
    }

    fn call(&mut self, step: usize, instruction: Instruction, to: BufferId, from: &[BufferId]) {
        self.program.calls.push(Call { instruction, to, from: from.to_vec(), scratch: Vec::new(), step });
    }

    fn finish(mut self) -> VectorProgram {
        for id in self.program.buffers.ids() {
            if let Width::Of { param, .. } = &mut self.program.buffers[id].width {
                *param = self.same[*param];
            }
        }
        self.program
    }

    fn value(&self, value: ValueId) -> BufferId {
        self.place[value.index()].expect("the front end lets a body name only values that it has made")
    }
}

/// A call of a library routine that needs only its operands and, if they are slots, the slots' ids.
const fn routine(name: &'static str, slots: bool) -> Instruction {
    Instruction::Routine { name, waits: Waits::Never, more: More::Nothing, size: 0, slots }
}

/// The name of an operation as it appears in identifiers.
fn plain(name: &str) -> &str {
    match name {
        "*" => "product",
        "+" => "sum",
        "-" => "difference",
        "/" => "quotient",
        other => other,
    }
}
