//! The operations of a body: finds each one in the table of operations, and computes the shape of its result.

use super::super::cores::whole;
use super::super::source_line::line;
use super::super::writes::writes;
use super::{Builder, MOST_STEPS, Operand};
use crate::finding::{BodyFault, Finding, NameKind};
use crate::graph::Step;
use crate::ids::{Id as _, ValueId};
use crate::names::nearest;
use hpmoe_kernels::op::{
    self as device, Device, ElementType, OperandKind, Operation, Part, Routine, Shape, Sizes, TaskKind,
};
use hpmoe_kernels::ops;
use proc_macro2::Span;

impl Builder<'_> {
    /// The operation of that name for these operands.
    fn operation(&mut self, name: &str, places: &[OperandKind], span: Span) -> Option<&'static Operation> {
        let known: Vec<&'static Operation> = ops::named(name).collect();
        let Some(first) = known.first() else {
            let names: Vec<String> = ops::TABLE.iter().map(|operation| operation.name()).collect();
            // Signs are equally similar to each other.
            let names = names.iter().map(String::as_str).filter(|name| name.len() > 1);
            let nearest = nearest(name, names);
            self.errors.push(span, Finding::Unknown { kind: NameKind::Operation, name: name.to_owned(), nearest });
            return None;
        };
        if !known.iter().any(|operation| operation.cores.contains(&self.function.kind)) {
            self.errors.push(
                span,
                Finding::WrongCore {
                    operation: name.to_owned(),
                    kind: self.function.kind,
                    cores: first.cores,
                    whole: whole(&self.function.body),
                },
            );
            return None;
        }
        let operation = known.iter().find(|operation| operation.operands == places);
        if operation.is_none() {
            let fault = BodyFault::Operands { operation: name.to_owned(), given: places.to_vec() };
            self.errors.push(span, Finding::Body(fault));
        }
        operation.copied()
    }

    /// Adds an operation. `written` is the text of a type argument that is not an element type.
    pub(super) fn step(
        &mut self,
        name: &str,
        operands: &[Operand],
        (element, written): (Option<ElementType>, Option<String>),
        span: Span,
    ) -> Option<Operand> {
        let (mut values, mut numbers, mut places, mut shapes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut sizes = Vec::new();
        for operand in operands {
            let shape = match *operand {
                Operand::Value(id) => self.shapes[id.index()],
                Operand::Wide(_, shape) => shape,
                Operand::Number(number) => {
                    numbers.push(number);
                    places.push(OperandKind::Number);
                    continue;
                }
                Operand::Size(rows) | Operand::Index(rows) => {
                    let is_index = matches!(operand, Operand::Index(_));
                    let kind = if is_index { OperandKind::Index } else { OperandKind::Size };
                    sizes.push(rows);
                    Shape { kind, element: ElementType::f32, rows, cols: 0 }
                }
            };
            if let Operand::Value(id) | Operand::Wide(id, _) = *operand {
                values.push(id);
            }
            places.push(shape.kind);
            shapes.push(shape);
        }
        let (given, operands) = (operands, values);
        let made = operands.iter().filter_map(|operand| operand.index().checked_sub(self.params.len()));
        let writer = made.map(|step| self.steps[step].operation).find(|operation| writes(operation));
        if let (Some(writer), true) = (writer, ops::named(name).next().is_some()) {
            let fault = BodyFault::NoResult { operation: writer.name(), user: name.to_owned() };
            self.errors.push(span, Finding::Body(fault));
            return None;
        }
        let operation = self.operation(name, &places, span)?;
        self.check_mutability(operation, &operands, span)?;
        self.check_once(operation, operands[0], span)?;
        self.check_element(operation, &operands, span)?;
        self.check_after_product(operation, &operands, span)?;
        if operation.takes_element && element.is_none() {
            self.errors
                .push(span, Finding::Body(BodyFault::ElementType { operation: name.to_owned(), given: written }));
            return None;
        }
        let result = match (operation.numbers)(&numbers).and_then(|()| (operation.shape)(&shapes, element)) {
            Ok(result) => result,
            Err(misfit) => {
                self.errors.push(span, Finding::Misfit(misfit));
                return None;
            }
        };
        self.check_rows(operation, &shapes, &result, span)?;
        match operation.device {
            Device::Steps(steps) => return self.composed(steps, given, &numbers, span),
            Device::Broadcast => return Some(Operand::Wide(operands[0], result)),
            _ => {}
        }
        // Of values that are one row or one column for all, so is the result.
        let wide = given.iter().any(|operand| matches!(operand, Operand::Wide(..)));
        let result = match operation.device {
            Device::Vector { .. } | Device::Cast if wide => self.narrowed(&operands, result),
            Device::Store => result,
            _ if wide => {
                self.errors.push(span, Finding::Body(BodyFault::Open { operation: name.to_owned() }));
                return None;
            }
            _ => result,
        };
        let shape = shapes.first().copied().filter(|_| wide && !writes(operation));
        if self.steps.len() == MOST_STEPS {
            let task = self.function.name.clone();
            self.errors.push(span, Finding::Body(BodyFault::Operations { task, most: MOST_STEPS }));
            return None;
        }
        self.steps.push(Step {
            operation,
            operands,
            numbers,
            sizes,
            element,
            result,
            name: None,
            line: line(span),
            span,
        });
        self.shapes.push(result);
        let made = ValueId::new(self.shapes.len() - 1);
        Some(match shape {
            Some(shape) if (shape.rows, shape.cols) != (result.rows, result.cols) => {
                Operand::Wide(made, Shape { element: result.element, ..shape })
            }
            _ => Operand::Value(made),
        })
    }

    /// The size of a result before any broadcast: it has one row or one column if all operands have only one.
    fn narrowed(&self, operands: &[ValueId], result: Shape) -> Shape {
        let shapes = || operands.iter().map(|operand| self.shapes[operand.index()]);
        let rows = if shapes().any(|shape| shape.rows == result.rows) { result.rows } else { 1 };
        let cols = if shapes().any(|shape| shape.cols == result.cols) { result.cols } else { 1 };
        Shape { rows, cols, ..result }
    }

    /// Adds the operations that a composed operation consists of; returns the result of the last one.
    fn composed(&mut self, steps: &[device::Step], given: &[Operand], numbers: &[f32], span: Span) -> Option<Operand> {
        let values: Vec<Operand> =
            given.iter().copied().filter(|operand| !matches!(operand, Operand::Number(_))).collect();
        let mut made: Vec<Operand> = Vec::new();
        for step in steps {
            let operand = |part: &Part| match *part {
                Part::In(value) => values[value],
                Part::Step(step) => made[step],
                Part::Given(number) => Operand::Number(numbers[number]),
                Part::Number(number) => Operand::Number(number),
            };
            let operands: Vec<Operand> = step.operands.iter().map(operand).collect();
            made.push(self.step(step.operation, &operands, (None, None), span)?);
        }
        made.last().copied()
    }

    /// Refuses a reshape whose numbers of rows are not multiples of the rows of the task's smallest tile, because a vector core computes
    /// pieces of rows.
    fn check_rows(&mut self, operation: &Operation, shapes: &[Shape], result: &Shape, span: Span) -> Option<()> {
        if !matches!(operation.device, Device::Routine(Routine { sizes: Sizes::Reshaped, .. })) {
            return Some(());
        }
        let tile = self.params.iter().map(|param| param.shape.rows).filter(|rows| *rows > 1).min().unwrap_or(1);
        let Some(rows) = [shapes[0].rows, result.rows].into_iter().find(|rows| rows % tile != 0) else {
            return Some(());
        };
        let (operation, task) = (operation.name(), self.function.name.clone());
        self.errors.push(span, Finding::Body(BodyFault::NotByRows { operation, task, rows, tile }));
        None
    }

    /// Refuses a store of a product of floats to a tile of whole numbers: matrix cores make whole numbers only from tiles of i8.
    fn check_element(&mut self, operation: &Operation, operands: &[ValueId], span: Span) -> Option<()> {
        let whole = |value: &ValueId| matches!(self.shapes[value.index()].element, ElementType::i32 | ElementType::i8);
        let exact = |value: &ValueId| self.shapes[value.index()].element == ElementType::i32;
        let to = operands[0];
        let made = operands.get(1).is_some_and(exact);
        if self.function.kind != TaskKind::Matrix || !writes(operation) || !whole(&to) || made {
            return Some(());
        }
        let (param, element) = (self.params[to.index()].name.clone(), self.shapes[to.index()].element);
        self.errors.push(span, Finding::Body(BodyFault::WholeProduct { param, element }));
        None
    }

    /// Refuses operations of a matrix task that the store can't compute. The store computes operations such as `relu` as it takes a sum of
    /// products out of L0C. So their operand must be a sum of products, and only a store may follow them.
    fn check_after_product(&mut self, operation: &Operation, operands: &[ValueId], span: Span) -> Option<()> {
        if self.function.kind != TaskKind::Matrix || matches!(operation.device, Device::Store) {
            return Some(());
        }
        let steps = operands.iter().filter_map(|operand| operand.index().checked_sub(self.params.len()));
        if steps.map(|step| self.steps[step].operation).all(|made| matches!(made.device, Device::Matmul { .. })) {
            return Some(());
        }
        self.errors.push(span, Finding::Body(BodyFault::AfterProduct { operation: operation.name() }));
        None
    }

    /// Refuses a second write to a tile: the two copies to it would have no order.
    fn check_once(&mut self, operation: &Operation, to: ValueId, span: Span) -> Option<()> {
        if !writes(operation) || !self.steps.iter().any(|step| writes(step.operation) && step.operands[0] == to) {
            return Some(());
        }
        let param = self.params[to.index()].name.clone();
        self.errors.push(span, Finding::Body(BodyFault::WrittenTwice { param }));
        None
    }

    fn check_mutability(&mut self, operation: &Operation, operands: &[ValueId], span: Span) -> Option<()> {
        for (place, operand) in operands.iter().enumerate() {
            let Some(param) = self.params.get(operand.index()) else { continue };
            let written = writes(operation) && place == 0;
            if written != param.write {
                let param = param.name.clone();
                let fault = if written { BodyFault::WrittenByRef { param } } else { BodyFault::ReadByMut { param } };
                self.errors.push(span, Finding::Body(fault));
                return None;
            }
        }
        Some(())
    }
}
