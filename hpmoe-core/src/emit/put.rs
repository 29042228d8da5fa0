//! Functions of puts.

use super::cpp::{Expr, Function, Scope, Stmt, name};
use crate::graph::{SpaceKind, Task};
use crate::plan::PutPlan;

/// A function that calls the library's put with the tile and the parameters; for scattered rows also with their (token, k), and for
/// gathered rows with a list of (token, k) and the number of list entries per row of the source.
pub(super) fn put(task: &Task, function: &str, plan: &PutPlan, kind: SpaceKind) -> Function {
    let mut scope = Scope::with(&["core", "tile", "origins", "list", "per_row"]);
    let names: Vec<String> = task.params.iter().map(|param| scope.new_name(&param.name)).collect();
    let mut params =
        vec![("VectorCore &".to_owned(), "core".to_owned()), ("const Tile &".to_owned(), "tile".to_owned())];
    params.extend(
        task.params
            .iter()
            .zip(&names)
            .map(|(param, name)| (format!("const View<{}> &", param.shape.element.ascendc()), name.clone())),
    );
    let bytes = |param: usize| name("Bytes").call(vec![name(&names[param])]);
    let mut arguments: Vec<Expr> = vec![name("core"), name("tile"), bytes(plan.from)];
    let routine = if kind != SpaceKind::Arrivals {
        params.push(("uint64_t".to_owned(), "list".to_owned()));
        params.push(("uint32_t".to_owned(), "per_row".to_owned()));
        arguments.extend([name("list"), name("per_row"), bytes(plan.to)]);
        "PutGathered"
    } else {
        params.push(("const View<int32_t> &".to_owned(), "origins".to_owned()));
        arguments.extend([bytes(plan.to), name("origins")]);
        "PutScattered"
    };
    Function {
        head: "HPMOE_INLINE void".to_owned(),
        name: function.to_owned(),
        params,
        body: vec![Stmt::call(routine, arguments)],
    }
}
