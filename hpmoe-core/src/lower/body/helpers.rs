//! Calls of helper functions: the steps of their bodies stand in place of the calls.

use super::{Builder, Operand};
use crate::finding::{Finding, HelperFault};
use crate::names::ByName;
use crate::syntax::{BodyExpr, HelperCall, HelperFn, HelperType};
use hpmoe_kernels::op::OperandKind;
use proc_macro2::Span;
use syn::Expr;

impl<'a> Builder<'a> {
    /// Names the results of an expression.
    pub(super) fn name_results(&mut self, names: &[String], value: &BodyExpr, at: Span) -> Option<()> {
        let results = match value {
            BodyExpr::Call(call) => self.results(call)?,
            one => vec![self.value(one)?],
        };
        if results.len() != names.len() {
            return self.refuse_call(at, HelperFault::Results { results: results.len(), names: names.len() });
        }
        for (name, result) in names.iter().zip(results).filter(|(name, _)| *name != "_") {
            self.name(name, result);
        }
        Some(())
    }

    /// The only result of a helper function for the arguments of a call; refuses functions with several results.
    pub(super) fn call(&mut self, call: &HelperCall) -> Option<Operand> {
        match self.results(call)?[..] {
            [result] => Some(result),
            ref results => {
                let (name, results) = (call.function.clone(), results.len());
                self.refuse_call(call.span, HelperFault::Several { name, results })
            }
        }
    }

    /// The results of a helper function for the arguments of a call.
    fn results(&mut self, call: &HelperCall) -> Option<Vec<Operand>> {
        let kernel = self.kernel;
        let helper = kernel.helpers.iter().find(|helper| helper.name == call.function)?;
        if self.within.contains(&helper.name.as_str()) {
            return self.refuse_call(call.span, HelperFault::Recursive { name: helper.name.clone() });
        }
        if call.arguments.len() != helper.params.len() {
            let (name, expected, given) = (helper.name.clone(), helper.params.len(), call.arguments.len());
            return self.refuse_call(call.span, HelperFault::Arity { name, expected, given });
        }
        let arguments = call.arguments.iter().map(|argument| self.value(argument)).collect::<Option<Vec<_>>>()?;
        self.check_kinds(helper, call.span, &arguments)?;
        let sizes = self.sizes(helper, call, &arguments)?;
        self.check_sizes(helper, call.span, &sizes, &arguments)?;
        let names = helper.params.iter().map(|param| param.name.clone()).zip(arguments).collect();
        let (names, locals) = (std::mem::replace(&mut self.names, names), std::mem::replace(&mut self.locals, sizes));
        self.within.push(&helper.name);
        self.errors.within(Some(&helper.name));
        let results = self
            .statements(&helper.body)
            .and_then(|()| helper.results.iter().map(|result| self.value(result)).collect::<Option<Vec<_>>>())
            .filter(|results| self.returns(helper, results));
        self.within.pop();
        self.errors.within(Some(self.within.last().copied().unwrap_or(&self.function.name)));
        (self.names, self.locals) = (names, locals);
        results
    }

    /// The const arguments of a call, written or inferred from the sizes of its values.
    fn sizes(&mut self, helper: &HelperFn, call: &HelperCall, arguments: &[Operand]) -> Option<ByName<usize>> {
        let mut sizes = ByName::new();
        if !call.sizes.is_empty() && call.sizes.len() != helper.generics.len() {
            let (name, expected, given) = (helper.name.clone(), helper.generics.len(), call.sizes.len());
            return self.refuse_call(call.span, HelperFault::Sizes { name, expected, given });
        }
        let written = |(_, size): &(&String, &Expr)| !matches!(size, Expr::Infer(_));
        for (name, size) in helper.generics.iter().zip(&call.sizes).filter(written) {
            sizes.insert(name.clone(), self.kernel.constants.evaluate(size, &self.locals, self.errors)?);
        }
        for (param, argument) in helper.params.iter().zip(arguments) {
            let (HelperType::Value { rows, cols }, Some(shape)) = (&param.ty, self.shape(*argument)) else { continue };
            for (dimension, size) in [(rows, shape.rows), (cols, shape.cols)] {
                let name = generic(dimension).filter(|name| helper.generics.contains(name));
                if let Some(name) = name.filter(|name| !sizes.contains(name)) {
                    sizes.insert(name, size);
                }
            }
        }
        match helper.generics.iter().find(|name| !sizes.contains(name)) {
            Some(size) => {
                let (name, size) = (helper.name.clone(), size.clone());
                self.refuse_call(call.span, HelperFault::NotInferred { name, size })
            }
            None => Some(sizes),
        }
    }

