//! The kernel's file: constants, a function per task, a dispatch per kind of core, the entry point.

use super::context::{Context, number};
use super::cpp::{Function, Item, Stmt, braces, int, name, print};
use super::dispatch::{program, run};
use super::size::{AWAIT_TOKENS, CUBE_LIBRARY, PUTS, VECTOR_LIBRARY, size};
use super::{Names, cube, put, readiness, vector, views};
use crate::schedule::CoreKind;
use crate::validate::ValidSchedule;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::{CheckedGraph, Index};
use hpmoe_language::graph::SpaceKind;
use hpmoe_language::ids::TaskId;
use hpmoe_language::plan::Plan;
use hpmoe_language::units::Bytes;

/// Instruction caches of the cores.
const AIC_CACHE: Bytes = Bytes::kib(32);
const AIV_CACHE: Bytes = Bytes::kib(16);

/// The generated kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ascendc {
    /// The file.
    pub text: String,
    /// Estimated bytes of code that a matrix core runs.
    pub aic_bytes: Bytes,
    /// Estimated bytes of code that a vector core runs.
    pub aiv_bytes: Bytes,
}

/// Writes the kernel.
#[must_use]
pub fn ascendc(checked: &CheckedGraph, valid: &ValidSchedule, names: &Names<'_>) -> Ascendc {
    let context = Context::new(checked, valid.schedule(), names.file);
    let tasks: Vec<(TaskId, Item)> =
        context.graph.tasks.ids().filter_map(|id| Some((id, task(&context, id)?))).collect();
    let aic_bytes = code(&context, &tasks, CoreKind::Aic);
    let aiv_bytes = code(&context, &tasks, CoreKind::Aiv);
    let mut items = header(&context, aic_bytes, aiv_bytes);
    let mut inside = vec![Item::Blank, Item::Using("hpmoe".to_owned()), Item::Blank];
    inside.extend(constants(&context));
    inside.push(Item::Namespace("task".to_owned(), functions(&context, tasks)));
    inside.extend([Item::Blank, program(&context), Item::Blank]);
    items.extend([Item::Namespace(String::new(), inside), Item::Blank, entry(names.symbol)]);
    Ascendc { text: print(&items), aic_bytes, aiv_bytes }
}

fn header(context: &Context<'_>, aic: Bytes, aiv: Bytes) -> Vec<Item> {
    let graph = context.graph;
    let comment = format!(
        "{}::{}, a megakernel made by hpmoe from {}. Do not edit.\n\nEstimated code with the device library: AIC {aic} of \
         {AIC_CACHE}, AIV {aiv} of {AIV_CACHE}.",
        graph.kernel, graph.taskflow, context.file,
    );
    vec![Item::Comment(comment), Item::Include("hpmoe/kernel.h".to_owned()), Item::Blank]
}

/// Numbers that host and kernel agree on.
fn constants(context: &Context<'_>) -> Vec<Item> {
    let mut items = vec![Item::Comment("Tensors: number, columns, elements from row to row.".to_owned())];
    let tensors = context.graph.tensors.iter().map(|(id, tensor)| Item::Constant {
        ty: views::declared(context, id),
        name: context.tensor_names[id].clone(),
        value: braces("", vec![int(number(id)), int(tensor.columns), int(tensor.pitch)]),
        comment: String::new(),
    });
    items.push(Item::Namespace("tensor".to_owned(), tensors.collect()));
    items.push(Item::Blank);
    let numbered = |name: String, value: u64, comment: String| Item::Constant {
        ty: "uint32_t".to_owned(),
        name,
        value: int(value),
        comment,
    };
    let spaces: Vec<Item> =
        readiness::looked_up(context).into_iter().map(|(name, value)| numbered(name, value, String::new())).collect();
    if !spaces.is_empty() {
        items.push(Item::Comment("Row tiles that counters of other calls stand for.".to_owned()));
        items.extend([Item::Namespace("space".to_owned(), spaces), Item::Blank]);
    }
    let counters: Vec<Item> =
        readiness::numbered(context).into_iter().map(|(name, value, comment)| numbered(name, value, comment)).collect();
    if !counters.is_empty() {
        items.push(Item::Comment("Arrays of counters, and what one of them tells to be ready.".to_owned()));
        items.extend([Item::Namespace("counter".to_owned(), counters), Item::Blank]);
    }
    items
}

fn functions(context: &Context<'_>, tasks: Vec<(TaskId, Item)>) -> Vec<Item> {
    let mut items = vec![Item::Blank];
    for (id, function) in tasks {
        let task = &context.graph.tasks[id];
        items.push(Item::Comment(format!("{}  {}", task.label, context.place(task.line))));
        items.extend([function, Item::Blank]);
    }
    items
}

fn task(context: &Context<'_>, id: TaskId) -> Option<Item> {
    let task = &context.graph.tasks[id];
    let function = &context.task_names[id];
    Some(Item::Function(match &context.plans[id] {
        Plan::Cube(plan) => cube::cube(task, function, plan),
        // The first layout is that of puts.
        Plan::Vector(plan) => vector::vector(task, function, plan, number(id) + 1, &|line| context.place(line)),
        Plan::Put(plan) => put::put(task, function, plan, put_space(context, id)),
        Plan::Word => return None,
    }))
}

fn put_space(context: &Context<'_>, task: TaskId) -> SpaceKind {
    let phase = context.graph.phases.iter().find(|(_, phase)| phase.task == task);
    phase.map_or(SpaceKind::Sends, |(_, phase)| context.graph.spaces[phase.space].kind)
}

/// Every call of a task is a copy of it: the device compiler inlines.
fn code(context: &Context<'_>, tasks: &[(TaskId, Item)], unit: CoreKind) -> Bytes {
    let mut bytes = size(&[run(context, unit)]);
    for (_, phase) in context.graph.phases.iter().filter(|(id, _)| context.unit(*id) == unit) {
        let function = tasks.iter().filter(|(id, _)| *id == phase.task).map(|(_, function)| function.clone());
        bytes += size(&function.collect::<Vec<_>>());
    }
    let puts = context.graph.tasks.iter().any(|(_, task)| task.kind == TaskKind::Put);
    match unit {
        CoreKind::Aic => bytes + CUBE_LIBRARY,
        CoreKind::Aiv => {
            let waits = context.schedule.waits.iter().flat_map(|(_, waits)| waits);
            let once = waits.into_iter().any(|wait| wait.index == Index::OnceTiles);
            let some = |used: bool, size: Bytes| if used { size } else { Bytes(0) };
            bytes + VECTOR_LIBRARY + some(puts, PUTS) + some(once, AWAIT_TOKENS)
        }
    }
}

fn entry(symbol: &str) -> Item {
    let work = |core: &str| vec![Stmt::call(format!("Work<Program, {core}>"), vec![name("launch")])];
    // AscendC brings the parentheses of these conditions.
    Item::Function(Function {
        head: "extern \"C\" __global__ __aicore__ void".to_owned(),
        name: symbol.to_owned(),
        params: vec![("GM_ADDR".to_owned(), "launch".to_owned())],
        body: vec![
            Stmt::call("KERNEL_TASK_TYPE_DEFAULT", vec![name("KERNEL_TYPE_MIX_AIC_1_2")]),
            Stmt::IfMacro("ASCEND_IS_AIC".to_owned(), work("CubeCore")),
            Stmt::IfMacro("ASCEND_IS_AIV".to_owned(), work("VectorCore")),
        ],
    })
}
