//! Statements of a taskflow: each task call becomes a phase.

use super::arguments::LoweredArgument;
use super::chunks::Chunks;
use super::loops::{Nest, Side, Variable};
use super::lowered::Lowered;
use super::order::{Loop, LoopWrite};
use super::{arguments, chunks, loops, route, tensors, writes};
use crate::finding::{CallFault, Errors, Finding, NameKind, RemoteFault};
use crate::graph::{Rows, SpaceKind, Storage, TaskGraph};
use crate::names::{ByName, nearest};
use crate::syntax::{Accessor, Argument, Flow, Kernel, Over, Stmt, TaskFn};
use hpmoe_kernels::op::TaskKind;
use proc_macro2::Span;
use syn::Expr;

/// Lowers the taskflow's statements; `faulty` are its parameters that are not in the graph.
pub(super) fn statements(
    kernel: &Kernel,
    flow: &Flow,
    chunks: Option<&Chunks>,
    faulty: Vec<String>,
    graph: &mut TaskGraph,
    errors: &mut Errors,
) -> Lowered {
    let mut lowering = Lowering {
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
        faulty,
        incomplete: false,
    };
    let (earlier, rest) = flow.body.split_at(flow.route.as_ref().map_or(0, |made| made.after));
    lowering.block(earlier);
    let before = lowering.graph.phases.len();
    lowering.block(rest);
    Lowered { before, faulty: lowering.faulty, incomplete: lowering.incomplete }
}

/// The state of lowering the statements of a taskflow.
pub(super) struct Lowering<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) flow: &'a Flow,
    pub(super) chunks: Option<&'a Chunks>,
    pub(super) graph: &'a mut TaskGraph,
    pub(super) errors: &'a mut Errors,
    pub(super) scope: Vec<Variable>,
    /// The loops around the statement, outermost first. Their numbers distinguish loops with the same variable.
    pub(super) loops: Vec<Loop>,
    /// The number of loops entered so far, which numbers the next one.
    pub(super) count: u32,
    /// The arguments that earlier calls write.
    pub(super) written: Vec<LoopWrite>,
    /// Whether any put gives rows back to their slots.
    pub(super) gives_back: bool,
    /// Faulty instances, so that each fault is reported once.
    pub(super) failed: Vec<(String, ByName<usize>)>,
    /// Faulty tensors, which calls are not checked against.
    faulty: Vec<String>,
    /// Whether faults have kept some of the earlier calls out of the graph.
    pub(super) incomplete: bool,
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
pub(super) struct Call<'a> {
    pub(super) task: &'a str,
    pub(super) generics: &'a [Expr],
    pub(super) arguments: &'a [Argument],
    pub(super) source: &'a str,
    pub(super) span: Span,
}

