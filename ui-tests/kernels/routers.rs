//! Routers of current models, one or two tasks each: scores, a choice, weights. Without experts: the kernels write ids and weights.

use hpmoe_runtime::prelude::*;

/// Scores from a sigmoid or the root of a softplus, chosen with a bias that is no part of the weights. No size is a multiple of a block.
#[megakernel]
pub mod scored {
    use hpmoe_runtime::prelude::*;

    pub const EXPERTS: usize = 40;
    pub const TOP_K: usize = 6;
    pub const TOKENS: usize = 40;
    /// Tokens per tile.
    pub const BLOCK: usize = 7;
    pub const GROUPS: usize = 4;
    /// Experts per group.
    pub const GROUP: usize = EXPERTS / GROUPS;
    /// Groups of all tokens of a tile.
    pub const ALL: usize = BLOCK * GROUPS;
    /// Number of groups whose experts can be chosen.
    pub const STAY: usize = 2;
    /// Routers; each has its columns of ids and weights.
    pub const WAYS: usize = 6;
    pub const IDS: usize = WAYS * TOP_K;
    /// Lower than any score.
    pub const LEAST: f32 = -3.0e38;

    /// Groups by the sum of their two best scores (DeepSeek-V3, Ling, Kimi-K3).
    #[aiv_task]
    pub fn grouped(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().sigmoid();
        let groups = (&s + bias.load()).reshape::<ALL, GROUP>();
        let others = groups.column_ids().equal(groups.arg_max()).select(LEAST, &groups);
        let best = (groups.row_max() + others.row_max()).reshape::<BLOCK, GROUPS>().top_k::<STAY>();
        let stays = best.equal(&best).place::<GROUPS>(&best).reshape::<ALL, 1>();
        let left = stays.broadcast::<ALL, GROUP>().select(&groups, LEAST).reshape::<BLOCK, EXPERTS>();
        let chosen = left.top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / (w.row_sum() + 1e-20) * 2.5);
        ids.store(chosen);
    }

    /// One group (Kimi-K2, GLM-4.5, MiniMax-M2, HY, Nemotron, Step, LFM2 with its ε).
    #[aiv_task]
    pub fn biased(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().sigmoid();
        let chosen = (&s + bias.load()).top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / (w.row_sum() + 1e-6));
        ids.store(chosen);
    }

    /// The root of a softplus (DeepSeek-V4).
    #[aiv_task]
    pub fn rooted(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softplus().sqrt();
        let chosen = (&s + bias.load()).top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / (w.row_sum() + 1e-20) * 1.5);
        ids.store(chosen);
    }

    /// The bias is added to the logits; the chosen ones are scored without it and not normalised (Kolibri).
    #[aiv_task]
    pub fn on_logits(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let z = z.load();
        let chosen = (&z + bias.load()).top_k::<TOP_K>();
        weights.store(z.pick(&chosen).sigmoid());
        ids.store(chosen);
    }

    /// A multiplier of the logits (Muse-Spark).
    #[aiv_task]
    pub fn multiplied(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = (z.load() * 0.125).sigmoid();
        let chosen = (&s + bias.load()).top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum());
        ids.store(chosen);
    }

    /// Ids from a table for the token, or chosen by another launch; only weights are computed (DeepSeek-V4's first layers).
    #[aiv_task]
    pub fn given(
        z: &Tile<f32, BLOCK, EXPERTS>,
        chosen: &Tile<i32, BLOCK, TOP_K>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let chosen = chosen.load();
        let w = z.load().softplus().sqrt().pick(&chosen);
        weights.store(&w / (w.row_sum() + 1e-20) * 1.5);
        ids.store(chosen);
    }

    #[taskflow]
    pub fn route_tokens(
        ep: Ranks,
        route: &Route,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        table: &PerRank<Tensor<i32, TOP_K>>,
        bias: &PerRank<Matrix<f32, 1, EXPERTS>>,
        ids: &mut PerRank<Tensor<i32, IDS>>,
        weights: &mut PerRank<Tensor<f32, IDS>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                grouped(&z[r].rows(t), &bias[r].tile(0), &mut ids[r].rows(t).cols(0), &mut weights[r].rows(t).cols(0));
                biased(&z[r].rows(t), &bias[r].tile(0), &mut ids[r].rows(t).cols(1), &mut weights[r].rows(t).cols(1));
                rooted(&z[r].rows(t), &bias[r].tile(0), &mut ids[r].rows(t).cols(2), &mut weights[r].rows(t).cols(2));
                on_logits(
                    &z[r].rows(t),
                    &bias[r].tile(0),
                    &mut ids[r].rows(t).cols(3),
                    &mut weights[r].rows(t).cols(3),
                );
                multiplied(
                    &z[r].rows(t),
                    &bias[r].tile(0),
                    &mut ids[r].rows(t).cols(4),
                    &mut weights[r].rows(t).cols(4),
                );
                given(&z[r].rows(t), &table[r].rows(t), &mut ids[r].rows(t).cols(5), &mut weights[r].rows(t).cols(5));
            }
        }
    }
}

