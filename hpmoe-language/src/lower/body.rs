//! Bodies of tasks: each operation is found in the table and its shape computed.

use super::cores::whole;
use super::tasks::{line, writes};
use crate::constant::Constant;
use crate::finding::{BodyFault, Errors, Finding, NameKind, NumberFault};
use crate::graph::{Param, Step};
use crate::ids::{Id as _, ValueId};
use crate::names::{ByName, nearest};
use crate::syntax::{BodyExpr, BodyStmt, Kernel, TaskFn, arithmetic};
use hpmoe_kernels::op::{self as device, Device, ElementType, OperandKind, Operation, Part, Shape};
use hpmoe_kernels::ops;
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;

/// The most steps of one body, loops unrolled: people read the code, and an instruction cache holds it.
const MOST_STEPS: usize = 256;
/// The most iterations of the loops of one body, including those without operations.
const MOST_ITERATIONS: usize = 16 * MOST_STEPS;

/// The steps of a function's body, loops unrolled.
pub(super) fn steps(
    kernel: &Kernel,
    function: &TaskFn,
    params: &[Param],
    arguments: &ByName<usize>,
    errors: &mut Errors,
) -> Option<Vec<Step>> {
    let mut builder = Builder {
        kernel,
        function,
        names: params
            .iter()
            .enumerate()
            .map(|(index, p)| (p.name.clone(), Operand::Value(ValueId::new(index))))
            .collect(),
        shapes: params.iter().map(|param| param.shape).collect(),
        params,
        locals: arguments.clone(),
        steps: Vec::new(),
        iterations: 0,
        errors,
    };
    builder.statements(&function.body)?;
    Some(builder.steps)
}

/// The result of an expression of a body.
#[derive(Clone, Copy)]
enum Operand {
    /// A tile or a value.
    Value(ValueId),
    /// A number that the compiler knows.
    Number(f32),
    /// A const argument of an operation.
    Size(usize),
}

/// Lowers the statements of a body to steps.
struct Builder<'a> {
    kernel: &'a Kernel,
    function: &'a TaskFn,
    names: ByName<Operand>,
    shapes: Vec<Shape>,
    params: &'a [Param],
    locals: ByName<usize>,
    steps: Vec<Step>,
    iterations: usize,
    errors: &'a mut Errors,
}

