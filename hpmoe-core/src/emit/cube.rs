//! Functions of tasks on matrix cores.

use super::cpp::{Function, Names, Stmt, braces, int, name};
use crate::graph::Task;
use crate::plan::CubePlan;

/// A function that calls the library's product with its plan.
pub(super) fn cube(task: &Task, function: &str, plan: &CubePlan) -> Function {
    let mut scope = Names::with(&["core"]);
    let names: Vec<String> = task.params.iter().map(|param| scope.new_name(&param.name)).collect();
    let mut params = vec![("CubeCore &".to_owned(), "core".to_owned())];
    params.extend(
        task.params
            .iter()
            .zip(&names)
            .map(|(param, name)| (format!("const View<{}> &", param.shape.element.ascendc()), name.clone())),
    );
    let products = plan.products.iter().map(|product| {
        let plan = braces("MatmulPlan", vec![int(product.rows), int(product.k_block), int(product.k_step)]);
        let [x, w, y] = [product.x, product.w, product.y].map(|param| name(&names[param]));
        Stmt::call("MatmulT", vec![name("core"), x, w, y, plan])
    });
    Function { head: "__aicore__ inline void".to_owned(), name: function.to_owned(), params, body: products.collect() }
}
