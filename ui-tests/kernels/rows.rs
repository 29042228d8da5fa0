//! Operations on rows and columns of values: bias and scales, interleaved gates, sums of rows, tiles of one column.

use hpmoe_runtime::prelude::*;

/// Interleaved gates and ups with a bias are normalised by rows, scaled, and summed.
#[megakernel]
pub mod rows {
    use hpmoe_runtime::prelude::*;

    /// Columns per token: gates and ups, interleaved.
    pub const PAIRED: usize = 2 * HIDDEN;
    /// More than two repeats of a vector call.
    pub const HIDDEN: usize = 150;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 3;
    pub const TOKENS: usize = 40;
    /// Rows per put, and per tile of the vector tasks: enough for a task to reuse its stages.
    pub const TALL: usize = 160;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 5;
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Columns per tile and per half tile; the last ones are narrower.
    pub const PAIRS: usize = 80;
    pub const HALF: usize = PAIRS / 2;
    /// Enough columns that the next row is too far away for a repeat of a vector call.
    pub const WIDE: usize = 2050;

    pub const LIMIT: f32 = 0.75;
    pub const MEAN: f32 = 1.0 / (HIDDEN as f32);

    #[comm_put]
    pub fn put<const C: usize>(from: &Tile<bf16, PUT, C>, to: &mut Tile<bf16, PUT, C>) {
        to.put(from);
    }

    /// A bias and a limit per column and one number for all; then every second column separately.
    #[aiv_task]
    pub fn gate(x: &Tile<bf16, TALL, PAIRS>, bias: &Tile<bf16, 1, PAIRS>, h: &mut Tile<f32, TALL, HALF>) {
        let bias = bias.load();
        let x = (x.load() + (&bias - 0.125)).max(&(&bias * -2.0)) - bias.row_mean();
        let x = (bias * 0.25).broadcast::<TALL, PAIRS>() - x;
        let gate = x.even_columns::<HALF>().at_most(LIMIT);
        h.store((x.odd_columns::<HALF>().clamp(-LIMIT, LIMIT) + 1.0) * &gate * gate.sigmoid());
    }

    /// A sum for each row, of columns that have scales.
    #[aiv_task]
    pub fn squares(h: &Tile<f32, TALL, HIDDEN>, scale: &Tile<f32, 1, HIDDEN>, sums: &mut Tile<f32, TALL, 1>) {
        let h = h.load();
        sums.store((&h * &h * scale.load()).row_sum() * MEAN + 2.0);
    }

    /// A number for each row.
    #[aiv_task]
    pub fn normalise(h: &Tile<f32, TALL, HIDDEN>, sums: &Tile<f32, TALL, 1>, z: &mut Tile<bf16, TALL, HIDDEN>) {
        z.store(h.load() * (1.0 / sums.load()));
    }

    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        each: &Tile<f32, BLOCK, 1>,
        y: &mut Tile<f32, BLOCK, HIDDEN>,
        total: &mut Tile<f32, BLOCK, 1>,
    ) {
        let sum = slots.load().weighted_sum(&weights.load()) * each.load();
        total.store(sum.row_sum() - each.load());
        y.store(&sum);
    }

    /// The sum over k without weights.
    #[aiv_task]
    pub fn fold(slots: &Tile<bf16, SLOTS, HALF>, y: &mut Tile<f32, BLOCK, HALF>) {
        y.store(slots.load().fold_rows::<BLOCK>());
    }

    /// Few rows, far apart.
    #[aiv_task]
    pub fn far(wide: &Tile<f32, BLOCK, WIDE>, each: &Tile<f32, BLOCK, 1>, z: &mut Tile<bf16, BLOCK, 1>) {
        z.store(wide.load().row_sum() - each.load());
    }

    /// Like routers: scores, the best columns of each row, and shares.
    #[aiv_task]
    pub fn choose(
        y: &Tile<f32, BLOCK, HIDDEN>,
        each: &Tile<f32, BLOCK, 1>,
        ids: &mut Tile<f32, BLOCK, 1>,
        shares: &mut Tile<f32, BLOCK, HIDDEN>,
        same: &mut Tile<f32, BLOCK, HIDDEN>,
    ) {
        let scores = y.load().rms_norm(1e-6) - each.load();
        let mut others = scores.abs();
        let mut chosen = 0.0 * others.arg_max();
        for k in 0..TOP_K {
            let best = others.arg_max();
            others = others.column_ids().equal(&best).select(-1.0, &others);
            chosen += best * ((1 + k * HIDDEN) as f32);
        }
        ids.store(&chosen);
        shares.store(scores.softmax() / (scores.row_min() - others.row_max()) + scores.row_mean());
        same.store(each.load().broadcast::<BLOCK, HIDDEN>());
    }

    /// Only single rows: a block has one row.
    #[aiv_task]
    pub fn single(
        each: &Tile<f32, 1, HIDDEN>,
        more: &Tile<f32, 1, HIDDEN>,
        wide: &Tile<f32, 1, WIDE>,
        y: &mut Tile<f32, 1, HIDDEN>,
    ) {
        let each = each.load() * wide.load().row_sum();
        y.store((&each + &each) * more.load());
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, PAIRED>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        each: &PerRank<Tensor<f32, 1>>,
        wide: &PerRank<Tensor<f32, WIDE>>,
        bias: &PerRank<Experts<bf16, 1, PAIRED>>,
        scale: &PerRank<Experts<f32, 3, HIDDEN>>,
        y: &mut PerRank<Tensor<f32, HIDDEN>>,
        twice: &mut PerRank<Tensor<f32, HIDDEN>>,
        total: &mut PerRank<Tensor<f32, 1>>,
        folded: &mut PerRank<Tensor<f32, HIDDEN>>,
        z: &mut PerRank<Tensor<bf16, 1>>,
        ids: &mut PerRank<Tensor<f32, 1>>,
        shares: &mut PerRank<Tensor<f32, HIDDEN>>,
        same: &mut PerRank<Tensor<f32, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, PAIRED>(ep, route);
        let h = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let sums = PerRank::ragged::<f32, 1>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
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
                    for n in 0..PAIRED.div_ceil(PAIRS) {
                        gate(
                            &recv[r].group(e, m).cols(n),
                            &bias[r].expert(e).tile(0).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    squares(&h[r].group(e, m), &scale[r].expert(e).tile(2), &mut sums[r].group(e, m));
                    normalise(&h[r].group(e, m), &sums[r].group(e, m), &mut out[r].group(e, m));
                }
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        put(&out[r].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                far(&wide[r].rows(t), &each[r].rows(t), &mut z[r].rows(t));
                for n in 0..HIDDEN.div_ceil(HALF) {
                    fold(&back[r].slots(t).cols(n), &mut folded[r].rows(t).cols(n));
                }
                combine(
                    &back[r].slots(t),
                    &weights[r].rows(t),
                    &each[r].rows(t),
                    &mut y[r].rows(t),
                    &mut total[r].rows(t),
                );
                choose(
                    &y[r].rows(t),
                    &each[r].rows(t),
                    &mut ids[r].rows(t),
                    &mut shares[r].rows(t),
                    &mut same[r].rows(t),
                );
            }
            for t in route.token_blocks::<1>(r) {
                single(&y[r].rows(t), &y[r].rows(t), &wide[r].rows(t), &mut twice[r].rows(t));
            }
        }
    }
}
