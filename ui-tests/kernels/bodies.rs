//! Units of current models' experts, forward and backward, and ways to combine their results: one task each.

use hpmoe_runtime::prelude::*;

/// Units on rows of gates and ups, side by side or interleaved.
#[megakernel]
pub mod bodies {
    use hpmoe_runtime::prelude::*;

    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 1;
    pub const TOKENS: usize = 40;
    pub const BLOCK: usize = 9;
    /// Columns of a unit's result; not a multiple of a block.
    pub const INTER: usize = 36;
    /// Gates and ups.
    pub const BOTH: usize = 2 * INTER;
    /// Number of units. Each has its own columns of the result.
    pub const WAYS: usize = 12;
    pub const ALL: usize = WAYS * INTER;
    /// Number of gradients. Each has its own columns, for gates and ups.
    pub const GRADS: usize = 4;
    pub const ALL_GRADS: usize = GRADS * BOTH;
    /// Number of results. Each has its own columns.
    pub const RESULTS: usize = 6;
    pub const ALL_RESULTS: usize = RESULTS * INTER;

    pub const LIMIT: f32 = 1.5;
    pub const ALPHA: f32 = 1.702;
    /// Heights of caps.
    pub const CAP: f32 = 4.0;
    pub const CAP_UP: f32 = 25.0;

    /// A cap with tanh.
    fn capped<const R: usize, const C: usize>(x: &Value<R, C>, height: f32) -> Value<R, C> {
        (x / height).tanh() * height
    }

    /// The gates and ups of rows in which they are side by side.
    fn halves<const R: usize>(x: &Value<R, BOTH>) -> (Value<R, INTER>, Value<R, INTER>) {
        (x.columns::<INTER>(0), x.columns::<INTER>(INTER))
    }

    /// Gates or ups within their limits.
    fn limited<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> {
        x.clamp(-LIMIT, LIMIT)
    }

    /// A steeper sigmoid than usual, multiplied by its argument.
    fn steep_silu<const R: usize, const C: usize>(gate: &Value<R, C>) -> Value<R, C> {
        gate * (gate * ALPHA).sigmoid()
    }

    /// The unit of gpt-oss and MiniMax-M3.
    fn limited_unit<const R: usize, const C: usize>(gate: &Value<R, C>, up: &Value<R, C>) -> Value<R, C> {
        (limited(up) + 1.0) * steep_silu(&gate.at_most(LIMIT))
    }

    #[aiv_task]
    pub fn swiglu(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        h.store(x.columns::<INTER>(0).silu() * x.columns::<INTER>(INTER));
    }

    /// Limits before the unit (DeepSeek-V4).
    #[aiv_task]
    pub fn clipped(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        let gate = x.columns::<INTER>(0).at_most(LIMIT);
        h.store(gate.silu() * limited(&x.columns::<INTER>(INTER)));
    }

    /// Limits after the unit (Step).
    #[aiv_task]
    pub fn clipped_after(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        let gate = x.columns::<INTER>(0).silu().at_most(LIMIT);
        h.store(gate * limited::<BLOCK, INTER>(&x.columns::<INTER>(INTER)));
    }

    /// Interleaved gates and ups, with a bias (gpt-oss).
    #[aiv_task]
    pub fn in_turn(x: &Tile<f32, BLOCK, BOTH>, bias: &Tile<f32, 1, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load() + bias.load();
        h.store(limited_unit(&x.even_columns::<INTER>(), &x.odd_columns::<INTER>()));
    }

    /// The same unit, side by side (MiniMax-M3).
    #[aiv_task]
    pub fn side_by_side(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        h.store(limited_unit(&x.columns::<INTER>(0), &x.columns::<INTER>(INTER)));
    }

    /// Both capped with tanh (Kimi-K3).
    #[aiv_task]
    pub fn two_caps(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let (gate, up) = halves(&x.load());
        h.store(capped(&gate, CAP) * gate.sigmoid() * capped::<_, INTER>(&up, CAP_UP));
    }

    /// A single cap (Inkling-2).
    #[aiv_task]
    pub fn one_cap(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        let capped = capped(&x, CAP);
        let gate = x.columns::<INTER>(0).sigmoid();
        h.store(gate * capped.columns::<INTER>(0) * capped.columns::<INTER>(INTER));
    }

