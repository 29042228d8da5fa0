//! Instances of tasks: the const arguments of a call, written or inferred from its tiles, and the task with these arguments.

use super::arguments::LoweredArgument;
use super::calls::{Call, Lowering};
use super::loops::Nest;
use super::tasks;
use crate::finding::{CallFault, Finding};
use crate::graph::{Access, Rows, Task};
use crate::ids::TaskId;
use crate::names::ByName;
use crate::syntax::TaskFn;
use hpmoe_kernels::op::TaskKind;
use syn::Expr;

impl Lowering<'_> {
    /// The const arguments of a call, written or inferred from the sizes of its arguments.
    pub(super) fn const_arguments(
        &mut self,
        function: &TaskFn,
        call: &Call<'_>,
        nest: &Nest,
        places: &[LoweredArgument],
    ) -> Option<ByName<usize>> {
        let mut values = ByName::new();
        let (expected, given) = (function.generics.len(), call.generics.len());
        if given != 0 && given != expected {
            let fault = CallFault::ConstArity { task: function.name.clone(), expected, given };
            self.errors.push(call.span, Finding::Call(fault));
            return None;
        }
        let given = function.generics.iter().zip(call.generics).filter(|(_, expr)| !matches!(expr, Expr::Infer(_)));
        for (name, expr) in given {
            values.insert(name.clone(), self.kernel.constants.evaluate(expr, &ByName::new(), self.errors)?);
        }
        for (param, place) in function.params.iter().zip(places) {
            let (rows, cols) = place.inferable_size(self.graph, nest);
            for (dimension, size) in [(&param.rows, rows), (&param.cols, cols)] {
                let (Expr::Path(path), Some(size)) = (bare(dimension), size) else { continue };
                let name = path.path.get_ident().map(ToString::to_string);
                if let Some(name) = name.filter(|name| function.generics.contains(name) && !values.contains(name)) {
                    values.insert(name, size);
                }
            }
        }
        for name in &function.generics {
            if !values.contains(name) {
                let fault = CallFault::NotInferred {
                    task: function.name.clone(),
                    name: name.clone(),
                    generics: function.generics.clone(),
                };
                self.errors.push(call.span, Finding::Call(fault));
                return None;
            }
        }
        // In order of declaration, so that labels don't depend on the order of inference.
        Some(function.generics.iter().filter_map(|name| Some((name.clone(), *values.get(name)?))).collect())
    }

    /// The task with these const arguments. The device code of a put depends on its direction, so a put in both directions becomes two
    /// tasks. The code of any other task depends on which parameters have rows of slots, because slots may be empty.
    pub(super) fn instance(
        &mut self,
        function: &TaskFn,
        call: &Call<'_>,
        generics: &ByName<usize>,
        (returns, slots): (bool, &[bool]),
    ) -> Option<TaskId> {
        let wanted: Vec<(String, usize)> = generics.clone().into_iter().collect();
        let same = |task: &Task| task.name == function.name && task.arguments == wanted;
        let scatters = |access: &Access| access.write && access.region.rows == Rows::Scatter;
        let other_way = |id: TaskId| {
            let mut calls = self.graph.phases.iter().filter(|(_, phase)| phase.task == id);
            function.kind == TaskKind::Put && calls.any(|(_, phase)| phase.accesses.iter().any(scatters) != returns)
        };
        let known: Vec<TaskId> = self.graph.tasks.iter().filter(|(_, task)| same(task)).map(|(id, _)| id).collect();
        let of_slots =
            |id: TaskId| self.graph.tasks[id].params.iter().map(|param| param.slots).eq(slots.iter().copied());
        let is_put = function.kind == TaskKind::Put;
        if let Some(instance) = known.iter().copied().find(|id| !other_way(*id) && (is_put || of_slots(*id))) {
            return Some(instance);
        }
        let key = (function.name.clone(), generics.clone());
        if self.failed.contains(&key) {
            return None;
        }
        self.errors.within(Some(&function.name));
        let place = function.library.then_some(call.span);
        self.errors.shown_at(place);
        let task = tasks::instance(self.kernel, function, generics, self.errors);
        self.errors.shown_at(None);
        self.errors.within(Some(&self.flow.name));
        match task {
            Some(mut task) => {
                task.span = place.unwrap_or(task.span);
                for (param, slots) in task.params.iter_mut().zip(slots) {
                    param.slots = *slots;
                }
                if !known.is_empty() && is_put {
                    task.label.push_str(if returns { "_back" } else { "_there" });
                } else if !known.is_empty() {
                    let of_slots =
                        task.params.iter().filter(|param| param.slots).map(|param| format!("_{}", param.name));
                    let of_slots: String = of_slots.collect();
                    task.label.push_str(if of_slots.is_empty() { "_rows" } else { "_slots_of" });
                    task.label.push_str(&of_slots);
                }
                Some(self.graph.tasks.push(task))
            }
            None => {
                self.failed.push(key);
                None
            }
        }
    }
}

/// The expression in braces: `K` of `{ K }`. Any other expression is returned unchanged.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => bare(&paren.expr),
        Expr::Group(group) => bare(&group.expr),
        Expr::Block(block) => match block.block.stmts.as_slice() {
            [syn::Stmt::Expr(inner, None)] => bare(inner),
            _ => expr,
        },
        _ => expr,
    }
}
