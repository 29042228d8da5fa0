//! The kernel's file: constants, a function per task, a dispatch per kind of core, the entry point.

use super::context::{Context, number};
use super::cpp::{Function, Item, Stmt, braces, int, maybe_unused, name, print};
use super::dispatch::{program, run};
use super::size::{
    AWAIT_ROUTE, AWAIT_TOKENS, CALLED, CUBE_ENDS, CUBE_LIBRARY, DISPATCH, FULL_SLOTS, LENT, PUTS, READ_AHEAD,
    SLOTS_SENT, STAMPS, VECTOR_ENDS, VECTOR_LIBRARY, of_function, out_of_line, size,
};
use super::{Machine, Names, cube, external, put, readiness, route, routines, vector, views};
use crate::analyze::{CheckedGraph, Grid, Index};
use crate::graph::SpaceKind;
use crate::ids::TaskId;
use crate::plan::Plan;
use crate::schedule::CoreKind;
use crate::units::Bytes;
use crate::validate::ValidSchedule;
use hpmoe_kernels::op::TaskKind;

/// The size of a core's instruction cache.
const fn cache(kind: CoreKind) -> Bytes {
    match kind {
        CoreKind::Aic => Bytes::kib(32),
        CoreKind::Aiv => Bytes::kib(16),
    }
}

/// Estimated size of the code that a core runs, including the device library, but without the code of external operators. All messages and
/// comments take sizes from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeBytes {
    /// Code that loops: the queue, the tasks and the routines that tasks call.
    pub loops: Bytes,
    /// Code that runs once per launch: the kernel's start and end, and the code that makes a route.
    pub once: Bytes,
}

impl CodeBytes {
    /// The sum of both sizes.
    #[must_use]
    pub fn whole(&self) -> Bytes {
        self.loops + self.once
    }

    /// Both sizes as text, for a comment or a report.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} in loops, {} once per launch", self.loops, self.once)
    }

    /// A warning if the loops of a core of this kind don't fit its instruction cache; `None` if they do.
    fn beyond(&self, kind: CoreKind) -> Option<String> {
        let (name, holds, lines) = (name_of(kind), cache(kind), self.loops.0.div_ceil(CODE_LINE));
        let all = lines as f64 * CODE_LINE_NS / 1e3;
        (self.loops > holds).then(|| {
            format!(
                "the code that loops on a {name} core is estimated at {}, but its instruction cache holds {holds}. This is not an \
                 error: a core that alternates between all tasks fetches code again, up to {lines} times {CODE_LINE} B, which takes \
                 {all:.1} µs if it is in L2; fewer different tasks, or two taskflows instead of one, make the code smaller",
                self.loops
            )
        })
    }
}

/// Bytes of code that a core fetches at a time. `CODE_LINE_NS` is the time of such a fetch from L2: a round trip, measured on Ascend A2.
const CODE_LINE: u64 = 512;
const CODE_LINE_NS: f64 = 110.0;

const fn name_of(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::Aic => "matrix",
        CoreKind::Aiv => "vector",
    }
}

/// The generated kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ascendc {
    /// The text of the kernel's file.
    pub text: String,
    /// Estimated code sizes of a matrix core.
    pub aic: CodeBytes,
    /// Estimated code sizes of a vector core.
    pub aiv: CodeBytes,
    /// The features that the kernel's route code needs, as a C++ expression of `routing/needs.h`; `None` if the kernel does
    /// not make a route.
    pub route_needs: Option<String>,
}

impl Ascendc {
    /// A warning for each kind of core for which [`CodeBytes::loops`] exceeds the instruction cache.
    #[must_use]
    pub fn beyond_the_caches(&self) -> Vec<String> {
        [(CoreKind::Aic, self.aic), (CoreKind::Aiv, self.aiv)]
            .into_iter()
            .filter_map(|(kind, code)| code.beyond(kind))
            .collect()
    }
}