    /// A gate with the exact GELU (Grok).
    #[aiv_task]
    pub fn gelu_gated(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        h.store(x.columns::<INTER>(0).gelu() * x.columns::<INTER>(INTER));
    }

    /// A gate with the GELU that uses tanh (Gemma-4).
    #[aiv_task]
    pub fn gelu_tanh_gated(x: &Tile<f32, BLOCK, BOTH>, h: &mut Tile<f32, BLOCK, INTER>) {
        let x = x.load();
        h.store(x.columns::<INTER>(0).gelu_tanh() * x.columns::<INTER>(INTER));
    }

    /// Without a gate: a squared ReLU (Nemotron), a ReLU and a GELU (Switch, NLLB, JetMoE).
    #[aiv_task]
    pub fn ungated(
        x: &Tile<f32, BLOCK, BOTH>,
        squared: &mut Tile<f32, BLOCK, INTER>,
        relu: &mut Tile<f32, BLOCK, INTER>,
        gelu: &mut Tile<f32, BLOCK, INTER>,
    ) {
        let x = x.load().columns::<INTER>(0);
        squared.store(x.relu().square());
        relu.store(x.relu());
        gelu.store(x.gelu());
    }

    /// The gradient of `clipped`, side by side. At a limit, the gradient passes.
    #[aiv_task]
    pub fn clipped_grad(x: &Tile<f32, BLOCK, BOTH>, dh: &Tile<f32, BLOCK, INTER>, dx: &mut Tile<f32, BLOCK, BOTH>) {
        let x = x.load();
        let dh = dh.load();
        let g = x.columns::<INTER>(0);
        let u = x.columns::<INTER>(INTER);
        let gate = g.at_most(LIMIT);
        let s = gate.sigmoid();
        let dg = &dh * u.clamp(-LIMIT, LIMIT) * (&s * (1.0 + &gate * (1.0 - &s)));
        let du = dh * (gate * s);
        let dg = g.less_equal(LIMIT).select(dg, 0.0);
        let du = u.abs().less_equal(LIMIT).select(du, 0.0);
        dx.store(dg.concat(du));
    }

    /// The gradient of `in_turn`.
    #[aiv_task]
    pub fn in_turn_grad(
        x: &Tile<f32, BLOCK, BOTH>,
        bias: &Tile<f32, 1, BOTH>,
        dh: &Tile<f32, BLOCK, INTER>,
        dx: &mut Tile<f32, BLOCK, BOTH>,
    ) {
        let x = x.load() + bias.load();
        let dh = dh.load();
        let g = x.even_columns::<INTER>();
        let u = x.odd_columns::<INTER>();
        let gate = g.at_most(LIMIT);
        let s = (&gate * ALPHA).sigmoid();
        let dg = &dh * (u.clamp(-LIMIT, LIMIT) + 1.0) * (&s * (1.0 + ALPHA * &gate * (1.0 - &s)));
        let du = dh * (gate * s);
        let dg = g.less_equal(LIMIT).select(dg, 0.0);
        dx.store(dg.interleave(u.abs().less_equal(LIMIT).select(du, 0.0)));
    }

    /// The gradient of `two_caps`.
    #[aiv_task]
    pub fn two_caps_grad(x: &Tile<f32, BLOCK, BOTH>, dh: &Tile<f32, BLOCK, INTER>, dx: &mut Tile<f32, BLOCK, BOTH>) {
        let x = x.load();
        let dh = dh.load();
        let g = x.columns::<INTER>(0);
        let a = (&g / CAP).tanh();
        let b = (x.columns::<INTER>(INTER) / CAP_UP).tanh();
        let s = g.sigmoid();
        let dg = &dh * &b * CAP_UP * (&s * (1.0 - a.square()) + &a * CAP * &s * (1.0 - &s));
        dx.store(dg.concat(dh * a * CAP * s * (1.0 - b.square())));
    }