/// Scores from a softmax, over all experts or over the chosen ones.
#[megakernel]
pub mod shared_out {
    use hpmoe_runtime::prelude::*;

    pub const EXPERTS: usize = 64;
    pub const TOP_K: usize = 8;
    pub const TOKENS: usize = 40;
    /// Tokens per tile.
    pub const BLOCK: usize = 12;
    pub const GROUPS: usize = 4;
    /// Experts per group.
    pub const GROUP: usize = EXPERTS / GROUPS;
    /// Groups of all tokens of a tile.
    pub const ALL: usize = BLOCK * GROUPS;
    /// Number of groups whose experts can be chosen.
    pub const STAY: usize = 2;
    /// Number of experts that are chosen from each group, if it is the same for all groups.
    pub const EACH: usize = TOP_K / GROUPS;
    /// Routers; each has its columns of ids and weights.
    pub const WAYS: usize = 11;
    pub const IDS: usize = WAYS * TOP_K;
    pub const LEAST: f32 = -3.0e38;

    /// The largest scores, not normalised (DeepSeek-V2 without groups, OLMoE, FlexOLMo, Jamba, Switch).
    #[aiv_task]
    pub fn greedy(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = s.top_k::<TOP_K>();
        weights.store(s.pick(&chosen) * 16.0);
        ids.store(chosen);
    }

    /// Groups by their best score (DeepSeek-V2).
    #[aiv_task]
    pub fn best_groups(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let groups = s.reshape::<ALL, GROUP>();
        let best = groups.row_max().reshape::<BLOCK, GROUPS>().top_k::<STAY>();
        let stays = best.equal(&best).place::<GROUPS>(&best).reshape::<ALL, 1>();
        let chosen = (groups * stays).reshape::<BLOCK, EXPERTS>().top_k::<TOP_K>();
        weights.store(s.pick(&chosen));
        ids.store(chosen);
    }

