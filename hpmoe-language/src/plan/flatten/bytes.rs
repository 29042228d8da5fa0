//! Numbers of one byte, which the hardware converts only by way of half.

use super::{Builder, Made, routine};
use crate::plan::program::{BufferId, Call, Holds};
use hpmoe_kernels::op::{ElementType, Shape};

impl Builder<'_> {
    /// The hardware converts bytes to f32 only by way of half, which has as many bits as bf16.
    pub(super) fn load_bytes(
        &mut self,
        step: usize,
        input: BufferId,
        shape: &Shape,
        made: Made,
        name: String,
    ) -> BufferId {
        let halves = self.buffer(format!("{name}_halves"), Holds::Value, ElementType::bf16, shape, made);
        let to = self.buffer(name, Holds::Value, ElementType::f32, shape, made);
        let instruction = routine("WidenBytes", false);
        self.program.calls.push(Call { instruction, to, from: vec![input], scratch: vec![halves], step });
        to
    }

    /// The hardware converts f32 to bytes only by way of half, which would round twice: numbers are made whole before.
    pub(super) fn store_bytes(&mut self, step: usize, param: usize, to: BufferId, from: BufferId) {
        let (shape, made) = (self.task.params[param].shape, self.of_param(param));
        let name = |what: &str| format!("{}_{what}", self.task.params[param].name);
        let (whole, halves) = (name("whole"), name("halves"));
        let whole = self.buffer(whole, Holds::Value, ElementType::f32, &shape, made);
        let halves = self.buffer(halves, Holds::Value, ElementType::bf16, &shape, made);
        let instruction = routine("NarrowBytes", false);
        self.program.calls.push(Call { instruction, to, from: vec![from], scratch: vec![whole, halves], step });
    }
}
