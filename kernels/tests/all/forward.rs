//! Compares the forward layer, as plain functions, with layers that other software computed.
//!
//! The taskflow is that of `examples/moe_ffn.rs` without its attributes, which is also the reference for the generated kernel.

use crate::oracle::Oracle;
use hpmoe_kernels::bf16;

/// The layer for one set of sizes.
macro_rules! layer {
    ($name:ident, $hidden:literal, $inter:literal, $top_k:literal) => {
        mod $name {
            use hpmoe_kernels::*;

            const HIDDEN: usize = $hidden;
            const INTER: usize = $inter;
            const TOP_K: usize = $top_k;
            const TILE_M: usize = 32;
            const TILE_N: usize = 32;
            const PUT: usize = 16;
            const BLOCK: usize = 16;
            const COLUMNS: usize = 1024;
            const SLOTS: usize = BLOCK * TOP_K;

            fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
                rows.put(tokens);
            }

            fn project<const K: usize>(
                x: &Tile<bf16, TILE_M, K>,
                w: &Tile<bf16, TILE_N, K>,
                y: &mut Tile<bf16, TILE_M, TILE_N>,
            ) {
                y.store(x.matmul_t(w));
            }

            fn swiglu(
                gate: &Tile<bf16, TILE_M, TILE_N>,
                up: &Tile<bf16, TILE_M, TILE_N>,
                h: &mut Tile<bf16, TILE_M, TILE_N>,
            ) {
                let gate = gate.load();
                h.store(gate.silu() * up.load());
            }

            fn give_back(results: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
                slots.put(results);
            }

            fn combine(
                slots: &Tile<bf16, SLOTS, COLUMNS>,
                weights: &Tile<f32, BLOCK, TOP_K>,
                y: &mut Tile<bf16, BLOCK, COLUMNS>,
            ) {
                y.store(slots.load().weighted_sum(&weights.load()));
            }

            #[expect(clippy::too_many_arguments, reason = "the tensors of a layer")]
            fn forward(
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
                                project(
                                    &recv[r].group(e, m),
                                    &gate[r].expert(e).tile(n),
                                    &mut g[r].group(e, m).cols(n),
                                );
                                project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                                swiglu(
                                    &g[r].group(e, m).cols(n),
                                    &u[r].group(e, m).cols(n),
                                    &mut h[r].group(e, m).cols(n),
                                );
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

            /// The output of all ranks.
            pub(super) fn run(oracle: &super::Oracle, ranks: usize) -> Vec<bf16> {
                let ep = Ranks::new(ranks);
                let ids = oracle.tensors::<i32, TOP_K>(ep, "topk_ids");
                let route = Route::new(ep, oracle.experts(), &ids).unwrap();
                let (gate, up) = oracle.gate_up::<INTER, HIDDEN>(ep);
                let x = oracle.tensors(ep, "hidden_states");
                let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(x[r].row_count()));
                let weights = oracle.tensors(ep, "topk_weights");
                forward(ep, &route, &x, &weights, &gate, &up, &oracle.down(ep), &mut y);
                y.iter().flat_map(Tensor::to_vec).collect()
            }
        }
    };
}

layer!(deepseek, 128, 64, 4);
layer!(balanced, 128, 64, 2);
layer!(ragged, 96, 48, 3);

/// Checks that the relative L2 error and the largest error, relative to the largest value, are within bounds for bf16, and that all numbers of
/// ranks give the same bits.
fn check(name: &str, output: &str, ranks: &[usize], run: fn(&Oracle, usize) -> Vec<bf16>) {
    let oracle = Oracle::read(name);
    let exact = oracle.f32(output);
    let first = run(&oracle, 1);
    let (mut error, mut norm, mut worst, mut largest) = (0.0, 0.0, 0.0_f64, 0.0_f64);
    for (got, exact) in first.iter().zip(&exact) {
        let exact = f64::from(*exact);
        let off = (f64::from(got.to_f32()) - exact).abs();
        error += off * off;
        norm += exact * exact;
        worst = worst.max(off);
        largest = largest.max(exact.abs());
    }
    let (relative, worst) = ((error / norm).sqrt(), worst / largest);
    assert_eq!(first.len(), exact.len());
    assert!(relative <= 1e-2, "{name}: relative L2 {relative}");
    assert!(worst <= 2e-2, "{name}: largest error {worst}");
    for &ranks in ranks {
        assert!(run(&oracle, ranks) == first, "{name}: other bits with {ranks} ranks");
    }
}

#[test]
fn deepseek_skewed() {
    check("deepseek_skewed", "output_routed", &[2, 4, 8], deepseek::run);
}

#[test]
fn qwen3_balanced() {
    check("qwen3_balanced", "output", &[2, 4, 8], balanced::run);
}

#[test]
fn qwen3_ragged() {
    check("qwen3_ragged", "output", &[2, 3, 4, 6, 12], ragged::run);
}
