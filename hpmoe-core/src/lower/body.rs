//! Bodies of tasks: statements in order, with loops unrolled and names resolved.

mod helpers;
mod sizes;
mod steps;

use crate::constant::Constant;
use crate::finding::{BodyFault, Errors, Finding, NameKind, NumberFault};
use crate::graph::{Param, Step};
use crate::ids::{Id as _, ValueId};
use crate::names::{ByName, nearest};
use crate::syntax::{BodyExpr, BodyStmt, Kernel, TaskFn, arithmetic};
use hpmoe_kernels::op::{OperandKind, Shape};
use hpmoe_kernels::ops;
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;

/// The maximum number of steps of one body, with loops unrolled. The generated code must stay readable and fit an instruction cache.
const MOST_STEPS: usize = 256;

/// The maximum number of iterations of the loops of one body, including those without operations.
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
        within: Vec::new(),
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
    /// A broadcast value: it has one row or one column, and stands for a value of this shape.
    Wide(ValueId, Shape),
    /// A number that the compiler knows.
    Number(f32),
    /// A const argument of an operation.
    Size(usize),
    /// A size among the arguments of an operation, rather than a const argument.
    Index(usize),
}

/// Lowers the statements of a body to steps.
struct Builder<'a> {
    kernel: &'a Kernel,
    function: &'a TaskFn,
    /// Parameters and `let`s, the innermost last.
    names: Vec<(String, Operand)>,
    shapes: Vec<Shape>,
    params: &'a [Param],
    locals: ByName<usize>,
    steps: Vec<Step>,
    iterations: usize,
    /// The helper functions whose bodies contain the current statement, the innermost last.
    within: Vec<&'a str>,
    errors: &'a mut Errors,
}

impl Builder<'_> {
    fn statements(&mut self, statements: &[BodyStmt]) -> Option<()> {
        for statement in statements {
            match statement {
                BodyStmt::Let { name, value } => {
                    let operand = self.value(value)?;
                    self.name(name, operand);
                }
                BodyStmt::LetResults { names, value, span } => self.name_results(names, value, *span)?,
                BodyStmt::Assign { name, value, span } => self.assign(name, value, *span)?,
                BodyStmt::Do(value) => {
                    self.value(value)?;
                }
                BodyStmt::For { variable, from, to, body } => {
                    let end = to.span();
                    let from = self.kernel.constants.evaluate(from, &self.locals, self.errors)?;
                    let to = self.kernel.constants.evaluate(to, &self.locals, self.errors)?;
                    let (names, locals) = (self.names.len(), self.locals.clone());
                    for value in from..to {
                        self.iterations += 1;
                        if self.iterations > MOST_ITERATIONS {
                            let task = self.function.name.clone();
                            self.errors.push(end, Finding::Body(BodyFault::Iterations { task, most: MOST_ITERATIONS }));
                            return None;
                        }
                        self.locals.insert(variable.clone(), value);
                        self.statements(body)?;
                        // Names that an iteration shadows get their old values back; assignments last.
                        self.names.truncate(names);
                    }
                    self.locals = locals;
                }
            }
        }
        Some(())
    }

    /// Binds a name to an operand. The first name of a computed value also becomes its name in generated code.
    fn name(&mut self, name: &str, operand: Operand) {
        if let Operand::Value(id) | Operand::Wide(id, _) = operand {
            if let Some(step) = id.index().checked_sub(self.params.len()) {
                self.steps[step].name.get_or_insert_with(|| name.to_owned());
            }
        }
        self.names.push((name.to_owned(), operand));
    }

    /// The operand that a name refers to.
    fn named(&self, name: &str) -> Option<Operand> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, operand)| *operand)
    }

    /// The shape of a value as its type states it.
    fn shape(&self, operand: Operand) -> Option<Shape> {
        match operand {
            Operand::Value(id) => Some(self.shapes[id.index()]),
            Operand::Wide(_, shape) => Some(shape),
            Operand::Number(_) | Operand::Size(_) | Operand::Index(_) => None,
        }
    }

    /// Binds a name to another operand of the same kind and size.
    fn assign(&mut self, name: &str, value: &BodyExpr, span: Span) -> Option<()> {
        let before = self.value(&BodyExpr::Name { name: name.to_owned(), span })?;
        let after = self.value(value)?;
        let fault = match (before, after) {
            (Operand::Number(_), Operand::Number(_)) => None,
            (Operand::Value(id) | Operand::Wide(id, _), Operand::Value(_) | Operand::Wide(..))
                if id.index() >= self.params.len() =>
            {
                let (before, after) = (self.shape(before)?, self.shape(after)?);
                let resized = (before.rows, before.cols) != (after.rows, after.cols);
                resized.then(|| BodyFault::Resized { name: name.to_owned(), before, after })
            }
            _ => Some(BodyFault::Assigned { name: name.to_owned() }),
        };
        if let Some(fault) = fault {
            self.errors.push(span, Finding::Body(fault));
            return None;
        }
        if let Some((_, operand)) = self.names.iter_mut().rev().find(|(known, _)| known == name) {
            *operand = after;
        }
        Some(())
    }

    fn value(&mut self, expr: &BodyExpr) -> Option<Operand> {
        match expr {
            BodyExpr::Name { name, span } => match (self.named(name), self.kernel.constants.constant(name)) {
                (Some(operand), _) => Some(operand),
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
                        let nearest = nearest(name, self.names.iter().map(|(known, _)| known.as_str()));
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
            BodyExpr::Index(expr) => {
                Some(Operand::Index(self.kernel.constants.evaluate(expr, &self.locals, self.errors)?))
            }
            BodyExpr::Call(call) => self.call(call),
            BodyExpr::Operation { name, operands, element, sizes, span } => {
                let mut values = Vec::with_capacity(operands.len());
                for (place, operand) in operands.iter().enumerate() {
                    // Of an operation that there is not, its operands are not the fault.
                    if !values.is_empty() && ops::named(name).next().is_none() {
                        return self.step(name, &values, (*element, None), *span);
                    }
                    values.push(self.operand(name, place, operand, *span)?);
                }
                let mut operands: Vec<Operand> = values;
                let written = sizes.first().map(|size| size.to_token_stream().to_string());
                let takes_size = ops::named(name).any(|operation| operation.operands.contains(&OperandKind::Size));
                for size in sizes.iter().filter(|_| takes_size) {
                    operands.push(Operand::Size(self.kernel.constants.evaluate(size, &self.locals, self.errors)?));
                }
                let number = |operand: &Operand| match operand {
                    Operand::Number(number) => Some(*number),
                    Operand::Value(_) | Operand::Wide(..) | Operand::Size(_) | Operand::Index(_) => None,
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
                let result = self.step(name, &operands, given, *span)?;
                if !takes_size && element.is_none() {
                    self.check_columns(name, sizes, &result, *span)?;
                }
                Some(result)
            }
        }
    }
}
