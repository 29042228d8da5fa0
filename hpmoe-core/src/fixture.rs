//! Checked graphs of the example kernel and of its variants, for tests.

pub mod mutants;
mod texts;

use crate::analyze::{Amount, CheckedGraph, Counter, Grid, Index, Need, Signal, Wait};
use crate::constant::Overrides;
use crate::finding::Diagnostic;
use crate::front::{front, modules};
use crate::graph::Height;
use crate::ids::{Arena, PhaseId};
use hpmoe_kernels::op::TaskKind;
use texts::{THREE_PUTS, in_chunks, prepared_source, router_source};

const EXAMPLE: &str = include_str!("../../examples/moe_ffn.rs");
const WIDENED: &str = include_str!("../../examples/moe_int8.rs");
const BACKWARD: &str = include_str!("../../examples/moe_backward.rs");
const SUMS: &str = include_str!("../../ui-tests/kernels/sums.rs");

/// The constants of the example kernel.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// `HIDDEN`: number of columns of a token.
    pub hidden: usize,
    /// `INTER`: number of columns of an expert's activation.
    pub inter: usize,
    /// `EXPERTS`: number of experts of the whole group.
    pub experts: usize,
    /// `TOP_K`: number of experts per token.
    pub top_k: usize,
    /// `TOKENS`: the maximum number of tokens per rank.
    pub tokens: usize,
    /// `TILE_M`: the maximum number of rows of a row tile.
    pub tile_m: usize,
    /// `TILE_N`: the maximum number of columns of a column tile.
    pub tile_n: usize,
    /// `PUT`: the maximum number of rows of a put.
    pub put: usize,
    /// `BLOCK`: the maximum number of tokens of a block.
    pub block: usize,
    /// `COLUMNS`: the maximum number of columns of a tile of the sum over k.
    pub columns: usize,
}

/// Tile sizes that are so small that each task of the examples' layers has several tiles.
pub const SMALL_TILES: [(&str, usize); 10] = [
    ("TILE_M", 16),
    ("TILE_N", 16),
    ("TILE_ROWS", 8),
    ("TILE_COPY", 16),
    ("TILE_UNPACK", 16),
    ("GRAD_M", 32),
    ("GRAD_N", 32),
    ("PUT", 8),
    ("BLOCK", 4),
    ("COLUMNS", 64),
];

/// The source with the sizes of [`SMALL_TILES`] instead of `_` for open tile sizes.
///
/// # Panics
///
/// If the source leaves none of these sizes open.
#[must_use]
pub fn with_small_tiles(source: &str) -> String {
    let text = with_small_open_tiles(source);
    assert_ne!(text, source, "the source leaves no tile size open");
    text
}

/// The source with the sizes of [`SMALL_TILES`] instead of `_` for open tile sizes. A source without open sizes stays as it is.
#[must_use]
pub fn with_small_open_tiles(source: &str) -> String {
    let set = |text: String, (name, size): (&str, usize)| {
        text.replace(&format!("pub const {name}: usize = _;"), &format!("pub const {name}: usize = {size};"))
    };
    SMALL_TILES.into_iter().fold(source.to_owned(), set)
}

impl Layer {
    /// The sizes that the example declares, with small tiles.
    pub const SMALL: Self = Self {
        hidden: 128,
        inter: 64,
        experts: 16,
        top_k: 4,
        tokens: 384,
        tile_m: 32,
        tile_n: 32,
        put: 16,
        block: 16,
        columns: 1024,
    };
    /// A layer with the `HIDDEN`, `INTER` and `TOP_K` of DeepSeek-V3, but 64 experts: eight on each of eight ranks.
    pub const DEEPSEEK: Self = Self {
        hidden: 7168,
        inter: 2048,
        experts: 64,
        top_k: 8,
        tokens: 4096,
        tile_m: 128,
        tile_n: 256,
        put: 16,
        block: 16,
        columns: 1024,
    };
    /// A layer with few tiles, for tests that run it thousands of times.
    pub const TINY: Self = Self {
        hidden: 64,
        inter: 32,
        experts: 8,
        top_k: 2,
        tokens: 9,
        tile_m: 4,
        tile_n: 16,
        put: 2,
        block: 4,
        columns: 32,
    };

    fn overrides(&self) -> Overrides {
        let values = [
            ("HIDDEN", self.hidden),
            ("INTER", self.inter),
            ("EXPERTS", self.experts),
            ("TOP_K", self.top_k),
            ("TOKENS", self.tokens),
            ("TILE_M", self.tile_m),
            ("TILE_N", self.tile_n),
            ("PUT", self.put),
            ("BLOCK", self.block),
            ("COLUMNS", self.columns),
            ("GRAD_M", 32),
            ("GRAD_N", 32),
        ];
        values.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
    }
}

