//! The layer with gpt-oss experts: transposed matrices, gate and up interleaved by columns, biases, and a clamped unit.

use hpmoe_runtime::prelude::*;

/// Both passes. The forward pass keeps nothing for the backward pass, as in the layers with SwiGLU experts.
#[megakernel]
pub mod gpt_oss {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::taskflows::{
        combine_slots, dispatch_tokens, give_back_rows, project_rows, project_rows_back, router_gradients,
        send_slot_weights, sum_slots, weight_gradients,
    };
    use hpmoe_runtime::tasks::shift;

    /// Columns per token.
    pub const HIDDEN: usize = 64;
    /// Columns between the projections.
    pub const INTER: usize = 32;
    /// Columns of gate and up, which are interleaved.
    pub const GATE_UP: usize = 2 * INTER;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 8;
    /// Experts per token.
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 64;

    /// The upper limit of gate, and the limit of up in both directions.
    pub const LIMIT: f32 = 7.0;
    /// The slope of the sigmoid.
    pub const SLOPE: f32 = 1.702;

    /// Rows per tile of a projection.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Columns of gate and up together, for a tile of `TILE_N` columns of the unit.
    pub const PAIRS: usize = 2 * TILE_N;
    /// Rows per tile of a weight gradient.
    pub const GRAD_M: usize = _;
    /// Columns per tile of a weight gradient.
    pub const GRAD_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Maximum number of rows per put of single numbers.
    pub const PUT_NUMBERS: usize = TILE_M;
    /// Tokens per tile of a sum over k.
    pub const BLOCK: usize = _;
    /// Columns per tile of a sum over k.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of a sum over k.
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Column tiles of the unit; each has a part of the gradient of the router's weights.
    pub const UNIT_PARTS: usize = INTER.div_ceil(TILE_N);
    /// All parts of the gradient of the router's weights, including those from the bias of the down projection.
    pub const PARTS: usize = UNIT_PARTS + HIDDEN.div_ceil(COLUMNS);

    /// The gated unit: `(up + 1) · gate · sigmoid(SLOPE · gate)` of clamped gate and up. Even columns are gate, odd columns are up.
    #[aiv_task]
    pub fn unit(pairs: &Tile<bf16, TILE_M, PAIRS>, bias: &Tile<f32, 1, PAIRS>, h: &mut Tile<bf16, TILE_M, TILE_N>) {
        let pairs = pairs.load() + bias.load();
        let gate = pairs.even_columns::<TILE_N>().at_most(LIMIT);
        let up = pairs.odd_columns::<TILE_N>().clamp(-LIMIT, LIMIT);
        h.store((up + 1.0) * (&gate * (&gate * SLOPE).sigmoid()));
    }

    /// The backward pass of the unit, whose result is multiplied by the router's weight of each row. From `dh`, the gradient of that
    /// product, it computes the gradient of gate and up, the unit's result times the weight, and this tile's part of the weight's gradient.
    #[aiv_task]
    pub fn unit_grad(
        dh: &Tile<bf16, TILE_M, TILE_N>,
        pairs: &Tile<bf16, TILE_M, PAIRS>,
        bias: &Tile<f32, 1, PAIRS>,
        weights: &Tile<f32, TILE_M, 1>,
        dpairs: &mut Tile<bf16, TILE_M, PAIRS>,
        weighted: &mut Tile<bf16, TILE_M, TILE_N>,
        part: &mut Tile<f32, TILE_M, 1>,
    ) {
        let pairs = pairs.load() + bias.load();
        let dh = dh.load();
        let weight = weights.load();
        let gate = pairs.even_columns::<TILE_N>();
        let up = pairs.odd_columns::<TILE_N>();
        let gate_passes = gate.less_equal(LIMIT);
        let up_passes = up.abs().less_equal(LIMIT);
        let gate = gate.at_most(LIMIT);
        let up = up.clamp(-LIMIT, LIMIT) + 1.0;
        let sigmoid = (&gate * SLOPE).sigmoid();
        let swish = &gate * &sigmoid;
        let h = &up * &swish;
        part.store((&dh * &h).row_sum());
        weighted.store(h * &weight);
        let dh = dh * &weight;
        let dgate = &dh * &up * (&sigmoid + (&swish * SLOPE) * (1.0 - &sigmoid));
        let dup = dh * &swish;
        dpairs.store(gate_passes.select(dgate, 0.0).interleave(up_passes.select(dup, 0.0)));
    }

    /// The part of the gradient of the router's weight that comes from these columns of the down projection's bias.
    #[aiv_task]
    pub fn bias_part(
        dout: &Tile<bf16, TILE_M, COLUMNS>,
        bias: &Tile<f32, 1, COLUMNS>,
        part: &mut Tile<f32, TILE_M, 1>,
    ) {
        part.store((dout.load() * bias.load()).row_sum());
    }

