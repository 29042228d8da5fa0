//! The forward Mixture-of-Experts layer as one megakernel, checked against an independent oracle.

mod support;

use clap::Parser as _;
use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use support::compare::Comparison;
use support::layer::Layer;
use support::options::Options;

/// The layer: dispatch, gate and up projections, SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod moe_ffn {
    use hpmoe_runtime::prelude::*;

    /// Columns of a token.
    pub const HIDDEN: usize = 128;
    /// Columns between the projections.
    pub const INTER: usize = 64;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 16;
    /// Experts of a token.
    pub const TOP_K: usize = 4;
    /// Most tokens that one rank may bring.
    pub const TOKENS: usize = 384;

    /// Rows of a tile of a projection. Small, as the bundled layers are: for a real one, 128 by 256.
    pub const TILE_M: usize = 16;
    /// Columns of a tile of a projection.
    pub const TILE_N: usize = 16;
    /// Most rows of one put.
    pub const PUT: usize = 8;
    /// Tokens of a tile of the top-k sum.
    pub const BLOCK: usize = 4;
    /// Columns of a tile of the top-k sum.
    pub const COLUMNS: usize = 64;
    /// (token, k) slots of a tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Sends routed tokens to the rank that owns their expert.
    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn project<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// The gated activation: `silu(gate) · up`.
    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load();
        h.store(gate.silu() * up.load());
    }

    /// Puts results back to the slot of their (token, k).
    #[comm_put]
    pub fn give_back(results: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
        slots.put(results);
    }

    /// The sum over k with the router's weights, in the order of k.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, COLUMNS>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, COLUMNS>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    /// The layer for the whole group: this function is its meaning, and its calls are the dependency graph.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut out[r].group(e, m).cols(n));
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    combine(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the layer and prints what came of it; whether it is right.
fn run(options: &Options) -> Result<bool, String> {
    let layer = match &options.data {
        Some(path) => Layer::read(path)?,
        None => Layer::parse(include_bytes!("data/deepseek_skewed.safetensors"))?,
    };
    let tensors = Tensors::of(&layer, Ranks::new(options.ranks))?;
    println!("{}\n", moe_ffn::forward::summary(options.ranks).unwrap_or_default());
    write_pictures(options)?;

    let started = Instant::now();
    let expected = tensors.reference();
    let reference_time = started.elapsed();
    let group = Group::new(options.ranks).seed(options.seed);
    let (found, report) = tensors.launch(&group).map_err(|error| error.to_string())?;

    let equal = found == expected;
    let comparison = Comparison::of(&found, &layer.output);
    print_run(&report, &comparison, equal, reference_time);
    if options.json {
        println!("{}", json(&report, &comparison, equal));
    }
    Ok(equal && comparison.is_good())
}

/// The layer's tensors, cut for the ranks.
struct Tensors {
    ep: Ranks,
    route: Route,
    x: PerRank<Tensor<bf16, { moe_ffn::HIDDEN }>>,
    weights: PerRank<Tensor<f32, { moe_ffn::TOP_K }>>,
    gate: PerRank<Experts<bf16, { moe_ffn::INTER }, { moe_ffn::HIDDEN }>>,
    up: PerRank<Experts<bf16, { moe_ffn::INTER }, { moe_ffn::HIDDEN }>>,
    down: PerRank<Experts<bf16, { moe_ffn::HIDDEN }, { moe_ffn::INTER }>>,
}

impl Tensors {
    fn of(layer: &Layer, ep: Ranks) -> Result<Self, String> {
        use moe_ffn::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};
        let fits = (layer.hidden, layer.inter, layer.experts, layer.top_k) == (HIDDEN, INTER, EXPERTS, TOP_K);
        if !fits || layer.tokens > TOKENS {
            return Err(format!(
                "this layer is of another size than the kernel (HIDDEN={HIDDEN},INTER={INTER},EXPERTS={EXPERTS},\
                 TOP_K={TOP_K},TOKENS={TOKENS})\nhelp: build for it: HPMOE_SET=\"{}\" cargo run --release --example \
                 moe_ffn -- …",
                layer.settings()
            ));
        }
        if ep.count() == 0 || !EXPERTS.is_multiple_of(ep.count()) {
            return Err(format!(
                "{} ranks don't divide {EXPERTS} experts: choose --ranks among the divisors",
                ep.count()
            ));
        }
        let ids: PerRank<Tensor<i32, TOP_K>> = layer.by_tokens(ep, &layer.topk_ids);
        Ok(Self {
            ep,
            route: Route::new(ep, EXPERTS, &ids).map_err(|error| error.to_string())?,
            x: layer.by_tokens(ep, &layer.hidden_states),
            weights: layer.by_tokens(ep, &layer.topk_weights),
            gate: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, 0),
            up: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, INTER),
            down: layer.by_experts(ep, &layer.down_proj, HIDDEN, 0),
        })
    }

    fn output(&self) -> PerRank<Tensor<bf16, { moe_ffn::HIDDEN }>> {
        PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.x[rank].row_count()))
    }

    /// Task after task, as an ordinary function.
    fn reference(&self) -> Vec<f32> {
        let mut y = self.output();
        moe_ffn::forward(self.ep, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y);
        y.iter().flat_map(Tensor::to_f32).collect()
    }

    /// As a megakernel on every rank.
    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        let mut y = self.output();
        let report = moe_ffn::forward::launch(
            group,
            &self.route,
            &self.x,
            &self.weights,
            &self.gate,
            &self.up,
            &self.down,
            &mut y,
        )?;
        Ok((y.iter().flat_map(Tensor::to_f32).collect(), report))
    }
}

/// Writes the graph and the schedule, and says where.
fn write_pictures(options: &Options) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("can't write to {}: {error}", options.out.display());
    std::fs::create_dir_all(&options.out).map_err(problem)?;
    let graph = options.out.join("moe_ffn.mmd");
    std::fs::write(&graph, moe_ffn::forward::GRAPH_MERMAID).map_err(problem)?;
    println!("graph (Mermaid)  {}", graph.display());
    if let Some(svg) = moe_ffn::forward::schedule_svg(options.ranks) {
        let schedule = options.out.join("moe_ffn_schedule.svg");
        std::fs::write(&schedule, svg).map_err(problem)?;
        println!("schedule (SVG)   {}", schedule.display());
    }
    Ok(())
}

fn print_run(report: &Report, comparison: &Comparison, equal: bool, reference_time: Duration) {
    println!("\n{report}");
    println!("\ncomparison");
    println!(
        "  with the oracle     relative L2 {:.2e}, largest error {:.2e} of the largest value: {}",
        comparison.relative_l2,
        comparison.max_error,
        if comparison.is_good() { "good" } else { "BAD" }
    );
    println!(
        "  with the reference  {} (the same function, run sequentially in {reference_time:.1?})",
        if equal { "equal bit for bit" } else { "DIFFERENT" }
    );
}

fn json(report: &Report, comparison: &Comparison, equal: bool) -> serde_json::Value {
    serde_json::json!({
        "relative_l2": comparison.relative_l2,
        "max_error": comparison.max_error,
        "bitwise_equal": equal,
        "ranks": report.ranks,
        "tasks": report.tasks,
        "empty_tasks": report.empty_tasks,
        "aic_cores_used": report.aic_cores_used,
        "aiv_cores_used": report.aiv_cores_used,
        "counters": report.counters,
        "descriptor_bytes": report.descriptor_bytes,
        "fingerprint": moe_ffn::forward::FINGERPRINT,
    })
}