/// The forward layer of the example.
pub fn moe_ffn(layer: &Layer) -> CheckedGraph {
    read(EXAMPLE, layer)
}

/// The forward layer with weights of i8, which vector tasks widen.
pub fn widened(layer: &Layer) -> CheckedGraph {
    read(WIDENED, layer)
}

/// The forward layer of the example, whose kernel makes its route.
pub fn routed(layer: &Layer) -> CheckedGraph {
    let source = EXAMPLE
        .replace("route: &Route,", "ids: &PerRank<Tensor<i32, TOP_K>>,")
        .replace("(ep, route)", "(ep, &route)")
        .replacen("let recv =", "let route = Route::of::<EXPERTS>(ep, ids);\nlet recv =", 1);
    read(&source, layer)
}

/// The forward layer of the example, whose kernel makes its route and chooses the number of chunks, up to `at_most`.
pub fn choosing(layer: &Layer, at_most: usize) -> CheckedGraph {
    let source = in_chunks(&EXAMPLE.replace("route: &Route,", "ids: &PerRank<Tensor<i32, TOP_K>>,"), 2).replacen(
        "for c in",
        "let route = Route::of::<EXPERTS>(ep, ids);\nfor c in",
        1,
    );
    let overrides = layer.overrides().into_iter().chain([("CHUNKS_AT_MOST".to_owned(), at_most.into())]);
    with(&source, &overrides.collect(), "forward")
}

/// The forward layer of the example, whose kernel chooses experts and makes the route from them. A task `square` also reads all tokens
/// before the route.
pub fn router(layer: &Layer) -> CheckedGraph {
    read(&router_source(), layer)
}

/// The backward pass of the example that reads the activation that the forward pass has saved.
pub fn moe_backward(layer: &Layer) -> CheckedGraph {
    flow(BACKWARD, layer, "backward")
}

/// The forward layer in which `swiglu` combines each result with its received row, tile by tile, before the results are put back. A path
/// already orders the phase that reads the dispatched rows again.
pub fn gated(layer: &Layer) -> CheckedGraph {
    let call = "project(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut out[r].group(e, m).cols(n));";
    let more = "swiglu(&out[r].group(e, m).cols(n), &recv[r].group(e, m).cols(n), &mut gated[r].group(e, m).cols(n));";
    let source = EXAMPLE
        .replace(call, &format!("{call}\n{more}"))
        .replace("let back =", "let gated = PerRank::ragged::<bf16, HIDDEN>(ep, route);\nlet back =")
        .replace("give_back(&out[", "give_back(&gated[");
    read(&source, layer)
}

/// The forward layer with the activation applied twice to the same tiles: the second time by the same task or, if `another`, by a copy of
/// the task.
pub fn activated_again(layer: &Layer, another: bool) -> CheckedGraph {
    let call = "swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));";
    let task = if another { "again" } else { "swiglu" };
    let again = format!("{task}(&h[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut z[r].group(e, m).cols(n));");
    let begin = EXAMPLE.find("pub fn swiglu(").unwrap();
    let end = begin + EXAMPLE[begin..].find("/// ").unwrap();
    let copy = EXAMPLE[begin..end].replace("swiglu", "again");
    let source = EXAMPLE
        .replace(call, &format!("{call}\n{again}"))
        .replace("#[taskflow]", &format!("#[aiv_task]\n{copy}\n#[taskflow]"))
        .replace("let back =", "let z = PerRank::ragged::<bf16, INTER>(ep, route);\nlet back =")
        .replace("project(&h[", "project(&z[");
    read(&source, layer)
}

/// The forward layer in which a task `square` computes new tokens from the tokens, block by block, before they are sent. A send gathers
/// tokens from any block.
pub fn prepared(layer: &Layer) -> CheckedGraph {
    read(&prepared_source(), layer)
}

/// The forward layer whose kernel chooses experts by scores that are computed for blocks of `TILE_M` tokens.
pub fn scored(layer: &Layer) -> CheckedGraph {
    let score = "score(&x[r].rows(t), &router[r].tile(0), &mut z[r].rows(t));";
    let blocks = format!("for r in ep {{ for t in x.token_blocks::<TILE_M>(r) {{ {score} }} }}\nfor r in ep {{");
    let source = router_source()
        .replacen(score, "", 1)
        .replacen("x: &Tile<bf16, BLOCK, HIDDEN>, w:", "x: &Tile<bf16, TILE_M, HIDDEN>, w:", 1)
        .replacen("z: &mut Tile<f32, BLOCK, EXPERTS>", "z: &mut Tile<f32, TILE_M, EXPERTS>", 1)
        .replacen("for r in ep {", &blocks, 1);
    read(&source, layer)
}

