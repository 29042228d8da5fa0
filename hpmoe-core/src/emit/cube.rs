//! Functions of tasks on matrix cores.

use super::context::{Context, number};
use super::cpp::{Expr, Function, Scope, Stmt, braces, int, name};
use super::size::{PARTS, PRODUCT, TERM};
use super::views::view;
use crate::collections::SortedSet;
use crate::graph::{Phase, Task};
use crate::ids::PhaseId;
use crate::plan::{CubePlan, Plan, Product, Term};
use crate::schedule::product_ahead;
use crate::units::Bytes;
use hpmoe_kernels::RAGGED;
use hpmoe_kernels::op::{Contracted, ElementType};

/// A function that calls the library's product with its plan.
pub(super) fn cube(context: &Context<'_>, task: &Task, function: &str, plan: &CubePlan) -> Function {
    let mut scope = Scope::with(&["core"]);
    let names: Vec<String> = task.params.iter().map(|param| scope.new_name(&param.name)).collect();
    let mut params = vec![("CubeCore &".to_owned(), "core".to_owned())];
    params.extend(
        task.params
            .iter()
            .zip(&names)
            .map(|(param, name)| (format!("const View<{}> &", param.shape.element.ascendc()), name.clone())),
    );
    let products = plan.products.iter().map(|product| {
        let mut arguments = vec![name("core"), name(&names[product.y]), cut(product)];
        arguments.extend(product.terms.iter().map(|term| {
            let operands = vec![name(&names[term.x.0]), name(&names[term.w.0])];
            braces(kind(task, term), operands)
        }));
        let library = match product.onto {
            true if by_parts(context, task, product) => "MatmulOntoByParts",
            true => "MatmulOnto",
            false => "Matmul",
        };
        Stmt::call(library, arguments)
    });
    Function { head: "HPMOE_INLINE void".to_owned(), name: function.to_owned(), params, body: products.collect() }
}

/// The function `Ahead`. In phases that read ahead, it reads the weights of a tile's first product before the tile begins.
pub(super) fn ahead(context: &Context<'_>) -> Function {
    let reads = products_ahead(context).map(|(id, phase, product)| {
        let term = &product.terms[0];
        let operands = [term.x.0, term.w.0].map(|param| view(context, phase, &phase.accesses[param]));
        let term = braces(kind(&context.graph.tasks[phase.task], term), operands.into());
        let read = Stmt::call("ReadAhead", vec![name("core"), cut(product), term, name("stages")]);
        Stmt::If(name("tile").dot("phase").binary("==", int(number(id))), vec![read])
    });
    let body: Vec<Stmt> = reads.collect();
    let params = [("CubeCore &", "core"), ("const Tile &", "tile"), ("uint32_t", "stages")];
    let head = if body.is_empty() { "static HPMOE_INLINE void" } else { "static HPMOE_ROUTINE void" };
    Function {
        head: head.to_owned(),
        name: "Ahead".to_owned(),
        params: params
            .map(|(ty, name)| (ty.to_owned(), if body.is_empty() { String::new() } else { name.to_owned() }))
            .into(),
        body,
    }
}

/// The call with which a waiting tile reads as much of its weights as L1 has room for; `None` if its phase doesn't read ahead.
pub(super) fn read_ahead(context: &Context<'_>, id: PhaseId) -> Option<Stmt> {
    let reads = context.schedule.phases[id].reads_ahead;
    reads.then(|| Stmt::call("Ahead", ["core", "tile", "L1_STAGES"].map(name).into()))
}

/// The instances of `ReadAhead` that phases need: one for each element type and orientation of the operands.
pub(super) fn copies_ahead(context: &Context<'_>) -> SortedSet<String> {
    let kinds =
        products_ahead(context).map(|(_, phase, product)| kind(&context.graph.tasks[phase.task], &product.terms[0]));
    kinds.collect()
}

/// The first product of each phase that reads ahead.
fn products_ahead<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (PhaseId, &'c Phase, &'c Product)> {
    let product = |id, phase: &Phase| product_ahead(context.plan(phase.task), &context.schedule.phases[id]);
    context.graph.phases.iter().filter_map(move |(id, phase)| Some((id, phase, product(id, phase)?)))
}

/// Whether a product of an expert's rows is added part by part of a chunk. This is so if launches choose the number of chunks.
fn by_parts(context: &Context<'_>, task: &Task, product: &Product) -> bool {
    let rows = |(param, way): (usize, Contracted)| way == Contracted::Rows && task.params[param].shape.rows == RAGGED;
    context.graph.sizes.chunks_at_most.is_some() && product.onto && rows(product.terms[0].x)
}

fn cut(product: &Product) -> Expr {
    let Product { rows, k_block, k_step, relu, .. } = product;
    let relu = if *relu { ", true" } else { "" };
    name(format!("PlanOf<{rows}, {k_block}, {k_step}{relu}>")).call(Vec::new())
}

fn kind(task: &Task, term: &Term) -> String {
    let ways = [term.x.1, term.w.1].map(contracted).join(", ");
    match task.params[term.x.0].shape.element {
        ElementType::bf16 => format!("Term<{ways}>"),
        other => format!("Term<{ways}, {}>", other.ascendc()),
    }
}

/// The instances of the library's product that tasks need, and their sizes: one for each combination of terms (element type and orientation
/// of the operands) and result type.
pub(super) fn instances(context: &Context<'_>) -> SortedSet<(String, Bytes)> {
    let tasks = context.graph.tasks.iter().filter_map(|(id, task)| match context.plan(id) {
        Plan::Cube(plan) => Some((task, plan)),
        _ => None,
    });
    let products = tasks.flat_map(|(task, plan)| plan.products.iter().map(move |product| (task, product)));
    let instance = |(task, product): (&Task, &Product)| {
        let (out, terms) = (task.params[product.y].shape.element.ascendc(), product.terms.iter());
        let terms = terms.map(|term| {
            let element = task.params[term.x.0].shape.element;
            format!("{element} {}*{}", contracted(term.x.1), contracted(term.w.1))
        });
        let terms: Vec<String> = terms.collect();
        let parts = if by_parts(context, task, product) { " by parts" } else { "" };
        let size = PRODUCT + TERM * terms.len() as u64 + if parts.is_empty() { Bytes(0) } else { PARTS };
        (format!("{out} {}{parts} {}", product.onto, terms.join(" + ")), size)
    };
    products.map(instance).collect()
}

const fn contracted(way: Contracted) -> &'static str {
    match way {
        Contracted::Columns => "Contracted::Columns",
        Contracted::Rows => "Contracted::Rows",
    }
}