impl Lowering<'_> {
    fn block(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match statement {
                Stmt::Let(declared) => {
                    let made = match &declared.like {
                        Some(like) if !self.has_tokens(like, declared.span) => None,
                        _ => tensors::local(self.kernel, declared, self.graph, self.errors),
                    };
                    if made.is_none() {
                        self.faulty.push(declared.name.clone());
                    }
                    if let (Some(chunks), Some(made)) = (self.chunks, made) {
                        chunks::local(chunks, &self.graph.tensors[made], self.errors);
                    }
                }
                // Each chunk has separate tensors, so no iteration writes a tensor that another one reads.
                Stmt::For { over: Over::Chunks { .. }, body, .. } => self.block(body),
                Stmt::For { over: Over::TokenBlocks { like: Some(like), .. }, span, .. }
                    if !self.has_tokens(like, *span) => {}
                Stmt::For { variable, span, over, body } => {
                    let head = loops::variable(self.kernel, &self.scope, variable, *span, over, self.errors);
                    let Some(head) = head else {
                        self.incomplete = true;
                        continue;
                    };
                    self.scope.push(head);
                    self.count += 1;
                    self.loops.push(Loop { id: self.count, name: variable.clone() });
                    self.block(body);
                    self.loops.pop();
                    self.scope.pop();
                }
                Stmt::Call { task, generics, arguments, source, span } => {
                    let call = Call { task, generics, arguments, source, span: *span };
                    self.incomplete |= self.call(&call).is_none();
                }
            }
        }
    }

    /// Whether a tensor has a row for each token, as the loop or the tensor that takes its tokens needs; if not, reports the fault at `at`.
    fn has_tokens(&mut self, name: &str, at: Span) -> bool {
        self.faulty.iter().any(|faulty| faulty == name) || route::has_tokens(name, at, self.graph, self.errors)
    }

    fn call(&mut self, call: &Call<'_>) -> Option<()> {
        let Some(function) = self.kernel.tasks.iter().find(|function| function.name == call.task) else {
            self.errors.push(call.span, self.no_task(call.task));
            return None;
        };
        if call.arguments.iter().any(|argument| self.faulty.contains(&argument.tensor)) {
            return None;
        }
        let known = |name: &str| self.scope.iter().any(|variable| variable.name == name);
        let unknown = call.arguments.iter().flat_map(|argument| arguments::unknown_variables(argument, known));
        let unknown: Vec<_> = unknown.collect();
        if !unknown.is_empty() {
            for (span, name) in unknown {
                let nearest = nearest(&name, self.scope.iter().map(|variable| variable.name.as_str()));
                self.errors.push(span, Finding::Unknown { kind: NameKind::LoopVariable, name, nearest });
            }
            return None;
        }
        if function.params.len() != call.arguments.len() {
            let (expected, given) = (function.params.len(), call.arguments.len());
            self.errors.push(call.span, Finding::Arity { task: call.task.to_owned(), expected, given });
            return None;
        }
        let nest = Nest::new(&self.scope, call.span, self.errors)?;
        if function.kind == TaskKind::Matrix && nest.space.kind.sends() {
            // A matrix core counts tiles, and the number of a send's pieces does not follow from its rows.
            let fault = CallFault::MatrixTaskOfSend { task: function.name.clone(), send: nest.item.clone() };
            self.errors.push(call.span, Finding::Call(fault));
            return None;
        }
        let places: Vec<Option<LoweredArgument>> = call
            .arguments
            .iter()
            .map(|argument| arguments::place(self.kernel, self.graph, &nest, argument, self.errors))
            .collect();
        let places: Vec<LoweredArgument> = places.into_iter().collect::<Option<_>>()?;
        let generics = self.const_arguments(function, call, &nest, &places)?;
        let returns =
            places.iter().zip(call.arguments).any(|(place, argument)| argument.write && place.rows == Rows::Scatter);
        let slots: Vec<bool> = places.iter().map(|place| place.rows == Rows::BlockSlots).collect();
        let task = self.instance(function, call, &generics, (returns, &slots))?;
        self.check_arguments(task, call, &nest, &places)?;
        let side = self.executing_side(function, call, &places)?;
        if let Some(chunks) = self.chunks {
            for (number, (argument, place)) in call.arguments.iter().zip(&places).enumerate() {
                let adds = writes::adds(&self.graph.tasks[task], number);
                let used = chunks::Use { argument, place, remote: place.side != side, adds };
                chunks::argument(chunks, self.graph, &used, self.errors)?;
            }
        }
        if nest.space.kind == SpaceKind::SendsOnce && side == Side::Owner {
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

    /// The fault of a call of something that is not a task.
    fn no_task(&self, name: &str) -> Finding {
        let name = name.to_owned();
        if self.kernel.unmarked.contains(&name) {
            return Finding::Call(CallFault::Unmarked { name });
        }
        let nearest = nearest(&name, self.kernel.tasks.iter().map(|function| function.name.as_str()));
        Finding::Unknown { kind: NameKind::Task, name, nearest }
    }

    /// The side that runs the task: the side of the arguments that it reads. Only a put may write on the other side.
    fn executing_side(&mut self, function: &TaskFn, call: &Call<'_>, places: &[LoweredArgument]) -> Option<Side> {
        let reads = || call.arguments.iter().zip(places).filter(|(argument, _)| !argument.write);
        let all = || call.arguments.iter().zip(places);
        let side = reads().next().or_else(|| all().next()).map_or(Side::Source, |(_, place)| place.side);
        for (argument, place) in all() {
            if place.side == side {
                continue;
            }
            let fault = match (argument.write, function.kind) {
                (false, _) => RemoteFault::Read,
                (true, TaskKind::Put) if self.graph.tensors[place.tensor].storage == Storage::Workspace => {
                    RemoteFault::NotShared
                }
                (true, TaskKind::Put) => continue,
                (true, _) => RemoteFault::Write { task: function.name.clone() },
            };
            self.errors.push(argument.span, Finding::Remote { tensor: argument.tensor.clone(), fault });
            return None;
        }
        Some(side)
    }
}
