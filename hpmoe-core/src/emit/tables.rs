//! The runtime's tables: Rust items for `include!`, and a file of descriptors next to them.

use super::Names;
use super::context::UsedCounters;
use super::descriptors::{DESCRIPTOR_BYTES, encode};
use super::tolerance::{Tolerance, tolerances};
use crate::analyze::CheckedGraph;
use crate::graph::{RowKind, SpaceKind, Storage, Task, TaskGraph};
use crate::ids::Id as _;
use crate::schedule::Schedule;
use crate::validate::{ValidSchedule, kernel_shape};
use hpmoe_kernels::memory::{Grid, KernelSizes, SpaceTable, TensorShape};
use hpmoe_kernels::op::TaskKind;
use hpmoe_kernels::route::ExpertOrders;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// The fingerprint and the path that the tables contain.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// The fingerprint of source, constants, compiler and ABI.
    pub fingerprint: &'a str,
    /// The path of the descriptor file below `OUT_DIR`, with a leading slash.
    pub descriptors: &'a str,
}

/// The tables of one taskflow.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Rust items: a static that includes the descriptor file, and the constant `TABLES`, which the macro joins with the kernel's entry
    /// point.
    pub rust: TokenStream,
    /// The content of the descriptor file: the descriptors for each number of ranks, one after another. If launches choose the number of
    /// chunks, the descriptors for each further number of chunks follow.
    pub descriptors: Vec<u8>,
}

