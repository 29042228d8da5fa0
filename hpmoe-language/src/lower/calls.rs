//! Statements of a taskflow: each task call becomes a phase.

use super::arguments::{self, Index, Place};
use super::chunks::{self, Chunks};
use super::loops::{self, Items, Nest, Side, Variable};
use super::order::{self, Loop, Written};
use super::tails::{self, Uneven};
use super::{tasks, tensors};
use crate::finding::{CallFault, Errors, Finding, Remote};
use crate::graph::{Access, Columns, Origins, Phase, RowKind, Rows, SpaceKind, Storage, Task, TaskGraph};
use crate::ids::TaskId;
use crate::names::nearest;
use crate::syntax::{Accessor, Argument, Flow, Kernel, Over, Stmt, TaskFn};
use hpmoe_kernels::op::{Device, TaskKind};
use indexmap::IndexMap;
use proc_macro2::Span;
use syn::Expr;

/// A copy to a matrix core steps from row to row by a 16-bit number of elements.
const MOST_STEP: u32 = 65_535;

/// Lowers the taskflow's statements.
pub(super) fn statements(
    kernel: &Kernel,
    flow: &Flow,
    chunks: Option<&Chunks>,
    graph: &mut TaskGraph,
    errors: &mut Errors,
) {
    Lowering {
        kernel,
        flow,
        chunks,
        graph,
        errors,
        scope: Vec::new(),
        loops: Vec::new(),
        count: 0,
        written: Vec::new(),
        gives_back: gives_back(&flow.body),
        failed: Vec::new(),
    }
    .block(&flow.body);
}

struct Lowering<'a> {
    kernel: &'a Kernel,
    flow: &'a Flow,
    chunks: Option<&'a Chunks>,
    graph: &'a mut TaskGraph,
    errors: &'a mut Errors,
    scope: Vec<Variable>,
    /// The same loops, told apart from others of the same variable.
    loops: Vec<Loop>,
    /// Loops so far.
    count: u32,
    /// What the calls so far write.
    written: Vec<Written>,
    /// Whether some put gives rows back to the slots they come from.
    gives_back: bool,
    /// Instances that have been found faulty, so that each fault is said once.
    failed: Vec<(String, IndexMap<String, usize>)>,
}

fn gives_back(statements: &[Stmt]) -> bool {
    statements.iter().any(|statement| match statement {
        Stmt::Let(_) => false,
        Stmt::For { body, .. } => gives_back(body),
        Stmt::Call { arguments, .. } => {
            let mut accessors = arguments.iter().flat_map(|argument| &argument.accessors);
            accessors.any(|(accessor, _)| matches!(accessor, Accessor::Scatter(_)))
        }
    })
}

/// A call as written.
struct Call<'a> {
    task: &'a str,
    generics: &'a [Expr],
    arguments: &'a [Argument],
    source: &'a str,
    span: Span,
}

