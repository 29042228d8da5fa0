//! The backward pass in chunks, compared with gradients that other software computed (fp32), and with the pass without
//! chunks.

use support::gradients::Gradients;
use support::layer::Layer;

fn data() -> (Layer, Gradients) {
    let bytes = include_bytes!("../../../examples/data/qwen3_ragged.safetensors");
    (Layer::parse(bytes).unwrap(), Gradients::parse(bytes).unwrap())
}

/// The pass without chunks.
#[allow(dead_code, reason = "the example also prints")]
mod whole {

    include!(concat!(env!("OUT_DIR"), "/train_qwen3_ragged.rs"));

    pub fn gradients(ep: Ranks) -> found::Found<{ train_qwen3_ragged::HIDDEN }, { train_qwen3_ragged::INTER }> {
        let (layer, gradients) = super::data();
        let step = Step::of(&layer, &gradients, &Group::new(ep.count())).unwrap();
        step.backward(&step.forward(), Choice::Least)
    }
}

macro_rules! passes {
    ($($test:ident: $name:ident, $chunks:literal;)*) => {$(
        #[allow(dead_code, reason = "the example also prints")]
        pub mod $test {
            use std::time::Duration;

            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));

            #[test]
            fn is_right_for_every_number_of_ranks() {
                let (layer, gradients) = super::data();
                for ranks in (1..=8).filter(|ranks| layer.experts.is_multiple_of(*ranks)) {
                    let whole = super::whole::gradients(Ranks::new(ranks));
                    let step = Step::of(&layer, &gradients, &Group::new(ranks)).unwrap();
                    let expected = step.reference();
                    let group = Group::new(ranks).seed(ranks as u64).delay(ranks - 1, Duration::from_millis(2));
                    let (found, report) = step.launch(&group).unwrap_or_else(|error| panic!("{error}"));
                    assert!(found == expected, "on {ranks} ranks");
                    assert_eq!(report.empty_tasks, 0);
                    let compared = expected.compare(&gradients);
                    assert!(compared.is_good(), "{compared}");
                    // Sums over k have one order; sums over an expert's rows go chunk by chunk.
                    assert!(expected.dx.iter().eq(whole.dx.iter()), "on {ranks} ranks");
                    assert!(expected.dweights.iter().eq(whole.dweights.iter()), "on {ranks} ranks");
                    assert_eq!(expected.ddown.iter().eq(whole.ddown.iter()), $chunks == 1, "on {ranks} ranks");
                }
            }

            #[test]
            fn experts_without_tokens_keep_what_they_have() {
                let (layer, gradients) = super::data();
                let step = Step::of(&layer, &gradients, &Group::new(3)).unwrap();
                let (found, _) = step.launch(&Group::new(3)).unwrap();
                let route = &step.layer.route;
                let idle: Vec<Expert> = route.experts().filter(|&e| route.expert_rows(e) == 0).collect();
                assert!(!idle.is_empty(), "the layer has such experts");
                for expert in idle {
                    let zero = |tile: Vec<f32>| tile.iter().all(|x| x.to_bits() == 0);
                    assert!(zero(found.dgate[expert.owner()].expert(expert).to_vec()), "{expert}");
                    assert!(zero(found.ddown[expert.owner()].expert(expert).to_vec()), "{expert}");
                }
            }
        }
    )*};
}

passes! {
    one_chunk: grad_in_1_chunk, 1;
    two_chunks: grad_in_2_chunks, 2;
    five_chunks: grad_in_5_chunks, 5;
    chosen_chunks: grad_in_chosen_chunks, 8;
}