    /// Normalised (Qwen3, Mixtral, Hunyuan, Arctic).
    #[aiv_task]
    pub fn normalised(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = s.top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum());
        ids.store(chosen);
    }

    /// A softmax over the chosen ones (gpt-oss with the bias of its gate; JetMoE, Granite).
    #[aiv_task]
    pub fn of_chosen(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let z = z.load() + bias.load();
        let chosen = z.top_k::<TOP_K>();
        weights.store(z.pick(&chosen).softmax());
        ids.store(chosen);
    }

    /// Logits with a soft cap (Grok, Laguna).
    #[aiv_task]
    pub fn capped(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = ((z.load() / 30.0).tanh() * 30.0).softmax();
        let chosen = s.top_k::<TOP_K>();
        weights.store(s.pick(&chosen));
        ids.store(chosen);
    }

    /// A bias, and a floor under the sum (ERNIE-4.5).
    #[aiv_task]
    pub fn floored(
        z: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = (&s + bias.load()).top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum().at_least(0.25));
        ids.store(chosen);
    }

    /// Groups by the sum of their two best scores, 0 for the others (Mistral-4).
    #[aiv_task]
    pub fn best_pairs(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let groups = s.reshape::<ALL, GROUP>();
        let pair = groups.pick(&groups.top_k::<2>());
        let best = pair.row_sum().reshape::<BLOCK, GROUPS>().top_k::<STAY>();
        let stays = best.equal(&best).place::<GROUPS>(&best).reshape::<ALL, 1>();
        let chosen = (groups * stays).reshape::<BLOCK, EXPERTS>().top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum());
        ids.store(chosen);
    }

    /// Equally many from each group (Pangu Pro).
    #[aiv_task]
    pub fn of_each_group(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let groups = z.load().softmax().reshape::<ALL, GROUP>();
        let numbers = groups.row_max().reshape::<BLOCK, GROUPS>().column_ids().reshape::<ALL, 1>();
        let chosen = groups.top_k::<EACH>();
        weights.store(groups.pick(&chosen).reshape::<BLOCK, TOP_K>());
        ids.store((chosen + numbers * (GROUP as f32)).reshape::<BLOCK, TOP_K>());
    }

    /// Divided by the root of the sum of squares (DBRX with p = 2; with p = 1 it is `normalised`).
    #[aiv_task]
    pub fn by_norm(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = s.top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.square().row_sum().sqrt());
        ids.store(chosen);
    }

    /// Chosen by logits, weighted by their sigmoid (Cohere2; Llama-4 with one expert).
    #[aiv_task]
    pub fn by_logit(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let z = z.load();
        let chosen = z.top_k::<TOP_K>();
        weights.store(z.pick(&chosen).sigmoid());
        ids.store(chosen);
    }

    /// A scale for each expert (Gemma-4).
    #[aiv_task]
    pub fn scaled_by_expert(
        z: &Tile<f32, BLOCK, EXPERTS>,
        scale: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = s.top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum() * scale.load().pick(&chosen));
        ids.store(chosen);
    }

    #[taskflow]
    pub fn route_tokens(
        ep: Ranks,
        route: &Route,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        bias: &PerRank<Matrix<f32, 1, EXPERTS>>,
        ids: &mut PerRank<Tensor<i32, IDS>>,
        weights: &mut PerRank<Tensor<f32, IDS>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                greedy(&z[r].rows(t), &mut ids[r].rows(t).cols(0), &mut weights[r].rows(t).cols(0));
                best_groups(&z[r].rows(t), &mut ids[r].rows(t).cols(1), &mut weights[r].rows(t).cols(1));
                normalised(&z[r].rows(t), &mut ids[r].rows(t).cols(2), &mut weights[r].rows(t).cols(2));
                of_chosen(
                    &z[r].rows(t),
                    &bias[r].tile(0),
                    &mut ids[r].rows(t).cols(3),
                    &mut weights[r].rows(t).cols(3),
                );
                capped(&z[r].rows(t), &mut ids[r].rows(t).cols(4), &mut weights[r].rows(t).cols(4));
                floored(&z[r].rows(t), &bias[r].tile(0), &mut ids[r].rows(t).cols(5), &mut weights[r].rows(t).cols(5));
                best_pairs(&z[r].rows(t), &mut ids[r].rows(t).cols(6), &mut weights[r].rows(t).cols(6));
                of_each_group(&z[r].rows(t), &mut ids[r].rows(t).cols(7), &mut weights[r].rows(t).cols(7));
                by_norm(&z[r].rows(t), &mut ids[r].rows(t).cols(8), &mut weights[r].rows(t).cols(8));
                by_logit(&z[r].rows(t), &mut ids[r].rows(t).cols(9), &mut weights[r].rows(t).cols(9));
                scaled_by_expert(
                    &z[r].rows(t),
                    &bias[r].tile(0),
                    &mut ids[r].rows(t).cols(10),
                    &mut weights[r].rows(t).cols(10),
                );
            }
        }
    }
}

/// Routers that don't choose only experts, or don't choose by a single score.
#[megakernel]
pub mod particular {
    use hpmoe_runtime::prelude::*;

    pub const EXPERTS: usize = 24;
    /// Experts that return the token unchanged: their ids follow those of the others.
    pub const ZEROS: usize = 12;
    pub const WITH_ZEROS: usize = EXPERTS + ZEROS;
    pub const TOP_K: usize = 5;
    /// Experts that every token goes to, scored by the router.
    pub const SHARED: usize = 2;
    pub const WITH_SHARED: usize = EXPERTS + SHARED;
    pub const BOTH: usize = TOP_K + SHARED;
    pub const PAIR: usize = 2;
    pub const TOKENS: usize = 40;
    pub const BLOCK: usize = 9;
    pub const LEAST: f32 = -3.0e38;

