//! A call of a vector function with its arguments.

use super::extents::{self, Extent, columns, rows};
use super::{Emitter, Stmt};
use crate::emit::cpp::{float, int, name};
use crate::plan::{BufferId, Call, Instruction};
use hpmoe_kernels::op::More;

impl Emitter<'_> {
    pub(super) fn call(&self, call: &Call) -> Stmt {
        let operand = |id: BufferId| if call.is_routine() { self.address(id) } else { self.operand(id) };
        let mut arguments = vec![operand(call.to)];
        arguments.extend(call.from.iter().map(|&id| operand(id)));
        let function = match call.instruction {
            Instruction::Routine { name: routine, more, size, slots, .. } => {
                let (to, values) = (self.buffer(call.to), self.buffer(call.from[0]));
                arguments.extend(call.scratch.iter().map(|&id| operand(id)));
                let [_, rows] = rows(to);
                arguments.push(rows);
                arguments.push(columns(values.width, &self.params));
                match more {
                    More::Nothing => {}
                    More::Terms => arguments.push(int(values.rows / to.rows)),
                    More::Columns => arguments.push(columns(to.width, &self.params)),
                    More::ColumnsFrom => arguments.extend([columns(to.width, &self.params), int(size)]),
                }
                match (slots, more) {
                    (true, _) => {
                        arguments.push(name("ListFrom").call(vec![name("ids"), extents::rows(values)[0].clone()]))
                    }
                    (false, More::Terms) => arguments.push(int(0u64)),
                    (false, _) => {}
                }
                return Stmt::call(routine, arguments);
            }
            Instruction::Spread(spread) => {
                let to = self.buffer(call.to);
                let [_, rows] = rows(to);
                arguments.extend([rows, columns(to.width, &self.params)]);
                return Stmt::call(spread.routine().0, arguments);
            }
            Instruction::Widen => {
                arguments.push(name("RoundMode::CAST_NONE"));
                "Cast"
            }
            Instruction::Narrow => {
                arguments.push(name("RoundMode::CAST_RINT"));
                "Cast"
            }
            Instruction::Copy => "CopyValues",
            Instruction::Library(function) => {
                arguments.extend(call.scratch.iter().map(|&id| operand(id)));
                function
            }
            Instruction::Whole(mode) => {
                arguments.push(name(format!("RoundMode::{mode}")));
                "Cast"
            }
            Instruction::Scalar(function, scalar) => {
                arguments.push(float(scalar));
                function
            }
            Instruction::Fill(scalar) => {
                arguments.push(float(scalar));
                "Duplicate"
            }
            Instruction::Binary(function) | Instruction::Unary(function) => function,
        };
        let extent = Extent::new(self.buffer(call.to));
        let number =
            self.extents.iter().position(|other| *other == extent).expect("the list has the extents of all calls");
        arguments.push(name(&self.counts[number]));
        Stmt::call(function, arguments)
    }
}
