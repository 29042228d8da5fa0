//! The analysis of small taskflows.

mod counters;
mod hazards;
mod reuse;
mod route;

use super::CheckedGraph;
use crate::constant::Overrides;
use crate::finding::Diagnostic;
use crate::fixture::{self, Layer, moe_ffn, router};
use crate::front::{front, modules};

/// A taskflow that sends rows to `recv`, runs these calls, and gives the rows of `last` back.
///
/// `a`, `b` and `c` are tensors of received rows, `m` is a matrix per expert, `z` and `v` have a row per token, `w` is a weight; all have 64
/// columns.
fn flow(calls: &str, last: &str) -> CheckedGraph {
    sending("", "x", calls, last)
}

/// Like `flow`, but runs the calls `before` first, and sends the rows of `sent`.
fn sending(before: &str, sent: &str, calls: &str, last: &str) -> CheckedGraph {
    module(&[before, &dispatch(sent), calls].concat(), last)
}

/// Sends the rows of `from` to `recv`.
fn dispatch(from: &str) -> String {
    format!(
        "for src in ep {{ for e in route.experts() {{ for s in route.sends::<2>(src, e) {{
            dispatch(&{from}[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
        }} }} }}\n"
    )
}

/// The checked graph of a taskflow with these calls; panics if it has faults.
fn module(calls: &str, last: &str) -> CheckedGraph {
    checked(calls, last).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// The checked graph of a taskflow with these calls, or its faults without their help.
fn checked(calls: &str, last: &str) -> Result<CheckedGraph, Vec<String>> {
    read(&source(calls, last))
}

/// Like `checked`, but runs everything for each of four chunks.
fn in_chunks(calls: &str, last: &str) -> Result<CheckedGraph, Vec<String>> {
    read(&chunked(&source(calls, last)))
}

/// Changes the taskflow of a source so that it runs everything for each of four chunks.
fn chunked(source: &str) -> String {
    let source = source.replace("route.", "c.").replace("(ep, route)", "(ep, &c)");
    let (before, body) = source.split_at(source.find("let recv").unwrap());
    let (body, end) = body.split_at(body.rfind("            }\n        }").unwrap());
    format!("{before}for c in route.chunks::<4>() {{\n{body}}}\n{end}")
}

fn source(calls: &str, last: &str) -> String {
    format!(
        "#[megakernel]
        pub mod kernel {{
            use hpmoe_runtime::prelude::*;
            use hpmoe_runtime::tasks::{{dispatch, give_back, project, sum_over_k, swiglu, weight_grad}};
            pub const HIDDEN: usize = 64;
            pub const EXPERTS: usize = 4;
            pub const TOP_K: usize = 3;
            pub const TOKENS: usize = 24;
            #[aiv_task]
            pub fn square<const R: usize>(x: &Tile<bf16, R, 64>, z: &mut Tile<bf16, R, 64>) {{
                let x = x.load();
                z.store(&x * &x);
            }}
            #[aiv_task]
            pub fn round<const R: usize>(m: &Tile<f32, R, 64>, q: &mut Tile<bf16, R, 64>) {{
                q.store(m.load());
            }}
            #[aiv_task]
            pub fn halve<const C: usize>(a: &Tile<bf16, 8, C>, b: &mut Tile<bf16, 8, 16>) {{
                b.store(a.load().even_columns());
            }}
            #[comm_put]
            pub fn put_again(from: &Tile<bf16, 4, 64>, to: &mut Tile<bf16, 4, 64>) {{
                to.put(from);
            }}
            #[taskflow]
            pub fn forward(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, 64>>, w: &PerRank<Experts<bf16, 64, 64>>,
                           y: &mut PerRank<Tensor<bf16, 64>>) {{
                let recv = PerRank::symmetric::<bf16, 64>(ep, route);
                let there = PerRank::symmetric::<bf16, 64>(ep, route);
                let a = PerRank::ragged::<bf16, 64>(ep, route);
                let b = PerRank::ragged::<bf16, 64>(ep, route);
                let c = PerRank::ragged::<bf16, 64>(ep, route);
                let m = PerRank::experts::<f32, 64, 64>(ep, route);
                let q = PerRank::experts::<bf16, 64, 64>(ep, route);
                let once = PerRank::once::<bf16, 64>(ep, route);
                let z = PerRank::tokens::<bf16, 64>(ep, route);
                let v = PerRank::tokens::<bf16, 64>(ep, route);
                let parts = PerRank::slots::<bf16, 64>(ep, route);
                let back = PerRank::slots::<bf16, 64>(ep, route);
                {calls}
                for src in ep {{ for e in route.experts() {{ for s in route.sends::<2>(src, e) {{
                    give_back(&{last}[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }} }} }}
                for r in ep {{ for t in route.token_blocks::<4>(r) {{
                    sum_over_k::<12, 64, _>(&back[r].slots(t), &mut y[r].rows(t));
                }} }}
            }}
        }}"
    )
}

fn read(source: &str) -> Result<CheckedGraph, Vec<String>> {
    // Declarations that no call names are left out.
    let unused = |name: &str| [" ", "&"].iter().all(|before| !source.contains(&format!("{before}{name}[")));
    let declares = |line: &str, name: &str| line.trim_start().starts_with(&format!("let {name} ="));
    let lines = source.lines().filter(|line| {
        !["a", "b", "c", "m", "q", "z", "v", "once", "recv", "parts", "there", "back"]
            .iter()
            .any(|name| unused(name) && declares(line, name))
    });
    let module = modules(&lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap().remove(0);
    let front = front(&module, &Overrides::new());
    let message = |fault: &Diagnostic| fault.words().message;
    front.map(|front| front.flows.into_iter().next().unwrap()).map_err(|faults| faults.iter().map(message).collect())
}

/// The faults of a source.
fn faults(source: &str) -> Vec<Diagnostic> {
    front(&modules(source).unwrap().remove(0), &Overrides::new()).expect_err("the source has a fault")
}

/// A loop over the row tiles of each expert, around the calls.
fn tiles(height: u32, calls: &str) -> String {
    let loops = "for r in ep { for e in route.experts_of(r) {";
    format!("{loops} for t in route.row_tiles::<{height}>(e) {{ {calls} }} }} }}\n")
}

/// The matrix cores write a tensor from whole rows of another, in tiles of this height and width.
fn project(height: u32, width: u32, from: &str, to: &str) -> String {
    let call = format!(
        "project::<{width}, _, _>(&{from}[r].group(e, t), &w[r].expert(e).tile(n), &mut {to}[r].group(e, t).cols(n));"
    );
    tiles(height, &format!("for n in 0..{} {{ {call} }}", 64 / width))
}

/// The vector cores write a tensor from the same columns of another, in tiles of this height and width.
fn swiglu(height: u32, width: u32, from: &str, to: &str) -> String {
    let part = format!("{from}[r].group(e, t).cols(n)");
    let call = format!("swiglu::<{width}, _>(&{part}, &{part}, &mut {to}[r].group(e, t).cols(n));");
    tiles(height, &format!("for n in 0..{} {{ {call} }}", 64 / width))
}

/// Tokens are squared into `z` in blocks of this height.
fn squares(height: u32, from: &str, to: &str) -> String {
    let call = format!("square::<{height}>(&{from}[r].rows(t), &mut {to}[r].rows(t));");
    format!("for r in ep {{ for t in route.token_blocks::<{height}>(r) {{ {call} }} }}\n")
}

#[test]
fn a_tensor_is_unread_if_no_call_reads_it_nor_the_route_nor_what_comes_back() {
    let layer = Layer::TINY;
    for checked in [moe_ffn(&layer), router(&layer), fixture::chunked(&layer, 4)] {
        let names = |checked: &CheckedGraph| checked.unread().map(|tensor| tensor.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&checked), [""; 0]);
        let graph = checked.graph();
        for (id, tensor) in graph.tensors.iter() {
            let less = checked.changed(|graph| {
                for phase in graph.phases.ids().collect::<Vec<_>>() {
                    let phase = &mut graph.phases[phase];
                    phase.accesses.retain(|access| access.write || access.tensor != id);
                    phase.origins = phase.origins.filter(|origins| origins.tensor != id);
                }
            });
            let by_route = graph.route.as_ref().is_some_and(|route| route.ids == id);
            let unread = !by_route && !tensor.storage.is_argument();
            assert_eq!(names(&less), unread.then(|| tensor.name.clone()).into_iter().collect::<Vec<_>>());
        }
    }
}