    /// Some ids name no expert: their weights are for the token itself (LongCat-Flash).
    #[aiv_task]
    pub fn with_zeros(
        z: &Tile<f32, BLOCK, WITH_ZEROS>,
        bias: &Tile<f32, 1, WITH_ZEROS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
        own: &mut Tile<f32, BLOCK, 1>,
    ) {
        let s = z.load().softmax();
        let chosen = (&s + bias.load()).top_k::<TOP_K>();
        let w = s.pick(&chosen) * 6.0;
        let real = chosen.less(EXPERTS as f32);
        ids.store(real.select(&chosen, -1.0));
        weights.store(real.select(&w, 0.0));
        own.store(real.select(0.0, &w).row_sum());
    }

    /// Weights over the chosen experts and the shared ones (Inkling).
    #[aiv_task]
    pub fn with_shared(
        z: &Tile<f32, BLOCK, WITH_SHARED>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
        shared: &mut Tile<f32, BLOCK, SHARED>,
    ) {
        let s = z.load().log_sigmoid();
        let routed = s.columns::<EXPERTS>(0);
        let chosen = routed.top_k::<TOP_K>();
        let all = routed.pick(&chosen).concat::<BOTH>(s.columns::<SHARED>(EXPERTS)).softmax() * 2.5;
        weights.store(all.columns::<TOP_K>(0));
        shared.store(all.columns::<SHARED>(TOP_K));
        ids.store(chosen);
    }

    /// Two choices, each among those close to the best of the remaining ones (PhiMoE).
    #[aiv_task]
    pub fn sparse_mixer(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, PAIR>,
        weights: &mut Tile<f32, BLOCK, PAIR>,
    ) {
        let z = z.load();
        let first = z.arg_max();
        let best = z.row_max();
        let gap = (best.broadcast::<BLOCK, EXPERTS>() - &z) / z.abs().max(&best);
        let near = gap.greater(0.02).select(LEAST, &z).softmax();
        let rest = z.column_ids().equal(&first).select(LEAST, &z);
        let second = rest.arg_max();
        let next = rest.row_max();
        let gap = (next.broadcast::<BLOCK, EXPERTS>() - &z) / z.abs().max(&next);
        let near_next = gap.greater(0.02).select(LEAST, &rest).softmax();
        weights.store(near.pick(&first).concat::<PAIR>(near_next.pick(&second)));
        ids.store(first.concat::<PAIR>(&second));
    }

