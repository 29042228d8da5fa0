//! Functions of tasks with an external operator.

use super::context::Context;
use super::cpp::{Function, Item, Scope, Stmt, float, identifier, int, maybe_unused, name};
use super::expects::{expects, is_a_tile};
use crate::collections::SortedSet;
use crate::graph::{External, Task};
use crate::plan::{ExternalPlan, Plan};
use crate::syntax::Constant;
use hpmoe_kernels::op::TaskKind;

/// The includes of the external operators' files. The kernel's constants come before them, because operators may use these.
pub(super) fn files(context: &Context<'_>) -> Vec<Item> {
    let externals = context.graph.tasks.iter().filter_map(|(id, task)| match context.plan(id) {
        Plan::External(_) => task.external.as_ref(),
        _ => None,
    });
    let files: SortedSet<&String> = externals.map(|external| &external.file).collect();
    if files.is_empty() {
        return Vec::new();
    }
    let constants = context.graph.constants.iter().map(|(constant, value)| {
        let (ty, value) = match *value {
            Constant::Size(size) => ("uint32_t", int(size as u64)),
            Constant::Number(number) => ("float", float(number)),
        };
        Item::Constant { ty: ty.to_owned(), name: maybe_unused(&identifier(constant)), value, comment: String::new() }
    });
    let mut items = vec![Item::Comment("The kernel's constants, for external operators.".to_owned())];
    items.extend([Item::Namespace("kernel".to_owned(), constants.collect()), Item::Blank]);
    items.extend(files.into_iter().map(|file| Item::Include(file.clone())));
    items.push(Item::Blank);
    items
}

/// The function of a task with an external operator. It lends the core to the operator, with all pipes idle and no flag set, and takes it
/// back.
pub(super) fn external(task: &Task, plan: &ExternalPlan, function: &str) -> Function {
    let operator = task.external.as_ref().expect("the task has an external operator, because its plan says so");
    let mut scope = Scope::with(&["core"]);
    let names: Vec<String> = task.params.iter().map(|param| scope.new_name(&param.name)).collect();
    let core = if task.kind == TaskKind::Matrix { "CubeCore &" } else { "VectorCore &" };
    let mut params = vec![(core.to_owned(), "core".to_owned())];
    params.extend(
        task.params
            .iter()
            .zip(&names)
            .map(|(param, name)| (format!("const View<{}> &", param.shape.element.ascendc()), name.clone())),
    );
    let mut limits = vec![name(format!("\"{}\"", operator.function))];
    limits.extend(plan.memory.iter().map(|(_, bytes)| int(bytes.0)));
    let mut body: Vec<Stmt> =
        task.params.iter().zip(&names).map(|(param, name)| expects(is_a_tile(param, name))).collect();
    body.extend([
        Stmt::call("core.Lend", Vec::new()),
        Stmt::call("HPMOE_OPERATOR_BEGINS", limits),
        Stmt::call(format!("::{}", instance(task, operator)), names.iter().map(name).collect()),
        Stmt::call("HPMOE_OPERATOR_ENDS", Vec::new()),
        Stmt::call("core.TakeBack", Vec::new()),
    ]);
    Function { head: "HPMOE_INLINE void".to_owned(), name: function.to_owned(), params, body }
}

/// The operator's function as a call names it: the const arguments of the task's instance are its template arguments.
fn instance(task: &Task, operator: &External) -> String {
    let arguments: Vec<String> = task.arguments.iter().map(|(_, value)| value.to_string()).collect();
    match arguments.is_empty() {
        true => operator.function.clone(),
        false => format!("{}<{}>", operator.function, arguments.join(", ")),
    }
}
