//! The forward layer, compared with layers that other software computed (fp32), for every number of ranks up to 8 that
//! divides the experts. The bits are the same for every number of ranks, for 50 orders of the host's pipes, and for two
//! launches in a row with one rank late; also on dies with other numbers of cores, all of which are used.

use crate::random::seeds;
use std::time::Duration;
use support::compare::Comparison;
use support::layer::Layer;

macro_rules! layers {
    ($($test:ident: $name:ident of $data:literal, $seeds:literal orders, $aic:literal AIC;)*) => {$(
        mod $test {
            use super::{Comparison, Duration, Layer, seeds};
            use crate::layers::$name as kernel;
            use hpmoe_runtime::prelude::*;

            struct Tensors {
                ep: Ranks,
                route: Route,
                x: PerRank<Tensor<bf16, { kernel::HIDDEN }>>,
                weights: PerRank<Tensor<f32, { kernel::TOP_K }>>,
                gate: PerRank<Experts<bf16, { kernel::INTER }, { kernel::HIDDEN }>>,
                up: PerRank<Experts<bf16, { kernel::INTER }, { kernel::HIDDEN }>>,
                down: PerRank<Experts<bf16, { kernel::HIDDEN }, { kernel::INTER }>>,
            }

            impl Tensors {
                fn of(layer: &Layer, ranks: usize) -> Self {
                    let ep = Ranks::new(ranks);
                    let ids: PerRank<Tensor<i32, { kernel::TOP_K }>> = layer.by_tokens(ep, &layer.topk_ids);
                    Self {
                        ep,
                        route: Route::new(ep, kernel::EXPERTS, &ids).unwrap(),
                        x: layer.by_tokens(ep, &layer.hidden_states),
                        weights: layer.by_tokens(ep, &layer.topk_weights),
                        gate: layer.by_experts(ep, &layer.gate_up_proj, 2 * kernel::INTER, 0),
                        up: layer.by_experts(ep, &layer.gate_up_proj, 2 * kernel::INTER, kernel::INTER),
                        down: layer.by_experts(ep, &layer.down_proj, kernel::HIDDEN, 0),
                    }
                }

                fn output(&self) -> PerRank<Tensor<bf16, { kernel::HIDDEN }>> {
                    PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.x[rank].row_count()))
                }

                fn reference(&self) -> Vec<f32> {
                    let mut y = self.output();
                    kernel::forward(
                        self.ep, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y,
                    );
                    y.iter().flat_map(Tensor::to_f32).collect()
                }

                fn launch(&self, group: &Group) -> (Vec<f32>, Report) {
                    let mut y = self.output();
                    let report = kernel::forward::launch(
                        group, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y,
                    );
                    let report = report.unwrap_or_else(|error| panic!("{error}"));
                    (y.iter().flat_map(Tensor::to_f32).collect(), report)
                }
            }

            fn layer() -> Layer {
                Layer::find_bundled($data, None).unwrap()
            }

            #[test]
            fn is_right_for_every_number_of_ranks() {
                use kernel::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};
                let layer = layer();
                let built = format!("HIDDEN={HIDDEN},INTER={INTER},EXPERTS={EXPERTS},TOP_K={TOP_K},TOKENS={TOKENS}");
                assert_eq!(layer.settings(), built);
                let expected = Tensors::of(&layer, 1).reference();
                let comparison = Comparison::of(&expected, &layer.output);
                assert!(comparison.is_good(), "{comparison:?}");
                for ranks in (1..=8).filter(|ranks| kernel::EXPERTS.is_multiple_of(*ranks)) {
                    let tensors = Tensors::of(&layer, ranks);
                    assert!(tensors.reference() == expected, "the reference on {ranks} ranks");
                    let (found, report) = tensors.launch(&Group::new(ranks));
                    assert!(found == expected, "the megakernel on {ranks} ranks");
                    assert_eq!((report.empty_tasks, report.descriptor_bytes), (0, 64));
                    let used = (report.aic_cores_used, report.aiv_cores_used);
                    // With more ranks, a rank may have fewer tiles than cores.
                    assert!(ranks > 4 || used == ($aic, 2 * $aic), "{used:?} cores on {ranks} ranks");
                    println!("{}: {ranks} ranks, {comparison:?}, {used:?} cores", stringify!($name));
                }
            }

            #[test]
            fn has_the_same_bits_in_every_order() {
                let layer = layer();
                let tensors = Tensors::of(&layer, 4);
                let expected = tensors.reference();
                for seed in seeds($seeds) {
                    let late = (seed % 4) as usize;
                    let group = Group::new(4).seed(seed).repeat(2).delay(late, Duration::from_millis(2));
                    assert!(tensors.launch(&group).0 == expected, "seed {seed}");
                }
            }
        }
    )*};
}

layers! {
    skewed: deepseek_skewed of "deepseek_skewed", 50 orders, 24 AIC;
    balanced: qwen3_balanced of "qwen3_balanced", 50 orders, 24 AIC;
    ragged: qwen3_ragged of "qwen3_ragged", 50 orders, 24 AIC;
    // The same layer on dies with other numbers of cores.
    few_cores: one_matrix_core of "deepseek_skewed", 5 orders, 1 AIC;
    other_cores: twenty_matrix_cores of "deepseek_skewed", 5 orders, 20 AIC;
}