    /// Two sets of experts, one for each kind of token: ids of the second follow those of the first (ERNIE-4.5-VL).
    #[aiv_task]
    pub fn two_sets(
        text: &Tile<f32, BLOCK, EXPERTS>,
        vision: &Tile<f32, BLOCK, EXPERTS>,
        kind: &Tile<f32, BLOCK, 1>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let kind = kind.load();
        let s = kind.broadcast::<BLOCK, EXPERTS>().select(vision.load(), text.load()).softmax();
        let chosen = s.top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum());
        ids.store(chosen + kind * (EXPERTS as f32));
    }

    /// The gradient of logits from that of weights, as for `normalised` with a sigmoid: chosen scores, then back to their columns.
    #[aiv_task]
    pub fn gradient(
        z: &Tile<f32, BLOCK, EXPERTS>,
        chosen: &Tile<i32, BLOCK, TOP_K>,
        dw: &Tile<f32, BLOCK, TOP_K>,
        dz: &mut Tile<f32, BLOCK, EXPERTS>,
    ) {
        let chosen = chosen.load();
        let dw = dw.load();
        let s = z.load().sigmoid().pick(&chosen);
        let sum = s.row_sum();
        let ds = (&dw - (&dw * &s).row_sum() / &sum) / &sum;
        dz.store((ds * &s * (1.0 - &s)).place::<EXPERTS>(&chosen));
    }

    #[taskflow]
    pub fn route_tokens(
        ep: Ranks,
        route: &Route,
        z: &PerRank<Tensor<f32, WITH_ZEROS>>,
        zs: &PerRank<Tensor<f32, WITH_SHARED>>,
        text: &PerRank<Tensor<f32, EXPERTS>>,
        vision: &PerRank<Tensor<f32, EXPERTS>>,
        kind: &PerRank<Tensor<f32, 1>>,
        dw: &PerRank<Tensor<f32, TOP_K>>,
        bias: &PerRank<Matrix<f32, 1, WITH_ZEROS>>,
        zero_ids: &mut PerRank<Tensor<i32, TOP_K>>,
        zero_weights: &mut PerRank<Tensor<f32, TOP_K>>,
        own: &mut PerRank<Tensor<f32, 1>>,
        shared_ids: &mut PerRank<Tensor<i32, TOP_K>>,
        shared_weights: &mut PerRank<Tensor<f32, TOP_K>>,
        shared: &mut PerRank<Tensor<f32, SHARED>>,
        pair_ids: &mut PerRank<Tensor<i32, PAIR>>,
        pair_weights: &mut PerRank<Tensor<f32, PAIR>>,
        set_ids: &mut PerRank<Tensor<i32, TOP_K>>,
        set_weights: &mut PerRank<Tensor<f32, TOP_K>>,
        dz: &mut PerRank<Tensor<f32, EXPERTS>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                with_zeros(
                    &z[r].rows(t),
                    &bias[r].tile(0),
                    &mut zero_ids[r].rows(t),
                    &mut zero_weights[r].rows(t),
                    &mut own[r].rows(t),
                );
                with_shared(
                    &zs[r].rows(t),
                    &mut shared_ids[r].rows(t),
                    &mut shared_weights[r].rows(t),
                    &mut shared[r].rows(t),
                );
                sparse_mixer(&text[r].rows(t), &mut pair_ids[r].rows(t), &mut pair_weights[r].rows(t));
                two_sets(
                    &text[r].rows(t),
                    &vision[r].rows(t),
                    &kind[r].rows(t),
                    &mut set_ids[r].rows(t),
                    &mut set_weights[r].rows(t),
                );
                gradient(&text[r].rows(t), &shared_ids[r].rows(t), &dw[r].rows(t), &mut dz[r].rows(t));
            }
        }
    }
}

/// Logits from tokens: products of bf16 with sums in f32, after a norm or the router's own layers.
#[megakernel]
pub mod with_products {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 80;
    /// Columns of the router's own layers.
    pub const NARROW: usize = 24;
    pub const EXPERTS: usize = 20;
    /// The last class means that a token goes to no expert.
    pub const CLASSES: usize = EXPERTS + 1;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;
    pub const BLOCK: usize = 16;
    /// The factor of the norm, 1 / √HIDDEN.
    pub const SCALE: f32 = 0.1118034;

    #[aic_task]
    pub fn product<const N: usize, const K: usize>(
        x: &Tile<bf16, BLOCK, K>,
        w: &Tile<bf16, N, K>,
        y: &mut Tile<f32, BLOCK, N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// A product with weights in f32, each the sum of three numbers of bf16.
    #[aic_task]
    pub fn full_product(
        x: &Tile<bf16, BLOCK, HIDDEN>,
        high: &Tile<bf16, NARROW, HIDDEN>,
        middle: &Tile<bf16, NARROW, HIDDEN>,
        low: &Tile<bf16, NARROW, HIDDEN>,
        y: &mut Tile<f32, BLOCK, NARROW>,
    ) {
        y.store(x.matmul_t(low).add_matmul_t(x, middle).add_matmul_t(x, high));
    }

    /// The input of the gate has its own norm and scale (Gemma-4).
    #[aiv_task]
    pub fn norm(x: &Tile<bf16, BLOCK, HIDDEN>, scale: &Tile<f32, 1, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load().rms_norm(1e-6) * scale.load() * SCALE);
    }

    #[aiv_task]
    pub fn choose(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = s.top_k::<TOP_K>();
        let w = s.pick(&chosen);
        weights.store(&w / w.row_sum());
        ids.store(chosen);
    }

    /// The state of the previous layer's router is part of this one's (Zaya).
    #[aiv_task]
    pub fn state(
        down: &Tile<f32, BLOCK, NARROW>,
        before: &Tile<f32, BLOCK, NARROW>,
        scale: &Tile<f32, 1, NARROW>,
        after: &mut Tile<f32, BLOCK, NARROW>,
        y: &mut Tile<bf16, BLOCK, NARROW>,
    ) {
        let s = down.load() + before.load() * scale.load();
        after.store(&s);
        y.store(s.rms_norm(1e-5));
    }

