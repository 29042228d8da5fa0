//! The dispatch of a core: a case for each phase, which waits, calls the task and signals.

use super::context::{Context, number};
use super::cpp::{Case, Expr, Function, Item, Stmt, int, name};
use super::cube::ahead;
use super::readiness::{signals, waits};
use super::views::{view, whole};
use crate::graph::{Phase, Rows, SpaceKind};
use crate::ids::PhaseId;
use crate::plan::Plan;
use crate::schedule::CoreKind;
use hpmoe_kernels::op::TaskKind;

/// The structure that the worker calls for each tile.
pub(super) fn program(context: &Context<'_>) -> Item {
    let ahead = Item::Function(ahead(context));
    let [cube, vector] = [CoreKind::Aic, CoreKind::Aiv].map(|kind| run(context, kind));
    Item::Struct("Program".to_owned(), vec![ahead, Item::Blank, cube, Item::Blank, vector])
}

/// The dispatch of one kind of core.
pub(super) fn run(context: &Context<'_>, kind: CoreKind) -> Item {
    let core = match (kind, context.time_stamps) {
        (CoreKind::Aic, false) => "CubeCore &",
        (CoreKind::Aiv, false) => "VectorCore &",
        (CoreKind::Aic, true) => "Stamped<CubeCore> &",
        (CoreKind::Aiv, true) => "Stamped<VectorCore> &",
    };
    let cases: Vec<Case> = context
        .graph
        .phases
        .ids()
        .filter(|&phase| context.core_kind(phase) == kind)
        .map(|id| case(context, id))
        .collect();
    let unnamed = cases.is_empty();
    let mut body = Vec::new();
    if !unnamed {
        body.push(Stmt::Switch(name("tile").dot("phase"), cases));
    }
    body.push(Stmt::Return(name("false")));
    let param = |ty: &str, name: &str| (ty.to_owned(), if unnamed { String::new() } else { name.to_owned() });
    Item::Function(Function {
        head: "static HPMOE_INLINE bool".to_owned(),
        name: "Run".to_owned(),
        params: vec![param(core, "core"), param("const Tile &", "tile")],
        body,
    })
}

fn case(context: &Context<'_>, id: PhaseId) -> Case {
    let phase = &context.graph.phases[id];
    let mut body = waits(context, id);
    if context.reuse.is_some_and(|reuse| reuse.frees == id) {
        body.push(Stmt::Expr(name("core").method("FreeChunk", vec![name("tile").dot("chunk")])));
    } else {
        body.push(task_call(context, id));
    }
    body.extend(origins(context, id));
    body.extend(signals(context, id));
    body.push(Stmt::Return(name("true")));
    let mut comments = vec![phase.source.clone(), context.place(phase.line)];
    if context.schedule.shares_next_fence(context.graph, id) {
        comments.push("The next case has the fence and the signals of this put as well.".to_owned());
    }
    Case { comments, value: number(id), body }
}

/// The statement that puts the origins of a tile's rows at the peer; `None` unless the graph makes this phase put them.
fn origins(context: &Context<'_>, id: PhaseId) -> Option<Stmt> {
    let phase = &context.graph.phases[id];
    phase.origins.filter(|origins| origins.write)?;
    Some(Stmt::call("PutOrigins", vec![name("core"), name("tile"), origins_of(context, phase)]))
}

fn origins_of(context: &Context<'_>, phase: &Phase) -> Expr {
    let origins = phase.origins.expect("the caller has checked that the phase has origins");
    let rows = vec![name("tile").dot("first"), name("tile").dot("rows")];
    whole(context, origins.tensor, origins.write).method("Rows", rows)
}

fn task_call(context: &Context<'_>, id: PhaseId) -> Stmt {
    let phase = &context.graph.phases[id];
    let mut arguments: Vec<Expr> = vec![name("core")];
    let put = context.graph.tasks[phase.task].kind == TaskKind::Put;
    if put {
        arguments.push(name("tile"));
    }
    arguments.extend(phase.accesses.iter().map(|access| view(context, phase, access)));
    if put {
        let gathers = phase.accesses.iter().any(|access| access.region.rows == Rows::Gather);
        let per_row = int(if gathers { context.graph.sizes.top_k as u64 } else { 1 });
        let of_tile = |list: &str| name("core").method(list, vec![name("tile")]);
        match (context.graph.spaces[phase.space].kind, phase.origins) {
            (SpaceKind::Arrivals, Some(_)) => arguments.push(origins_of(context, phase)),
            (SpaceKind::Arrivals, None) => arguments.push(of_tile("Origins")),
            (SpaceKind::RowTiles, _) => arguments.extend([of_tile("RowsOnce"), per_row]),
            _ => arguments.extend([of_tile("Sent"), per_row]),
        }
    }
    if matches!(context.plan(phase.task), Plan::Vector(plan) if plan.program.takes_ids()) {
        let (chunk, first) = (name("tile").dot("chunk"), name("tile").dot("first"));
        let top_k = int(context.graph.sizes.top_k as u64);
        arguments.push(name("core").method("Ids", vec![chunk, first, top_k]));
    }
    Stmt::call(format!("task::{}", context.task_names[phase.task]), arguments)
}