/// Generates the kernel's AscendC file for `machine`, with the estimated sizes of its code.
#[must_use]
pub fn ascendc(checked: &CheckedGraph, valid: &ValidSchedule, names: &Names<'_>, machine: Machine) -> Ascendc {
    let context = Context::new(checked, valid.schedule(), names, machine);
    let tasks: Vec<(TaskId, Function)> =
        context.graph.tasks.ids().filter_map(|id| Some((id, task(&context, id)?))).collect();
    let route = route::code(context.graph, context.schedule);
    let made = route.as_ref().map(|route| route.bytes);
    let (aic, aic_routines) = code(&context, &tasks, CoreKind::Aic, made.map(|_| AWAIT_ROUTE));
    let (aiv, aiv_routines) = code(&context, &tasks, CoreKind::Aiv, made);
    let tasks = tasks.into_iter().map(|(id, function)| {
        let routine = aic_routines.contains(&id) || aiv_routines.contains(&id);
        (id, if routine { Function { head: "HPMOE_ROUTINE void".to_owned(), ..function } } else { function })
    });
    let tasks: Vec<(TaskId, Function)> = tasks.collect();
    let mut items = header(&context, aic, aiv);
    items.extend(external::files(&context));
    let mut inside = vec![Item::Blank, Item::Using("hpmoe".to_owned()), Item::Blank];
    inside.extend(constants(&context));
    inside.push(Item::Namespace("task".to_owned(), functions(&context, tasks)));
    inside.extend([Item::Blank, program(&context), Item::Blank]);
    let route_needs = route.map(|route| route.needs);
    let entry = entry(names.symbol, route_needs.as_deref(), names.time_stamps);
    items.extend([Item::Namespace(String::new(), inside), Item::Blank, entry]);
    Ascendc { text: print(&items), aic, aiv, route_needs }
}

fn header(context: &Context<'_>, aic: CodeBytes, aiv: CodeBytes) -> Vec<Item> {
    let graph = context.graph;
    let estimated = |kind: CoreKind, code: CodeBytes| {
        format!("Estimated code of a {} core (cache {}): {}.", name_of(kind), cache(kind), code.words())
    };
    let comment = format!(
        "{}::{}, a megakernel made by hpmoe from {}. Do not edit.\n\n{}\n{}",
        graph.kernel,
        graph.taskflow,
        context.file,
        estimated(CoreKind::Aic, aic),
        estimated(CoreKind::Aiv, aiv),
    );
    let comment = match external::files(context).is_empty() {
        true => comment,
        false => format!("{comment}\nThe code of external operators comes on top."),
    };
    let mut items = vec![Item::Comment(comment), Item::Include("hpmoe/kernel.h".to_owned())];
    if graph.route.is_some() {
        items.push(Item::Include("hpmoe/routing/kernel.h".to_owned()));
    }
    if context.time_stamps {
        items.push(Item::Include("hpmoe/stamps.h".to_owned()));
    }
    items.push(Item::Blank);
    items
}