    #[aiv_task]
    pub fn activate(x: &Tile<f32, BLOCK, NARROW>, y: &mut Tile<bf16, BLOCK, NARROW>) {
        y.store(x.load().gelu());
    }

    /// One class more than experts; its id is -1.
    #[aiv_task]
    pub fn or_skip(
        z: &Tile<f32, BLOCK, CLASSES>,
        bias: &Tile<f32, 1, CLASSES>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let s = z.load().softmax();
        let chosen = (&s + bias.load()).top_k::<TOP_K>();
        weights.store(s.pick(&chosen));
        ids.store(chosen.equal(EXPERTS as f32).select(-1.0, &chosen));
    }

    #[taskflow]
    pub fn route_tokens(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        scale: &PerRank<Matrix<f32, 1, HIDDEN>>,
        gate: &PerRank<Matrix<bf16, EXPERTS, HIDDEN>>,
        high: &PerRank<Matrix<bf16, NARROW, HIDDEN>>,
        middle: &PerRank<Matrix<bf16, NARROW, HIDDEN>>,
        low: &PerRank<Matrix<bf16, NARROW, HIDDEN>>,
        before: &PerRank<Tensor<f32, NARROW>>,
        decay: &PerRank<Matrix<f32, 1, NARROW>>,
        first: &PerRank<Matrix<bf16, NARROW, NARROW>>,
        second: &PerRank<Matrix<bf16, NARROW, NARROW>>,
        last: &PerRank<Matrix<bf16, CLASSES, NARROW>>,
        bias: &PerRank<Matrix<f32, 1, CLASSES>>,
        z: &mut PerRank<Tensor<f32, EXPERTS>>,
        ids: &mut PerRank<Tensor<i32, TOP_K>>,
        weights: &mut PerRank<Tensor<f32, TOP_K>>,
        after: &mut PerRank<Tensor<f32, NARROW>>,
        classes: &mut PerRank<Tensor<f32, CLASSES>>,
        skip_ids: &mut PerRank<Tensor<i32, TOP_K>>,
        skip_weights: &mut PerRank<Tensor<f32, TOP_K>>,
    ) {
        let normed = PerRank::tokens::<bf16, HIDDEN>(ep, route);
        let narrow = PerRank::tokens::<f32, NARROW>(ep, route);
        let of_state = PerRank::tokens::<bf16, NARROW>(ep, route);
        let a = PerRank::tokens::<f32, NARROW>(ep, route);
        let b = PerRank::tokens::<bf16, NARROW>(ep, route);
        let c = PerRank::tokens::<f32, NARROW>(ep, route);
        let d = PerRank::tokens::<bf16, NARROW>(ep, route);
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                norm(&x[r].rows(t), &scale[r].tile(0), &mut normed[r].rows(t));
                product::<EXPERTS, HIDDEN>(&normed[r].rows(t), &gate[r].tile(0), &mut z[r].rows(t));
                choose(&z[r].rows(t), &mut ids[r].rows(t), &mut weights[r].rows(t));
                full_product(
                    &x[r].rows(t),
                    &high[r].tile(0),
                    &middle[r].tile(0),
                    &low[r].tile(0),
                    &mut narrow[r].rows(t),
                );
                state(
                    &narrow[r].rows(t),
                    &before[r].rows(t),
                    &decay[r].tile(0),
                    &mut after[r].rows(t),
                    &mut of_state[r].rows(t),
                );
                product::<NARROW, NARROW>(&of_state[r].rows(t), &first[r].tile(0), &mut a[r].rows(t));
                activate(&a[r].rows(t), &mut b[r].rows(t));
                product::<NARROW, NARROW>(&b[r].rows(t), &second[r].tile(0), &mut c[r].rows(t));
                activate(&c[r].rows(t), &mut d[r].rows(t));
                product::<CLASSES, NARROW>(&d[r].rows(t), &last[r].tile(0), &mut classes[r].rows(t));
                or_skip(&classes[r].rows(t), &bias[r].tile(0), &mut skip_ids[r].rows(t), &mut skip_weights[r].rows(t));
            }
        }
    }
}