impl Lowering<'_> {
    fn block(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match statement {
                Stmt::Let(declared) => {
                    let made = tensors::local(self.kernel, declared, self.graph, self.errors);
                    if let (Some(chunks), Some(made)) = (self.chunks, made) {
                        chunks::local(chunks, &self.graph.tensors[made], self.errors);
                    }
                }
                // Each chunk has tensors of its own, so that no iteration writes what another one reads.
                Stmt::For { over: Over::Chunks { .. }, body, .. } => self.block(body),
                Stmt::For { variable, span, over, body } => {
                    let head = loops::variable(self.kernel, &self.scope, variable, *span, over, self.errors);
                    if let Some(head) = head {
                        self.scope.push(head);
                        self.count += 1;
                        self.loops.push(Loop { id: self.count, name: variable.clone() });
                        self.block(body);
                        self.loops.pop();
                        self.scope.pop();
                    }
                }
                Stmt::Call { task, generics, arguments, source, span } => {
                    self.call(&Call { task, generics, arguments, source, span: *span });
                }
            }
        }
    }

    fn call(&mut self, call: &Call<'_>) -> Option<()> {
        let Some(function) = self.kernel.tasks.iter().find(|function| function.name == call.task) else {
            let nearest = nearest(call.task, self.kernel.tasks.iter().map(|function| function.name.as_str()));
            self.errors.push(call.span, Finding::Unknown { what: "task", name: call.task.to_owned(), nearest });
            return None;
        };
        if function.params.len() != call.arguments.len() {
            self.errors.push(
                call.span,
                Finding::Arity {
                    task: call.task.to_owned(),
                    expected: function.params.len(),
                    found: call.arguments.len(),
                },
            );
            return None;
        }
        let nest = Nest::of(&self.scope, call.span, self.errors)?;
        if let (TaskKind::Matrix, Items::Sends { send, .. }) = (function.kind, &nest.items) {
            // A matrix core counts tiles, and how many pieces a send has does not follow from its rows.
            let fault = CallFault::MatrixTaskOfSend { task: function.name.clone(), send: send.clone() };
            self.errors.push(call.span, Finding::Call(fault));
            return None;
        }
        let places: Vec<Option<Place>> = call
            .arguments
            .iter()
            .map(|argument| arguments::place(self.kernel, self.graph, &nest, argument, self.errors))
            .collect();
        let places: Vec<Place> = places.into_iter().collect::<Option<_>>()?;
        let generics = self.const_arguments(function, call, &nest, &places)?;
        let returns = places.iter().zip(call.arguments).any(|(place, it)| it.write && place.rows == Rows::Scatter);
        let task = self.instance(function, &generics, returns)?;
        self.check_arguments(task, call, &nest, &places)?;
        let side = self.executing_side(function, call, &places)?;
        if let Some(chunks) = self.chunks {
            for (number, (argument, place)) in call.arguments.iter().zip(&places).enumerate() {
                let adds = tasks::adds(&self.graph.tasks[task], number);
                let used = chunks::Use { argument, place, remote: place.side != side, adds };
                chunks::argument(chunks, self.graph, &used, self.errors)?;
            }
        }
        if nest.sends_once() && side == Side::Owner {
            let fault = CallFault::OnceArrivals { task: function.name.clone() };
            self.errors.push(call.span, Finding::Call(fault));
            return None;
        }
        let by_route = |argument: &&Argument| {
            argument.accessors.iter().any(|(accessor, _)| {
                matches!(accessor, Accessor::Gather(_) | Accessor::GatherTile(..) | Accessor::Scatter(_))
            })
        };
        if let (true, Some(argument)) = (function.kind != TaskKind::Put, call.arguments.iter().find(by_route)) {
            let fault = CallFault::NotAPut { task: function.name.clone() };
            self.errors.push(argument.span, Finding::Call(fault));
            return None;
        }
        self.check_order(task, call, &nest, &places);
        self.phase(task, call, &nest, &places, side)
    }

    /// Const arguments, given or inferred from the widths of the arguments.
    fn const_arguments(
        &mut self,
        function: &TaskFn,
        call: &Call<'_>,
        nest: &Nest,
        places: &[Place],
    ) -> Option<IndexMap<String, usize>> {
        let mut values = IndexMap::new();
        let given = function.generics.iter().zip(call.generics).filter(|(_, expr)| !matches!(expr, Expr::Infer(_)));
        for (name, expr) in given {
            values.insert(name.clone(), self.kernel.constants.evaluate(expr, &IndexMap::new(), self.errors)?);
        }
        for (param, place) in function.params.iter().zip(places) {
            let (rows, cols) = place.size(self.graph, nest);
            for (dimension, size) in [(&param.rows, rows), (&param.cols, cols)] {
                if let (Expr::Path(path), Some(size)) = (bare(dimension), size)
                    && let Some(name) = path.path.get_ident().map(ToString::to_string)
                    && function.generics.contains(&name)
                {
                    values.entry(name).or_insert(size);
                }
            }
        }
        for name in &function.generics {
            if !values.contains_key(name) {
                let fault = CallFault::NotInferred { task: function.name.clone(), name: name.clone() };
                self.errors.push(call.span, Finding::Call(fault));
                return None;
            }
        }
        // In order of declaration, so that labels don't depend on the order of inference.
        Some(function.generics.iter().map(|name| (name.clone(), values[name])).collect())
    }

    /// The task with these const arguments. What a put does on the device depends on the way it goes, so that one that
    /// goes both ways is two tasks.
    fn instance(&mut self, function: &TaskFn, generics: &IndexMap<String, usize>, returns: bool) -> Option<TaskId> {
        let wanted: Vec<(String, usize)> = generics.iter().map(|(name, value)| (name.clone(), *value)).collect();
        let same = |task: &Task| task.name == function.name && task.arguments == wanted;
        let scatters = |access: &Access| access.write && access.region.rows == Rows::Scatter;
        let other_way = |id: TaskId| {
            let mut calls = self.graph.phases.iter().filter(|(_, phase)| phase.task == id);
            function.kind == TaskKind::Put && calls.any(|(_, phase)| phase.accesses.iter().any(scatters) != returns)
        };
        let known: Vec<TaskId> = self.graph.tasks.iter().filter(|(_, task)| same(task)).map(|(id, _)| id).collect();
        if let Some(found) = known.iter().copied().find(|id| !other_way(*id)) {
            return Some(found);
        }
        let key = (function.name.clone(), generics.clone());
        if self.failed.contains(&key) {
            return None;
        }
        self.errors.within(Some(&function.name));
        let task = tasks::instance(self.kernel, function, generics, self.errors);
        self.errors.within(Some(&self.flow.name));
        match task {
            Some(mut task) => {
                if !known.is_empty() {
                    task.label.push_str(if returns { "_back" } else { "_there" });
                }
                Some(self.graph.tasks.push(task))
            }
            None => {
                self.failed.push(key);
                None
            }
        }
    }

    fn check_arguments(&mut self, task: TaskId, call: &Call<'_>, nest: &Nest, places: &[Place]) -> Option<()> {
        let before = self.errors.len();
        let task = &self.graph.tasks[task];
        for ((param, place), argument) in task.params.iter().zip(places).zip(call.arguments) {
            let tensor = &self.graph.tensors[place.tensor];
            let mut differs = |what, expected: String, found: String| {
                self.errors.push(
                    argument.span,
                    Finding::Argument { task: task.name.clone(), param: param.name.clone(), expected, found, what },
                );
            };
            if tensor.element != param.shape.element {
                differs("element type", param.shape.element.to_string(), tensor.element.to_string());
            }
            let (rows, cols) = place.size(self.graph, nest);
            if let Some(rows) = rows.filter(|rows| *rows != param.shape.rows) {
                differs("rows", format!("{} rows", param.shape.rows), format!("{rows} rows"));
            }
            if let Some(cols) = cols.filter(|cols| *cols != param.shape.cols) {
                differs("columns", format!("{} columns", param.shape.cols), format!("{cols} columns"));
            }
            if argument.write != param.write {
                let word = |write: bool| if write { "`&mut`".to_owned() } else { "`&`".to_owned() };
                differs("mutability", word(param.write), word(argument.write));
            }
            if argument.write && !tensor.writable {
                let finding = Finding::ReadOnly { tensor: tensor.name.clone(), declared: tensor.span.into() };
                self.errors.push(argument.span, finding);
            }
            let said = |finding: &Finding| matches!(finding, Finding::LongRow { tensor: of, .. } if *of == tensor.name);
            if task.kind == TaskKind::Matrix && !param.write && tensor.pitch > MOST_STEP && !self.errors.any(said) {
                let finding = Finding::LongRow { tensor: tensor.name.clone(), step: tensor.pitch, most: MOST_STEP };
                self.errors.push(argument.span, finding);
            }
            let columns = (place.cols, param.shape.cols, tensor.columns, "columns");
            let expert_rows = match tensor.rows {
                RowKind::Expert { rows } | RowKind::Matrix { rows } => (place.tile, param.shape.rows, rows, "rows"),
                _ => (None, 1, 1, "rows"),
            };
            for (index, size, extent, what) in [columns, expert_rows] {
                let last = match index {
                    None => continue,
                    Some(Index::Fixed(index)) => index,
                    Some(Index::Range(range)) => nest.ranges[range as usize].1 - 1,
                };
                let size = u32::try_from(size).unwrap_or(u32::MAX);
                if u64::from(last) * u64::from(size) >= u64::from(extent) {
                    let fixed = matches!(index, Some(Index::Fixed(_)));
                    let index = if fixed { last } else { extent.div_ceil(size) };
                    let tensor = tensor.name.clone();
                    self.errors.push(argument.span, Finding::EmptyTile { tensor, index, size, extent, what, fixed });
                }
            }
        }
        if self.errors.len() > before {
            return None;
        }
        let uneven = tails::uneven(self.graph, nest, task, places);
        if let Some(Uneven { operation, span, left, right }) = uneven {
            let task = task.name.clone();
            self.errors.push(call.span, Finding::Uneven { task, operation, at: span.into(), left, right });
            return None;
        }
        Some(())
    }

    /// Every iteration reads what it, or an earlier one, has written.
    fn check_order(&mut self, task: TaskId, call: &Call<'_>, nest: &Nest, places: &[Place]) {
        let params = &self.graph.tasks[task].params;
        for (param, place) in params.iter().zip(places).filter(|(param, _)| !param.write) {
            let read = (nest, place, param.shape.cols);
            let Some((late, writer)) = order::still_written(&self.written, &self.loops, self.graph, read) else {
                continue;
            };
            let name = &self.graph.tensors[place.tensor].name;
            // Other calls of that loop would say the same of this tensor.
            let said = |finding: &Finding| matches!(finding, Finding::StillWritten { tensor, variable, .. } if tensor == name && *variable == late.name);
            if !self.errors.any(said) {
                let (tensor, variable) = (name.clone(), late.name.clone());
                self.errors.push(call.span, Finding::StillWritten { tensor, variable, writer: writer.into() });
            }
        }
        for (param, place) in params.iter().zip(places).filter(|(param, _)| param.write) {
            self.written.push(order::written(&self.loops, nest, place, param.shape.cols, call.span));
        }
    }

    /// The rank that reads runs the task; only a put may write elsewhere.
    fn executing_side(&mut self, function: &TaskFn, call: &Call<'_>, places: &[Place]) -> Option<Side> {
        let reads = || call.arguments.iter().zip(places).filter(|(argument, _)| !argument.write);
        let all = || call.arguments.iter().zip(places);
        let side = reads().next().or_else(|| all().next()).map_or(Side::Source, |(_, place)| place.side);
        for (argument, place) in all() {
            if place.side == side {
                continue;
            }
            let fault = match (argument.write, function.kind) {
                (false, _) => Remote::Read,
                (true, TaskKind::Put) => continue,
                (true, _) => Remote::Write { task: function.name.clone() },
            };
            self.errors.push(argument.span, Finding::Remote { tensor: argument.tensor.clone(), fault });
            return None;
        }
        Some(side)
    }

    fn phase(&mut self, task: TaskId, call: &Call<'_>, nest: &Nest, places: &[Place], side: Side) -> Option<()> {
        let mut writes = self.graph.tasks[task].body.steps.iter().filter(|step| tasks::writes(step.operation));
        let space = nest.space(side, writes.all(|step| matches!(step.operation.device, Device::Accumulate)));
        let kind = space.kind;
        let space =
            self.graph.spaces.position(|known| *known == space).unwrap_or_else(|| self.graph.spaces.push(space));
        let params = self.graph.tasks[task].params.iter().map(|param| (param.shape, param.write));
        let accesses: Vec<Access> = params
            .zip(places)
            .map(|((shape, write), place)| Access {
                tensor: place.tensor,
                region: place.region(
                    u32::try_from(shape.rows).unwrap_or(u32::MAX),
                    u32::try_from(shape.cols).unwrap_or(u32::MAX),
                ),
                write,
                remote: place.side != side,
            })
            .collect();
        if self.graph.tasks[task].kind == TaskKind::Put {
            self.check_put(call, &accesses)?;
        }
        let put = self.graph.tasks[task].kind == TaskKind::Put;
        // Where rows are given back, the first put of each (token, k) tells the receiver whose they are. Where none does before
        // that, the launch brings a table.
        let written = self.graph.phases.iter().any(|(_, phase)| phase.origins.is_some_and(|origins| origins.write));
        let sends = put && kind == SpaceKind::Sends && !written && self.gives_back;
        let returns = put && kind == SpaceKind::Arrivals && written;
        if let (Some(chunks), true) = (self.chunks, put && kind == SpaceKind::Arrivals && !written) {
            chunks::unsent(chunks, call.span, self.errors);
            return None;
        }
        let origins =
            (sends || returns).then(|| Origins { tensor: tensors::origins(self.graph, self.flow.span), write: sends });
        for access in accesses.iter().filter(|access| access.remote) {
            let tensor = &mut self.graph.tensors[access.tensor];
            if tensor.storage == Storage::Argument {
                tensor.storage = Storage::Shared;
            }
        }
        self.graph.phases.push(Phase {
            task,
            space,
            ranges: nest.ranges.iter().map(|(_, extent)| *extent).collect(),
            range_names: nest.ranges.iter().map(|(name, _)| name.clone()).collect(),
            accesses,
            origins,
            source: call.source.to_owned(),
            line: tasks::line(call.span),
            span: call.span,
        });
        Some(())
    }

    /// The puts there are: gathered tokens to received rows, received rows to slots; whole rows.
    fn check_put(&mut self, call: &Call<'_>, accesses: &[Access]) -> Option<()> {
        let rows: Vec<(Rows, bool)> = accesses.iter().map(|access| (access.region.rows, access.remote)).collect();
        let whole = accesses.iter().all(|access| access.region.columns == Columns::All);
        let known = matches!(
            rows.as_slice(),
            [(Rows::Gather | Rows::Scatter, false), (Rows::Piece, true)]
                | [(Rows::Once, false), (Rows::Tile, false)]
                | [(Rows::Piece, false), (Rows::Scatter, true)]
        );
        if known && whole {
            return Some(());
        }
        self.errors.push(call.span, Finding::Call(CallFault::UnknownPut));
        None
    }
}

/// `K` of `{ K }`.
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
