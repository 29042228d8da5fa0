//! All element-wise operations of vector tasks, with numbers and constants.

use hpmoe_runtime::prelude::*;

/// Tokens are activated, sent to their experts' ranks, activated again with received rows, and summed.
#[megakernel]
pub mod elementwise {
    use hpmoe_runtime::prelude::*;

    /// Not a multiple of 8 or 16, nor of the tiles.
    pub const HIDDEN: usize = 77;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;
    /// Rows of the vector tasks' tiles, and of a put.
    pub const TALL: usize = 24;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 5;
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Columns per tile.
    pub const WIDE: usize = 20;

    pub const LIMIT: f32 = 0.7;
    /// The value of gpt-oss.
    pub const ALPHA: f32 = 1.702;
    pub const MEAN: f32 = 1.0 / (HIDDEN as f32);

    #[comm_put]
    pub fn put(from: &Tile<bf16, PUT, HIDDEN>, to: &mut Tile<bf16, PUT, HIDDEN>) {
        to.put(from);
    }

    /// Sums, differences, products and quotients of values and numbers.
    #[aiv_task]
    pub fn arithmetic(x: &Tile<bf16, TALL, WIDE>, y: &mut Tile<f32, TALL, WIDE>) {
        let x = x.load();
        let half = 0.5;
        let a = 1.0 + &x - half;
        let b = (&a + &x) * 2.0 - (-0.25 - &x) * (ALPHA / 2.0);
        let c = (&x - &b) / (2.0 + &x * &x);
        y.store(&a * -&b / 3.0 + 1.0 / (&c * &c + 4.0) - MEAN * &x);
    }

    /// SwiGLU with a limit, forward and backward.
    #[aiv_task]
    pub fn activate(
        gate: &Tile<bf16, TALL, WIDE>,
        up: &Tile<f32, TALL, WIDE>,
        h: &mut Tile<bf16, TALL, WIDE>,
        dgate: &mut Tile<f32, TALL, WIDE>,
    ) {
        let gate = gate.load().at_most(LIMIT);
        let up = up.load().clamp(-LIMIT, LIMIT);
        let s = (&gate * ALPHA).sigmoid();
        h.store((&up + 1.0) * (&gate * &s));
        dgate.store(&up * (&s * (1.0 + ALPHA * &gate * (1.0 - &s))));
    }

    /// Functions, and choices between their results.
    #[aiv_task]
    pub fn functions(x: &Tile<bf16, TALL, WIDE>, f: &mut Tile<f32, TALL, WIDE>) {
        let x = x.load();
        let a = (&x * 4.0).tanh() + x.gelu() * x.gelu_tanh();
        let b = x.softplus().sqrt() + x.log_sigmoid();
        let c = (x.abs() + 0.5).ln() + (x.square() + 1.0).rsqrt();
        let d = (&x * 3.0).round() - (&x * 3.0).floor();
        f.store(x.less(&a).select(&b, &c) + x.greater_equal(0.25).select(d.relu(), -1.0));
    }

    /// Maximum, minimum, and powers of e.
    #[aiv_task]
    pub fn compare(
        h: &Tile<bf16, TALL, WIDE>,
        d: &Tile<f32, TALL, WIDE>,
        f: &Tile<f32, TALL, WIDE>,
        z: &mut Tile<bf16, TALL, WIDE>,
    ) {
        let a = h.load();
        let b = d.load();
        z.store(a.max(&b).exp() - b.min(&a).at_least(-0.5).silu() + f.load());
    }

    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<f32, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&(weights.load() * (1.0 / (TOP_K as f32)))));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<f32, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let up = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let h = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let d = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let f = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let z = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TALL>(e) {
                    for n in 0..HIDDEN.div_ceil(WIDE) {
                        arithmetic(&recv[r].group(e, m).cols(n), &mut up[r].group(e, m).cols(n));
                        activate(
                            &recv[r].group(e, m).cols(n),
                            &up[r].group(e, m).cols(n),
                            &mut h[r].group(e, m).cols(n),
                            &mut d[r].group(e, m).cols(n),
                        );
                        functions(&recv[r].group(e, m).cols(n), &mut f[r].group(e, m).cols(n));
                        compare(
                            &h[r].group(e, m).cols(n),
                            &d[r].group(e, m).cols(n),
                            &f[r].group(e, m).cols(n),
                            &mut z[r].group(e, m).cols(n),
                        );
                    }
                }
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        put(&z[r].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                combine(&back[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}
