//! Numbers of one byte, which the hardware converts only by way of half.

use super::{Builder, Made, routine};
use crate::graph::Step;
use crate::ids::Id as _;
use crate::plan::program::{BufferId, Call, Holds};
use hpmoe_kernels::op::{ElementType, Shape};

impl Builder<'_> {
    /// Adds the conversion of a tile of bytes to f32, by way of f16, because the hardware has no direct one.
    pub(super) fn load_bytes(
        &mut self,
        step: usize,
        input: BufferId,
        shape: &Shape,
        made: Made,
        name: String,
    ) -> BufferId {
        let halves = self.buffer(format!("{name}_halves"), Holds::Value, ElementType::f16, shape, made);
        let to = self.buffer(name, Holds::Value, ElementType::f32, shape, made);
        let instruction = routine("WidenBytes", false);
        self.program.calls.push(Call { instruction, to, from: vec![input], scratch: vec![halves], step });
        to
    }

    /// Adds the conversion of a tile of packed 4-bit numbers, which works as for bytes, with two numbers per byte.
    pub(super) fn unpack(&mut self, number: usize, step: &Step, made: Made, name: String) -> BufferId {
        self.of_codes(("UnpackNibbles", &[]), number, step, made, name)
    }

    /// Adds the look-up of codes in a table. The codes are converted like numbers, then become offsets in a copy of the table that begins
    /// with the least code.
    pub(super) fn look_up(&mut self, number: usize, step: &Step, made: Made, name: String) -> BufferId {
        let table = step.operands[1];
        let (from, shape) = (self.value(table), self.shapes[table]);
        let width = Made { width: self.width[table.index()], single: true };
        let turned = self.buffer(format!("{name}_table"), Holds::Value, ElementType::f32, &shape, width);
        let routine = match self.task.params[step.operands[0].index()].shape.element {
            ElementType::i4x2 => "LookUpNibbles",
            _ => "LookUpBytes",
        };
        self.of_codes((routine, &[from, turned]), number, step, made, name)
    }

    /// The value that a routine computes from a tile of bytes. If there is a table, the routine gets a copy of it, which it may overwrite.
    fn of_codes(
        &mut self,
        (name_of_routine, table): (&'static str, &[BufferId]),
        number: usize,
        step: &Step,
        made: Made,
        name: String,
    ) -> BufferId {
        let param = step.operands[0].index();
        let mut from = vec![self.input(param)];
        let name = self.of_value(name);
        let halves = self.buffer(format!("{name}_halves"), Holds::Value, ElementType::f16, &step.result, made);
        let mut scratch = vec![halves];
        if let [table, turned] = *table {
            from.push(table);
            let offsets = format!("{name}_offsets");
            let offsets = self.buffer(offsets, Holds::Value, ElementType::i32, &step.result, made);
            scratch = vec![turned, halves, offsets];
        }
        let to = self.buffer(name, Holds::Value, ElementType::f32, &step.result, made);
        let instruction = routine(name_of_routine, false);
        self.program.calls.push(Call { instruction, to, from, scratch, step: number });
        if self.clears(number, param) {
            self.clear_empty(number, to);
        }
        to
    }

    /// The name of a tile's value in generated code. A `let` may have the same name as the tile that it loads.
    pub(super) fn of_value(&self, name: String) -> String {
        let taken = self.task.params.iter().any(|other| other.name == name);
        if taken { format!("{name}_value") } else { name }
    }

    /// Adds the conversion of f32 to bytes by way of f16, because the hardware has no direct one. Numbers are rounded to whole numbers
    /// first, since two roundings could differ from one.
    pub(super) fn store_bytes(&mut self, step: usize, param: usize, to: BufferId, from: BufferId) {
        let (shape, made) = (self.task.params[param].shape, self.of_param(param));
        let name = |what: &str| format!("{}_{what}", self.task.params[param].name);
        let (whole, halves) = (name("whole"), name("halves"));
        let whole = self.buffer(whole, Holds::Value, ElementType::f32, &shape, made);
        let halves = self.buffer(halves, Holds::Value, ElementType::f16, &shape, made);
        let instruction = routine("NarrowBytes", false);
        self.program.calls.push(Call { instruction, to, from: vec![from], scratch: vec![whole, halves], step });
    }
}