    /// The gradient of the squared ReLU, in the columns of gates; ups have none.
    #[aiv_task]
    pub fn squared_grad(x: &Tile<f32, BLOCK, BOTH>, dh: &Tile<f32, BLOCK, INTER>, dx: &mut Tile<f32, BLOCK, BOTH>) {
        let dg = x.load().columns::<INTER>(0).relu() * 2.0 * dh.load();
        dx.store(dg.concat(&dg * 0.0));
    }

    /// Ways to combine results: a norm for each expert, a norm without the mean, a shared expert with a gate, the mean of both, a scale after
    /// the sum is rounded, and the token itself for experts that return it.
    #[aiv_task]
    pub fn finish(
        routed: &Tile<f32, BLOCK, INTER>,
        shared: &Tile<f32, BLOCK, INTER>,
        gate: &Tile<f32, 1, INTER>,
        own: &Tile<f32, BLOCK, 1>,
        normed: &mut Tile<f32, BLOCK, INTER>,
        centred: &mut Tile<f32, BLOCK, INTER>,
        gated: &mut Tile<f32, BLOCK, INTER>,
        mean: &mut Tile<f32, BLOCK, INTER>,
        scaled: &mut Tile<f32, BLOCK, INTER>,
        with_own: &mut Tile<f32, BLOCK, INTER>,
    ) {
        let routed = routed.load();
        let shared = shared.load();
        normed.store(routed.rms_norm(1e-6));
        centred.store((&routed - routed.row_mean()).rms_norm(1e-6));
        gated.store(&routed + &shared * (&shared * gate.load()).row_sum().sigmoid());
        mean.store((&routed + &shared) / 2.0);
        scaled.store(routed.cast::<bf16>() * 2.0 + &shared);
        with_own.store(routed + shared * own.load());
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<f32, BOTH>>,
        own: &PerRank<Tensor<f32, 1>>,
        bias: &PerRank<Matrix<f32, 1, BOTH>>,
        h: &mut PerRank<Tensor<f32, ALL>>,
        results: &mut PerRank<Tensor<f32, ALL_RESULTS>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                swiglu(&x[r].rows(t), &mut h[r].rows(t).cols(0));
                clipped(&x[r].rows(t), &mut h[r].rows(t).cols(1));
                clipped_after(&x[r].rows(t), &mut h[r].rows(t).cols(2));
                in_turn(&x[r].rows(t), &bias[r].tile(0), &mut h[r].rows(t).cols(3));
                side_by_side(&x[r].rows(t), &mut h[r].rows(t).cols(4));
                two_caps(&x[r].rows(t), &mut h[r].rows(t).cols(5));
                one_cap(&x[r].rows(t), &mut h[r].rows(t).cols(6));
                gelu_gated(&x[r].rows(t), &mut h[r].rows(t).cols(7));
                gelu_tanh_gated(&x[r].rows(t), &mut h[r].rows(t).cols(8));
                ungated(
                    &x[r].rows(t),
                    &mut h[r].rows(t).cols(9),
                    &mut h[r].rows(t).cols(10),
                    &mut h[r].rows(t).cols(11),
                );
                finish(
                    &x[r].rows(t).cols(0),
                    &x[r].rows(t).cols(1),
                    &bias[r].tile(0).cols(0),
                    &own[r].rows(t),
                    &mut results[r].rows(t).cols(0),
                    &mut results[r].rows(t).cols(1),
                    &mut results[r].rows(t).cols(2),
                    &mut results[r].rows(t).cols(3),
                    &mut results[r].rows(t).cols(4),
                    &mut results[r].rows(t).cols(5),
                );
            }
        }
    }

    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<f32, BOTH>>,
        dh: &PerRank<Tensor<f32, INTER>>,
        bias: &PerRank<Matrix<f32, 1, BOTH>>,
        dx: &mut PerRank<Tensor<f32, ALL_GRADS>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                clipped_grad(&x[r].rows(t), &dh[r].rows(t), &mut dx[r].rows(t).cols(0));
                in_turn_grad(&x[r].rows(t), &bias[r].tile(0), &dh[r].rows(t), &mut dx[r].rows(t).cols(1));
                two_caps_grad(&x[r].rows(t), &dh[r].rows(t), &mut dx[r].rows(t).cols(2));
                squared_grad(&x[r].rows(t), &dh[r].rows(t), &mut dx[r].rows(t).cols(3));
            }
        }
    }
}
