//! The buffers of a program: their names and sizes, and operands that are spread over the size of a result.

use super::super::program::{Buffer, BufferId, Holds, Instruction, Width};
use super::{Builder, Made};
use crate::graph::Step;
use hpmoe_kernels::op::{self, Columns, ElementType, Shape, VectorCall, Waits};

impl Builder<'_> {
    /// The routine that combines a full operand with one row or one column without spreading it first; `None` if there is no such routine.
    pub(super) fn in_one_call(&self, step: &Step, calls: &[VectorCall]) -> Option<(&'static str, Waits)> {
        let (first, second) = (self.shapes[step.operands[0]], self.shapes[*step.operands.get(1)?]);
        let whole = op::spread(&first, &step.result).is_none();
        op::in_one_call(calls, op::spread(&second, &step.result)?).filter(|_| whole)
    }

    /// The operands of a step, each with the size of the result: a single row or column is first copied to that size.
    pub(super) fn spread(
        &mut self,
        (number, step): (usize, &Step),
        from: &[BufferId],
        name: &str,
        made: Made,
    ) -> Vec<BufferId> {
        let mut all = Vec::with_capacity(from.len());
        for (&value, &from) in step.operands.iter().zip(from) {
            all.push(match op::spread(&self.shapes[value], &step.result) {
                None => from,
                Some(spread) => {
                    let name = format!("{name}_spread");
                    let to = self.buffer(name, Holds::Value, ElementType::f32, &step.result, made);
                    self.call(number, Instruction::Spread(spread), to, &[from]);
                    to
                }
            });
        }
        all
    }

    /// The first operand of a step, with as many rows as the result: a single row is first copied to each row.
    pub(super) fn one_row_for_all(
        &mut self,
        (number, step): (usize, &Step),
        from: BufferId,
        name: &str,
        width: Width,
    ) -> BufferId {
        let value = self.shapes[step.operands[0]];
        let all = Shape { rows: step.result.rows, ..value };
        let Some(spread) = op::spread(&value, &all) else { return from };
        let made = Made { width, single: false };
        let to = self.buffer(format!("{name}_spread"), Holds::Value, ElementType::f32, &all, made);
        self.call(number, Instruction::Spread(spread), to, &[from]);
        to
    }

    pub(super) fn scratch(&mut self, columns: &[Columns], name: &str, step: &Step, made: Made) -> Vec<BufferId> {
        let (first, shape) = (self.shapes[step.operands[0]], step.result);
        let name = |number: usize| match columns.len() {
            1 => format!("{name}_scratch"),
            _ => format!("{name}_scratch_{number}"),
        };
        let single = made.single;
        let shaped = |columns: Columns| {
            let made = Made { single: single || columns.is_single(), ..made };
            (Shape { cols: columns.count(&first, &shape), ..shape }, made)
        };
        let mut made = Vec::with_capacity(columns.len());
        for (number, columns) in columns.iter().enumerate() {
            let (shape, of) = shaped(*columns);
            made.push(self.buffer(name(number), Holds::Value, ElementType::f32, &shape, of));
        }
        made
    }

    pub(super) fn of_param(&self, param: usize) -> Made {
        Made { width: Width::Of { param, parts: 1 }, single: self.single[param] }
    }

    pub(super) fn buffer(
        &mut self,
        name: String,
        holds: Holds,
        element: ElementType,
        shape: &Shape,
        made: Made,
    ) -> BufferId {
        let Made { width, single } = made;
        let rows = if single { 1 } else { (shape.rows as u32).div_ceil(self.program.rows) };
        let name = self.unused(name);
        self.program.buffers.push(Buffer { name, holds, element, rows, single, cols: shape.cols as u32, width })
    }

    /// A name that no other buffer has: a number distinguishes shadowing `let`s.
    fn unused(&self, name: String) -> String {
        let taken = |name: &str| {
            self.program.buffers.iter().any(|(_, other)| other.name == name)
                || self.task.params.iter().any(|param| param.name == name)
        };
        let numbered = |number: u32| if number == 1 { name.clone() } else { format!("{name}_{number}") };
        (1..).map(numbered).find(|name| !taken(name)).expect("some number gives a free name")
    }

    /// Records that two values have the same number of columns.
    pub(super) fn join(&mut self, a: Width, b: Width) {
        let (Width::Of { param: a, parts: of_a }, Width::Of { param: b, parts: of_b }) = (a, b) else { return };
        if of_a != of_b {
            return;
        }
        let (from, to) = (self.same[a], self.same[b]);
        // Prefer the leader: its columns are in every loop anyway.
        let (from, to) = if from == self.program.leader { (to, from) } else { (from, to) };
        self.same.iter_mut().filter(|same| **same == from).for_each(|same| *same = to);
    }
}
