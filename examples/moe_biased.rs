//! The layer with biases and with the gated unit of gpt-oss. One projection computes gate and up in alternating columns; both are
//! clamped, and the sigmoid's slope is 1.702.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example::{self, Example, Kernel, kernel};
use support::layer::Layer;
use support::tensors::{Tensors, numbers};

/// The layer: dispatch, one projection for gate and up, the gated unit, down projection, return, top-k sum; both projections
/// have a bias.
#[megakernel]
pub mod moe_biased {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{combine, dispatch, give_back, project, shift};

    /// Columns per token.
    pub const HIDDEN: usize = 128;
    /// Columns between the projections.
    pub const INTER: usize = 64;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 16;
    /// Experts per token.
    pub const TOP_K: usize = 4;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 384;

    /// The limit on gate and up.
    pub const LIMIT: f32 = 7.0;
    /// The slope of the sigmoid.
    pub const SLOPE: f32 = 1.702;

    /// Rows per tile of a projection. The build chooses tile sizes that a kernel leaves open.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Columns of gate and up together, in alternation, for a tile's columns.
    pub const PAIRS: usize = 2 * TILE_N;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the top-k sum.
    pub const BLOCK: usize = _;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// The gated unit: `(up + 1) · gate · sigmoid(SLOPE · gate)`. Even columns are gate, odd columns are up.
    #[aiv_task]
    pub fn unit(pairs: &Tile<bf16, TILE_M, PAIRS>, bias: &Tile<f32, 1, PAIRS>, h: &mut Tile<bf16, TILE_M, TILE_N>) {
        let pairs = pairs.load() + bias.load();
        let gate = pairs.even_columns::<TILE_N>().at_most(LIMIT);
        let up = pairs.odd_columns::<TILE_N>().clamp(-LIMIT, LIMIT);
        h.store((up + 1.0) * (&gate * (&gate * SLOPE).sigmoid()));
    }

    /// The layer for the whole group. This function defines what the kernel computes, and its calls are the dependency graph.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate_up: &PerRank<Experts<bf16, { 2 * INTER }, HIDDEN>>,
        gate_up_bias: &PerRank<Experts<f32, 1, { 2 * INTER }>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        down_bias: &PerRank<Experts<f32, 1, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let gu = PerRank::ragged::<bf16, { 2 * INTER }>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let shifted = PerRank::ragged::<bf16, HIDDEN>(ep, route);
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
                        project::<PAIRS, _, _>(
                            &recv[r].group(e, m),
                            &gate_up[r].expert(e).tile(n),
                            &mut gu[r].group(e, m).cols(n),
                        );
                        unit(
                            &gu[r].group(e, m).cols(n),
                            &gate_up_bias[r].expert(e).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &h[r].group(e, m),
                            &down[r].expert(e).tile(n),
                            &mut out[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(COLUMNS) {
                        shift::<COLUMNS, _>(
                            &out[r].group(e, m).cols(n),
                            &down_bias[r].expert(e).cols(n),
                            &mut shifted[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&shifted[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    combine::<SLOTS, COLUMNS, _, _>(
                        &back[r].slots(t).cols(n),
                        &weights[r].rows(t),
                        &mut y[r].rows(t).cols(n),
                    );
                }
            }
        }
    }
}

/// The layer's tensors, divided among the ranks, with alternating rows of gate and up, and with biases.
pub struct Biased {
    routed: Tensors<{ moe_biased::HIDDEN }, { moe_biased::INTER }, { moe_biased::TOP_K }>,
    gate_up: PerRank<Experts<bf16, { 2 * moe_biased::INTER }, { moe_biased::HIDDEN }>>,
    gate_up_bias: PerRank<Experts<f32, 1, { 2 * moe_biased::INTER }>>,
    down_bias: PerRank<Experts<f32, 1, { moe_biased::HIDDEN }>>,
}

/// Made-up biases of each rank's experts, because the layer's file has none: number `n` of expert `e` is
/// `((31·e + 17·n) mod 64 - 32) · step`.
fn biases<const N: usize>(ep: Ranks, step: f32) -> PerRank<Experts<f32, 1, N>> {
    let own = moe_biased::EXPERTS / ep.count();
    PerRank::from_fn(ep, |rank| {
        let experts = rank.id() * own..(rank.id() + 1) * own;
        let bias = |e, n| ((31 * e + 17 * n) % 64) as f32 - 32.0;
        Experts::from_vec(experts.flat_map(|e| (0..N).map(move |n| bias(e, n) * step)).collect())
    })
}

impl Example for Biased {
    const KERNEL: Kernel = kernel!(moe_biased);
    const VARIANT: Option<&'static str> = Some("biased");

    fn of(layer: &Layer, group: &Group) -> Result<Self, String> {
        let routed = Tensors::of(layer, group, &Self::KERNEL.sizes)?;
        let ep = routed.ep;
        Ok(Self {
            gate_up: PerRank::from_fn(ep, |rank| taking_turns(&routed.gate[rank], &routed.up[rank])),
            // Large enough that a tenth of all gate and up numbers exceed the limits.
            gate_up_bias: biases(ep, 0.25),
            down_bias: biases(ep, 1.0 / 256.0),
            routed,
        })
    }

    fn reference(&self) -> Vec<f32> {
        let (routed, mut y) = (&self.routed, self.routed.output());
        let (gate_up, gate_up_bias, down_bias) = (&self.gate_up, &self.gate_up_bias, &self.down_bias);
        moe_biased::forward(
            routed.ep,
            &routed.route,
            &routed.x,
            &routed.weights,
            gate_up,
            gate_up_bias,
            &routed.down,
            down_bias,
            &mut y,
        );
        numbers(&y)
    }

    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
        let (routed, mut y) = (&self.routed, self.routed.output());
        let (gate_up, gate_up_bias, down_bias) = (&self.gate_up, &self.gate_up_bias, &self.down_bias);
        let report = moe_biased::forward::launch(
            group,
            &routed.route,
            &routed.x,
            &routed.weights,
            gate_up,
            gate_up_bias,
            &routed.down,
            down_bias,
            &mut y,
        )?;
        Ok((numbers(&y), report))
    }
}

/// The rows of gate and up in alternation: row 2i is row i of gate, row 2i + 1 is row i of up.
fn taking_turns<const N: usize, const TWICE: usize, const K: usize>(
    gate: &Experts<bf16, N, K>,
    up: &Experts<bf16, N, K>,
) -> Experts<bf16, TWICE, K> {
    let (gate, up) = (gate.to_vec(), up.to_vec());
    Experts::from_vec(gate.chunks(K).zip(up.chunks(K)).flat_map(|(gate, up)| [gate, up].concat()).collect())
}

fn main() -> ExitCode {
    example::main::<Biased>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Biased>();
    }
}