/// The forward layer in `chunks` chunks, with an additional tensor per chunk for the tokens that a task `square` computes.
pub fn chunked(layer: &Layer, chunks: usize) -> CheckedGraph {
    let source = prepared_source().replace("z: &mut PerRank<Tensor<bf16, HIDDEN>>, ", "").replacen(
        "let recv =",
        "let z = PerRank::tokens::<bf16, HIDDEN>(ep, route);\nlet recv =",
        1,
    );
    read(&in_chunks(&source, chunks), layer)
}

/// A kernel for weight gradients that each of `chunks` chunks adds to.
pub fn sums(layer: &Layer, chunks: usize) -> CheckedGraph {
    let source = SUMS.replace("pub const CHUNKS: usize = 4", &format!("pub const CHUNKS: usize = {chunks}"));
    let without = ["TILE_M", "TILE_N", "COLUMNS"];
    let overrides = layer.overrides().into_iter().filter(|(name, _)| !without.contains(&name.as_str()));
    with(&source, &overrides.collect(), "forward")
}

/// The forward layer with tokens that are sent once to each rank, and copied there for each expert.
pub fn once(layer: &Layer) -> CheckedGraph {
    let copies = "for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<PUT>(e) {
                    dispatch(&once[r].gather(e, m), &mut recv[r].group(e, m));
                }
            }
        }
        for r in ep {";
    let source = EXAMPLE
        .replace("let recv =", "let once = PerRank::once::<bf16, HIDDEN>(ep, route);\nlet recv =")
        .replace("PerRank::symmetric::", "PerRank::ragged::")
        .replacen("route.sends::", "route.sends_once::", 1)
        .replace("&mut recv[e.owner()]", "&mut once[e.owner()]")
        .replacen("for r in ep {", copies, 1);
    read(&source, layer)
}

/// A kernel that sends three tensors to the owners of experts in the same pieces, and puts their product back.
pub fn three_puts() -> CheckedGraph {
    let module = modules(THREE_PUTS).expect("it is Rust").remove(0);
    front(&module, &Overrides::new()).expect("it has no faults").flows.remove(0)
}

/// The phases of the forward layer whose tasks are of one kind, without counters and dependencies.
pub fn only(layer: &Layer, core: TaskKind) -> CheckedGraph {
    let mut graph = moe_ffn(layer).graph().clone();
    let phases = graph.phases.iter().filter(|(_, phase)| graph.tasks[phase.task].kind == core);
    graph.phases = phases.map(|(_, phase)| phase.clone()).collect::<Arena<PhaseId, _>>();
    CheckedGraph::for_tests(graph, Arena::new(), Vec::new())
}

/// The forward layer with an additional dependency that no order satisfies: an earlier phase depends on a phase that depends on it.
pub fn circular(layer: &Layer) -> CheckedGraph {
    let checked = moe_ffn(layer);
    let mut counters = checked.counters().clone();
    let mut dependencies = checked.dependencies().to_vec();
    // The down projection, which reads what the activation writes, is to come before it.
    let mut back = dependencies[4].clone();
    std::mem::swap(&mut back.before, &mut back.after);
    let counter = counters.push(Counter { tensor: back.tensor, grid: Grid::Experts, through: false });
    back.signal = Signal { counter, index: Index::Expert, amount: Amount::One, remote: false };
    back.wait =
        Wait { counter, index: Index::Expert, need: Need { pieces: vec![(Height::Rows(32), 4)], ..Need::default() } };
    dependencies.push(back);
    CheckedGraph::for_tests(checked.graph().clone(), counters, dependencies)
}

fn read(source: &str, layer: &Layer) -> CheckedGraph {
    flow(source, layer, "forward")
}

fn flow(source: &str, layer: &Layer, name: &str) -> CheckedGraph {
    with(source, &layer.overrides(), name)
}

fn with(source: &str, overrides: &Overrides, name: &str) -> CheckedGraph {
    let module = &modules(source).unwrap()[0];
    let words = |faults: Vec<Diagnostic>| faults.iter().map(Diagnostic::text).collect::<Vec<_>>().join("\n");
    let front = front(module, overrides).map_err(words).unwrap();
    front.flows.into_iter().find(|flow| flow.graph().taskflow == name).expect("the example has the taskflow")
}