/// Writes the tables. The descriptors are a separate file, because rustc would take long for a literal of their size.
#[must_use]
pub fn tables(checked: &CheckedGraph, valid: &ValidSchedule, names: &Names<'_>, paths: &Paths<'_>) -> Tables {
    let schedule = valid.schedule();
    let graph = checked.graph();
    let mut descriptors = Vec::new();
    let schedules = schedules(graph, schedule, &mut descriptors);
    let chosen = schedule.in_chunks().map(|(chunks, schedule)| {
        let schedules = self::schedules(checked.in_chunks(chunks).graph(), &schedule, &mut descriptors);
        quote!(ChunkedSchedules { chunks: #chunks, schedules: &[#(#schedules),*] })
    });
    let chosen: Vec<TokenStream> = chosen.collect();
    let items = [bytes(paths.descriptors), kernel(checked, schedule, names, paths, (&schedules, &chosen))];
    Tables { rust: items.into_iter().collect(), descriptors }
}

/// Adds a table for each number of ranks. The descriptors of each table follow those of earlier tables in the file.
fn schedules(graph: &TaskGraph, schedule: &Schedule, descriptors: &mut Vec<u8>) -> Vec<TokenStream> {
    let table = |order| {
        let encoded = encode(graph, schedule, order);
        let (start, count) = (descriptors.len() / DESCRIPTOR_BYTES, encoded.bytes.len() / DESCRIPTOR_BYTES);
        descriptors.extend(encoded.bytes);
        let ranks = order.ranks;
        let queues = encoded.queues.iter().map(|(first, count)| quote!((#first, #count)));
        quote! {
            ScheduleTable { ranks: #ranks, queues: &[#(#queues),*], descriptors: descriptors(#start, #count) }
        }
    };
    schedule.orders.iter().map(table).collect()
}

fn bytes(path: &str) -> TokenStream {
    quote! {
        static DESCRIPTORS: &[u8] = ::core::include_bytes!(::core::concat!(::core::env!("OUT_DIR"), #path));
        const fn descriptors(start: usize, count: usize) -> &'static [u8] {
            DESCRIPTORS.split_at(start * #DESCRIPTOR_BYTES).1.split_at(count * #DESCRIPTOR_BYTES).0
        }
    }
}

fn kernel(
    checked: &CheckedGraph,
    schedule: &Schedule,
    names: &Names<'_>,
    paths: &Paths<'_>,
    (schedules, chosen): (&[TokenStream], &[TokenStream]),
) -> TokenStream {
    let graph = checked.graph();
    let name = format!("{}::{}", graph.kernel, graph.taskflow);
    let (fingerprint, file) = (paths.fingerprint, names.file);
    let shape = kernel_shape(checked, schedule, names.time_stamps);
    let KernelSizes { experts, spare, top_k, tokens, chunks, .. } = shape.sizes;
    let (aic, aiv, time_stamps) = (schedule.aic, schedule.aiv, names.time_stamps);
    let expert_orders = match schedule.expert_orders {
        ExpertOrders::Number => quote!(Number),
        ExpertOrders::Load => quote!(Load),
        ExpertOrders::LoadFrom(ranks) => quote!(LoadFrom(#ranks)),
        ExpertOrders::LightestFirstFrom(ranks) => quote!(LightestFirstFrom(#ranks)),
    };
    let origins = graph.phases.iter().any(|(_, phase)| {
        let arrives = graph.spaces[phase.space].kind == SpaceKind::Arrivals;
        arrives && graph.tasks[phase.task].kind == TaskKind::Put && phase.origins.is_none()
    });
    let mut arguments = 0;
    let tensors: Vec<_> = shape.tensors.iter().map(|each| tensor(each, &mut arguments)).collect();
    let spaces =
        shape.spaces.iter().map(|SpaceTable { kind, height }| quote!(SpaceTable { kind: #kind, height: #height }));
    let used = UsedCounters::new(graph, checked.counters(), schedule);
    let meanings = used.iter().map(|(id, _)| UsedCounters::meaning(graph, &checked.counters()[id]));
    // The route's own counter follows those of the schedule.
    let counters = meanings.chain(["tables of the route".to_owned()]).zip(&shape.counters).map(|(name, counter)| {
        let grid = grid(*counter);
        quote!(CounterTable { name: #name, grid: #grid })
    });
    let made = used.iter().count() as u32;
    let route = route(graph, schedule, &used, made);
    let phases = graph.phases.iter().map(|(id, phase)| {
        let starts = schedule.phases[id].preceding.iter().map(|(space, columns)| {
            let space = space.index() as u32;
            quote!((#space, #columns))
        });
        let (task, name, source) = (&graph.tasks[phase.task].label, graph.phase_name(id), &phase.source);
        let (line, space) = (phase.line as u32, phase.space.index() as u32);
        quote!(PhaseTable { task: #task, name: #name, source: #source, line: #line, space: #space, starts: &[#(#starts),*] })
    });
    let external = |(_, task): (_, &Task)| {
        let external = task.external.as_ref()?;
        let (task, file, device_only) = (&task.label, &external.file, external.device_only);
        Some(quote!(ExternalTable { task: #task, file: #file, device_only: #device_only }))
    };
    let externals = graph.tasks.iter().filter_map(external);
    let whole_slots = needs_whole_slots(graph).map_or_else(|| quote!(None), |task| quote!(Some(#task)));
    let tolerances = tolerances(graph).into_iter().map(|(tensor, Tolerance { host, device })| {
        let tensor = &graph.tensors[tensor].name;
        quote!(ToleranceTable { tensor: #tensor, host: #host, device: #device })
    });
    quote! {
        const TABLES: hpmoe_runtime::tables::KernelTables = {
            use hpmoe_runtime::op::ElementType;
            use hpmoe_runtime::tables::*;
            KernelTables {
                name: #name,
                fingerprint: #fingerprint,
                file: #file,
                experts: #experts,
                spare: #spare,
                top_k: #top_k,
                tokens: #tokens,
                chunks: #chunks,
                origins: #origins,
                route: #route,
                whole_slots: #whole_slots,
                aic: #aic,
                aiv: #aiv,
                expert_orders: ExpertOrders::#expert_orders,
                time_stamps: #time_stamps,
                tensors: &[#(#tensors),*],
                spaces: &[#(#spaces),*],
                counters: &[#(#counters),*],
                phases: &[#(#phases),*],
                externals: &[#(#externals),*],
                tolerances: &[#(#tolerances),*],
                schedules: &[#(#schedules),*],
                chosen: &[#(#chosen),*],
            }
        };
    }
}

/// A task that reads slots, including the rows of empty ones; `None` if there is none. Only the code generated for the body of a vector
/// task skips empty slots.
fn needs_whole_slots(graph: &TaskGraph) -> Option<&str> {
    let mut tasks = graph.tasks.iter().map(|(_, task)| task);
    let whole = tasks.find(|task| {
        let leaves_out = task.kind == TaskKind::Vector && task.external.is_none();
        !leaves_out && task.reads_slots().next().is_some()
    });
    whole.map(|task| task.label.as_str())
}

/// The table of the route that the kernel makes; `made` is the number of the counter that says that the route is made.
fn route(graph: &TaskGraph, schedule: &Schedule, used: &UsedCounters, made: u32) -> TokenStream {
    let Some(route) = &graph.route else { return quote!(None) };
    let (ids, tokens, before) = (route.ids.index(), route.tokens.index(), route.before as u32);
    let (source, line) = (&route.source, route.line as u32);
    let groups = route.groups.map_or_else(|| quote!(None), |groups| quote!(Some(#groups)));
    let kept = graph.tensors[route.ids].rows == RowKind::Routed;
    let keeps = route.keeps.map_or_else(
        || quote!(None),
        |kept| {
            let kept = kept.index();
            quote!(Some(#kept))
        },
    );
    let ready = schedule.routed_after.as_ref().map(|wait| {
        let (counter, per_token) = (used.number(wait.counter), wait.need.per_row);
        quote!(ReadyTable { counter: #counter, per_token: #per_token })
    });
    let ready = ready.map_or_else(|| quote!(None), |ready| quote!(Some(#ready)));
    quote! {
        Some(RouteTable {
            ids: #ids, kept: #kept, keeps: #keeps, groups: #groups, tokens: #tokens, before: #before, ready: #ready, made: #made, source: #source, line: #line
        })
    }
}

fn tensor(tensor: &TensorShape<'_>, arguments: &mut usize) -> TokenStream {
    let TensorShape { name, columns, pitch, writable, .. } = tensor;
    let element = format_ident!("{}", tensor.element.name());
    let row_kind = match tensor.row_kind {
        RowKind::Token => quote!(RowKind::Token),
        RowKind::Slot => quote!(RowKind::Slot),
        RowKind::Received => quote!(RowKind::Received),
        RowKind::Once => quote!(RowKind::Once),
        RowKind::Expert(rows) => quote!(RowKind::Expert(#rows)),
        RowKind::Matrix(rows) => quote!(RowKind::Matrix(#rows)),
        RowKind::Routed => quote!(RowKind::Routed),
    };
    let storage = match tensor.storage {
        Storage::Argument | Storage::Shared => {
            let number = *arguments;
            *arguments += 1;
            let kind = format_ident!("{}", if tensor.storage == Storage::Shared { "Shared" } else { "Argument" });
            quote!(Storage::#kind(#number))
        }
        Storage::Workspace => quote!(Storage::Workspace),
        Storage::Symmetric => quote!(Storage::Symmetric),
    };
    quote! {
        TensorTable {
            name: #name, element: ElementType::#element, columns: #columns, pitch: #pitch, row_kind: #row_kind,
            storage: #storage, writable: #writable
        }
    }
}

fn grid(grid: Grid) -> TokenStream {
    match grid {
        Grid::RowTiles { space, columns } => quote!(Grid::RowTiles { space: #space, columns: #columns }),
        Grid::Experts => quote!(Grid::Experts),
        Grid::Blocks { height } => quote!(Grid::Blocks { height: #height }),
        Grid::Rank => quote!(Grid::Rank),
    }
}