    /// Refuses tiles as arguments, numbers for parameters that take values, and values for parameters that take numbers.
    fn check_kinds(&mut self, helper: &HelperFn, at: Span, arguments: &[Operand]) -> Option<()> {
        for (param, argument) in helper.params.iter().zip(arguments) {
            let (name, param_name) = (helper.name.clone(), param.name.clone());
            let kind = self.shape(*argument).map(|shape| shape.kind);
            let fault = match (&param.ty, kind) {
                (HelperType::Number, None) | (HelperType::Value { .. }, Some(OperandKind::Value)) => continue,
                (HelperType::Number, Some(_)) => HelperFault::TakesNumber { name, param: param_name },
                (HelperType::Value { .. }, kind) => {
                    HelperFault::TakesValue { name, param: param_name, tile: kind.is_some() }
                }
            };
            return self.refuse_call(at, fault);
        }
        Some(())
    }

    /// Refuses values whose sizes differ from the parameters', as rustc does, because tools can run without rustc.
    fn check_sizes(&mut self, helper: &HelperFn, at: Span, sizes: &ByName<usize>, arguments: &[Operand]) -> Option<()> {
        for (param, argument) in helper.params.iter().zip(arguments) {
            let (HelperType::Value { rows, cols }, Some(shape)) = (&param.ty, self.shape(*argument)) else { continue };
            let rows = self.kernel.constants.evaluate(rows, sizes, self.errors)?;
            let cols = self.kernel.constants.evaluate(cols, sizes, self.errors)?;
            let (stated, given) = ([rows, cols], [shape.rows, shape.cols]);
            if stated != given {
                let (name, param) = (helper.name.clone(), param.name.clone());
                return self.refuse_call(at, HelperFault::Size { name, param, stated, given });
            }
        }
        Some(())
    }

    /// Whether the results have the types that the function states; if not, refuses the function.
    fn returns(&mut self, helper: &HelperFn, results: &[Operand]) -> bool {
        let (types, at) = &helper.returns;
        let name = || helper.name.clone();
        for (ty, result) in types.iter().zip(results) {
            let fault = match (ty, self.shape(*result)) {
                (HelperType::Number, None) => continue,
                (HelperType::Number, Some(_)) => HelperFault::ReturnedKind { name: name(), number: false },
                (HelperType::Value { .. }, None) => HelperFault::ReturnedKind { name: name(), number: true },
                (HelperType::Value { rows, cols }, Some(shape)) => {
                    let mut size = |size| self.kernel.constants.evaluate(size, &self.locals, self.errors);
                    let (Some(rows), Some(cols)) = (size(rows), size(cols)) else { return false };
                    if [rows, cols] == [shape.rows, shape.cols] {
                        continue;
                    }
                    let (stated, made) = ([rows, cols], [shape.rows, shape.cols]);
                    HelperFault::ReturnedSize { name: name(), stated, made }
                }
            };
            self.errors.push(*at, Finding::Helper(fault));
            return false;
        }
        true
    }

    fn refuse_call<T>(&mut self, at: Span, fault: HelperFault) -> Option<T> {
        self.errors.push(at, Finding::Helper(fault));
        None
    }
}

/// The const parameter of a size that is a plain name.
fn generic(size: &Expr) -> Option<String> {
    match size {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}