/// The constants in the kernel's file: the numbers of tensors, spaces and counters that host and kernel share.
fn constants(context: &Context<'_>) -> Vec<Item> {
    let mut items = vec![Item::Comment("Tensors: number, columns, elements from row to row.".to_owned())];
    // What a route is made of, and what keeps it, are known to the device library by their numbers.
    let of_route = |id| context.graph.route.as_ref().is_some_and(|route| route.ids == id || route.keeps == Some(id));
    let tensors = context.graph.tensors.iter().map(|(id, tensor)| Item::Constant {
        ty: views::declared(context, id),
        name: match of_route(id) {
            true => maybe_unused(&context.tensor_names[id]),
            false => context.tensor_names[id].clone(),
        },
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
    let vector = context.graph.tasks.ids().filter(|&id| matches!(context.plan(id), Plan::Vector(_)));
    let layouts: Vec<String> = vector.map(|id| context.task_names[id].clone()).collect();
    if !layouts.is_empty() {
        items.push(Item::Comment("Tasks that divide UB among their buffers, each in its own way.".to_owned()));
        items.extend([Item::Namespace("layout".to_owned(), vec![Item::Enum(layouts)]), Item::Blank]);
    }
    items
}

fn functions(context: &Context<'_>, tasks: Vec<(TaskId, Function)>) -> Vec<Item> {
    let mut items = vec![Item::Blank];
    for (id, function) in tasks {
        let task = &context.graph.tasks[id];
        let by = match context.plan(id) {
            Plan::External(_) => task.external.as_ref().map(|external| format!(" by {}", external.file)),
            _ => None,
        };
        let by = by.unwrap_or_default();
        items.push(Item::Comment(format!("{}{by}  {}", task.label, context.place(task.line))));
        items.extend([Item::Function(function), Item::Blank]);
    }
    items
}

fn task(context: &Context<'_>, id: TaskId) -> Option<Function> {
    let task = &context.graph.tasks[id];
    let function = &context.task_names[id];
    Some(match context.plan(id) {
        Plan::Cube(plan) => cube::cube(context, task, function, plan),
        Plan::Vector(plan) => vector::vector(task, function, plan, &|line| context.place(line)),
        Plan::Put(plan) => put::put(task, function, plan, put_space(context, id)),
        Plan::Word => return None,
        Plan::External(plan) => external::external(task, plan, function),
    })
}

fn put_space(context: &Context<'_>, task: TaskId) -> SpaceKind {
    let phase = context.graph.phases.iter().find(|(_, phase)| phase.task == task);
    phase.map_or(SpaceKind::Sends, |(_, phase)| context.graph.spaces[phase.space].kind)
}

/// The code sizes of a core of this kind, and the tasks that are kept out of line. Any other task is inlined at each call, so everything
/// that is constant for a call is a constant in its copy. If these copies don't fit the instruction cache, the tasks that save most are
/// kept out of line. `route` is the size of the code that makes a route, if the kernel makes one.
fn code(
    context: &Context<'_>,
    tasks: &[(TaskId, Function)],
    kind: CoreKind,
    route: Option<Bytes>,
) -> (CodeBytes, Vec<TaskId>) {
    let calls = |id: TaskId| {
        let phases = context.graph.phases.iter().filter(|(phase, _)| context.core_kind(*phase) == kind);
        phases.filter(|(_, phase)| phase.task == id).count() as u64
    };
    let dispatch = size(&[run(context, kind)]);
    let called = tasks.iter().filter(|(id, _)| calls(*id) > 0).map(|(_, function)| function);
    let mut loops = library(context, kind) + routines::bytes(called);
    loops += if kind == CoreKind::Aiv { Bytes(dispatch.0 * DISPATCH.0 / DISPATCH.1) } else { dispatch };
    let mut savings = Vec::new();
    for (id, function) in tasks {
        let lent = if matches!(context.plan(*id), Plan::External(_)) { LENT } else { Bytes(0) };
        let (calls, copy) = (calls(*id), of_function(function) + lent);
        loops += copy * calls;
        if calls > 1 && copy * (calls - 1) > CALLED {
            savings.push((copy * (calls - 1) - CALLED, *id));
        }
    }
    let (saved, out_of_line) = out_of_line(savings, Bytes(loops.0.saturating_sub(cache(kind).0)));
    let once = route.unwrap_or(Bytes(0)) + if kind == CoreKind::Aic { CUBE_ENDS } else { VECTOR_ENDS };
    (CodeBytes { loops: loops - saved, once }, out_of_line)
}

fn library(context: &Context<'_>, kind: CoreKind) -> Bytes {
    let stamps = if context.time_stamps { STAMPS } else { Bytes(0) };
    let puts = context.graph.tasks.iter().any(|(_, task)| task.kind == TaskKind::Put);
    let some = |used: bool, size: Bytes| if used { size } else { Bytes(0) };
    let phases = context.graph.phases.ids().filter(|phase| context.core_kind(*phase) == kind);
    let waits: Vec<_> = phases.flat_map(|phase| &context.schedule.phases[phase].waits).collect();
    let counts_slots = |of_block: bool| {
        let grid = |counter| matches!(context.counters[counter].grid, Grid::Blocks { .. });
        waits.iter().any(|wait| wait.need.per_slot > 0 && grid(wait.counter) == of_block)
    };
    let slots = some(counts_slots(true), FULL_SLOTS) + some(counts_slots(false), SLOTS_SENT);
    match kind {
        CoreKind::Aic => {
            let products = cube::instances(context).into_iter();
            let ahead = READ_AHEAD * cube::copies_ahead(context).into_iter().count() as u64;
            let reads = size(&[Item::Function(cube::ahead(context))]);
            CUBE_LIBRARY + stamps + slots + ahead + reads + products.map(|(_, size)| size).sum()
        }
        CoreKind::Aiv => {
            let once = waits.iter().any(|wait| wait.index == Index::OnceTiles);
            VECTOR_LIBRARY + stamps + slots + some(puts, PUTS) + some(once, AWAIT_TOKENS)
        }
    }
}

fn entry(symbol: &str, route_needs: Option<&str>, time_stamps: bool) -> Item {
    let work = |core: &str| {
        let route = route_needs.map(|needs| format!("KernelRoute<{needs}>"));
        let work = match (time_stamps, route) {
            (false, None) => format!("Work<Program, {core}>"),
            (false, Some(route)) => format!("Work<Program, {core}, {route}>"),
            (true, None) => format!("Work<StampedProgram<Program>, Stamped<{core}>>"),
            (true, Some(route)) => {
                format!("Work<StampedProgram<Program>, Stamped<{core}>, StampedRoute<{route}>>")
            }
        };
        vec![Stmt::call(work, vec![name("launch")])]
    };
    // AscendC brings the parentheses of these conditions.
    Item::Function(Function {
        head: "extern \"C\" __global__ __mix__(1, 2) void".to_owned(),
        name: symbol.to_owned(),
        params: vec![("GM_ADDR".to_owned(), "launch".to_owned())],
        body: vec![
            Stmt::IfMacro("ASCEND_IS_AIC".to_owned(), work("CubeCore")),
            Stmt::IfMacro("ASCEND_IS_AIV".to_owned(), work("VectorCore")),
        ],
    })
}