impl Builder<'_> {
    fn statements(&mut self, statements: &[BodyStmt]) -> Option<()> {
        for statement in statements {
            match statement {
                BodyStmt::Let { name, value } => {
                    let operand = self.value(value)?;
                    if let Operand::Value(id) = operand
                        && let Some(step) = id.index().checked_sub(self.params.len())
                    {
                        self.steps[step].name.get_or_insert_with(|| name.clone());
                    }
                    self.names.insert(name.clone(), operand);
                }
                BodyStmt::Do(value) => {
                    self.value(value)?;
                }
                BodyStmt::For { variable, from, to, body } => {
                    let end = to.span();
                    let from = self.kernel.constants.evaluate(from, &self.locals, self.errors)?;
                    let to = self.kernel.constants.evaluate(to, &self.locals, self.errors)?;
                    let (names, locals) = (self.names.clone(), self.locals.clone());
                    for value in from..to {
                        self.iterations += 1;
                        if self.iterations > MOST_ITERATIONS {
                            let task = self.function.name.clone();
                            self.errors.push(end, Finding::Body(BodyFault::Iterations { task, most: MOST_ITERATIONS }));
                            return None;
                        }
                        self.locals.insert(variable.clone(), value);
                        self.statements(body)?;
                        // Shadowing inside the loop ends with it; the language has no assignment to outer names.
                        self.names.clone_from(&names);
                    }
                    self.locals = locals;
                }
            }
        }
        Some(())
    }

    fn value(&mut self, expr: &BodyExpr) -> Option<Operand> {
        match expr {
            BodyExpr::Name { name, span } => match (self.names.get(name), self.kernel.constants.constant(name)) {
                (Some(operand), _) => Some(*operand),
                (None, Some(Constant::Number(number))) => Some(Operand::Number(number)),
                (None, None) if self.kernel.constants.other(name).is_some() => {
                    let ty = self.kernel.constants.other(name).map(|(ty, _)| ty.to_owned()).unwrap_or_default();
                    let fault = NumberFault::OfType { name: name.clone(), ty };
                    self.errors.push(*span, Finding::Number(fault));
                    None
                }
                (None, constant) => {
                    let finding = if constant.is_some() || self.locals.contains(name) {
                        Finding::Number(NumberFault::IsSize { name: name.clone() })
                    } else {
                        let nearest = nearest(name, self.names.names());
                        Finding::Unknown { kind: NameKind::Value, name: name.clone(), nearest }
                    };
                    self.errors.push(*span, finding);
                    None
                }
            },
            BodyExpr::Number(expr) => match self.kernel.constants.number(expr, &self.locals) {
                Ok(number) => Some(Operand::Number(number)),
                Err(fault) => {
                    self.errors.push(fault.0, fault.1);
                    None
                }
            },
            BodyExpr::Operation { name, operands, element, size, span } => {
                let mut operands: Vec<Operand> =
                    operands.iter().map(|operand| self.value(operand)).collect::<Option<_>>()?;
                let written = size.as_ref().map(|size| size.to_token_stream().to_string());
                let takes_size = ops::named(name).any(|operation| operation.operands.contains(&OperandKind::Size));
                if let Some(size) = size.as_ref().filter(|_| takes_size) {
                    operands.push(Operand::Size(self.kernel.constants.evaluate(size, &self.locals, self.errors)?));
                }
                let number = |operand: &Operand| match operand {
                    Operand::Number(number) => Some(*number),
                    Operand::Value(_) | Operand::Size(_) => None,
                };
                if let Some(numbers) = operands.iter().map(number).collect::<Option<Vec<f32>>>() {
                    return match arithmetic(name, &numbers) {
                        Ok(number) => Some(Operand::Number(number)),
                        Err(fault) => {
                            self.errors.push(*span, Finding::Number(fault));
                            None
                        }
                    };
                }
                let given = (*element, written);
                self.step(name, &operands, given, *span).map(Operand::Value)
            }
        }
    }

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

    /// Adds an operation; `written` is the text of a type argument that is no element type.
    fn step(
        &mut self,
        name: &str,
        operands: &[Operand],
        (element, written): (Option<ElementType>, Option<String>),
        span: Span,
    ) -> Option<ValueId> {
        let (mut values, mut numbers, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut size = None;
        for operand in operands {
            match *operand {
                Operand::Value(id) => {
                    values.push(id);
                    places.push(self.shapes[id.index()].kind);
                }
                Operand::Number(number) => {
                    numbers.push(number);
                    places.push(OperandKind::Number);
                }
                Operand::Size(rows) => {
                    size = Some(Shape { kind: OperandKind::Size, element: ElementType::f32, rows, cols: 0 });
                    places.push(OperandKind::Size);
                }
            }
        }
        let operands = values;
        let made = operands.iter().filter_map(|operand| operand.index().checked_sub(self.params.len()));
        let writer = made.map(|step| self.steps[step].operation).find(|operation| writes(operation));
        if let (Some(writer), true) = (writer, ops::named(name).next().is_some()) {
            let fault = BodyFault::NoResult { operation: writer.name(), user: name.to_owned() };
            self.errors.push(span, Finding::Body(fault));
            return None;
        }
        let operation = self.operation(name, &places, span)?;
        let shapes = operands.iter().map(|operand| self.shapes[operand.index()]).chain(size);
        let shapes: Vec<Shape> = shapes.collect();
        self.check_mutability(operation, &operands, span)?;
        self.check_once(operation, operands[0], span)?;
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
        if let Device::Steps(steps) = operation.device {
            return self.composed(steps, &operands, &numbers, span);
        }
        if self.steps.len() == MOST_STEPS {
            let task = self.function.name.clone();
            self.errors.push(span, Finding::Body(BodyFault::Operations { task, most: MOST_STEPS }));
            return None;
        }
        self.steps.push(Step { operation, operands, numbers, element, result, name: None, line: line(span), span });
        self.shapes.push(result);
        Some(ValueId::new(self.shapes.len() - 1))
    }

    /// The operations that another one stands for.
    fn composed(&mut self, steps: &[device::Step], values: &[ValueId], numbers: &[f32], span: Span) -> Option<ValueId> {
        let mut made = Vec::new();
        for step in steps {
            let operand = |part: &Part| match *part {
                Part::In(value) => Operand::Value(values[value]),
                Part::Step(step) => Operand::Value(made[step]),
                Part::Given(number) => Operand::Number(numbers[number]),
                Part::Number(number) => Operand::Number(number),
            };
            let operands: Vec<Operand> = step.operands.iter().map(operand).collect();
            made.push(self.step(step.operation, &operands, (None, None), span)?);
        }
        made.last().copied()
    }

    /// Refuses a second write to a tile: the copies to it would have no order.
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