    /// The two columns by which products compute the gradients of biases, with a factor for each row: 1 for the bias of gate and up, and
    /// the router's weight for the bias of the down projection.
    #[aiv_task]
    pub fn counts(
        weights: &Tile<f32, TILE_M, 1>,
        once: &mut Tile<bf16, TILE_M, 1>,
        weighted: &mut Tile<bf16, TILE_M, 1>,
    ) {
        let weights = weights.load();
        once.store(weights.select(1.0, 1.0));
        weighted.store(weights);
    }

    /// Sends tokens to their experts, and multiplies them by the matrices of gate and up.
    #[taskflow]
    fn projection(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate_up: &PerRank<Experts<bf16, HIDDEN, GATE_UP>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        pairs: &mut PerRank<Received<bf16, GATE_UP>>,
    ) {
        dispatch_tokens::<PUT, _>(ep, route, x, recv);
        project_rows_back::<TILE_M, PAIRS, _, _>(ep, route, recv, gate_up, pairs);
    }

    /// The layer: `y = Σ_k weights[k] · (unit(x · gate_up + gate_up_bias) · down + down_bias)`.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate_up: &PerRank<Experts<bf16, HIDDEN, GATE_UP>>,
        gate_up_bias: &PerRank<Experts<f32, 1, GATE_UP>>,
        down: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down_bias: &PerRank<Experts<f32, 1, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut pairs = PerRank::ragged::<bf16, GATE_UP>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let shifted = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        projection(ep, route, x, gate_up, &mut recv, &mut pairs);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        unit(
                            &pairs[r].group(e, m).cols(n),
                            &gate_up_bias[r].expert(e).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        project_rows_back::<TILE_M, TILE_N, _, _>(ep, route, &h, down, &mut out);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
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
        give_back_rows::<PUT, _>(ep, route, &shifted, &mut back);
        combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, route, &back, weights, y);
    }

    /// The gradients of all inputs of `forward`, from the gradient of `y`.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate_up: &PerRank<Experts<bf16, HIDDEN, GATE_UP>>,
        gate_up_bias: &PerRank<Experts<f32, 1, GATE_UP>>,
        down: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down_bias: &PerRank<Experts<f32, 1, HIDDEN>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate_up: &mut PerRank<Experts<f32, HIDDEN, GATE_UP>>,
        dgate_up_bias: &mut PerRank<Experts<f32, 1, GATE_UP>>,
        ddown: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown_bias: &mut PerRank<Experts<f32, 1, HIDDEN>>,
    ) {
        let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut weight = PerRank::symmetric::<f32, 1>(ep, route);
        let mut pairs = PerRank::ragged::<bf16, GATE_UP>(ep, route);
        let mut dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let dpairs = PerRank::ragged::<bf16, GATE_UP>(ep, route);
        let weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let once = PerRank::ragged::<bf16, 1>(ep, route);
        let factor = PerRank::ragged::<bf16, 1>(ep, route);
        let parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let mut drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        projection(ep, route, x, gate_up, &mut recv, &mut pairs);
        dispatch_tokens::<PUT, _>(ep, route, dy, &mut dout);
        send_slot_weights::<PUT_NUMBERS>(ep, route, weights, &mut weight);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    counts(&weight[r].group(e, m), &mut once[r].group(e, m), &mut factor[r].group(e, m));
                    for n in 0..HIDDEN.div_ceil(COLUMNS) {
                        bias_part(
                            &dout[r].group(e, m).cols(n),
                            &down_bias[r].expert(e).cols(n),
                            &mut parts[r].group(e, m).cols(n + UNIT_PARTS),
                        );
                    }
                }
            }
        }
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, &dout, down, &mut dh);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        unit_grad(
                            &dh[r].group(e, m).cols(n),
                            &pairs[r].group(e, m).cols(n),
                            &gate_up_bias[r].expert(e).cols(n),
                            &weight[r].group(e, m),
                            &mut dpairs[r].group(e, m).cols(n),
                            &mut weighted[r].group(e, m).cols(n),
                            &mut parts[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, &dpairs, gate_up, &mut drows);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &weighted, &dout, ddown);
        weight_gradients::<1, GRAD_N, _, _>(ep, route, &factor, &dout, ddown_bias);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &recv, &dpairs, dgate_up);
        weight_gradients::<1, GRAD_N, _, _>(ep, route, &once, &dpairs, dgate_up_bias);
        give_back_rows::<PUT, _>(ep, route, &drows, &mut back);
        router_gradients::<PUT_NUMBERS, BLOCK, SLOTS, _>(ep, route, &parts, dweights);
        sum_slots::<BLOCK, SLOTS, COLUMNS, _>(ep, route, &back, dx);
    }
}
