//! The variants of the layer on different bundled layers than those that the examples are built for: no tile divides the
//! sizes, and some experts have no row. Each example has its own test.

macro_rules! variants {
    ($($name:ident: $variant:ident),*) => {$(
        #[allow(dead_code, reason = "its main function")]
        mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($variant), ".rs"));
        }
    )*};
}

variants!(
    plain: moe_ffn, clipped: moe_clipped, biased: moe_biased, int8: moe_int8, w8a8: moe_w8a8, w4a8: moe_w4a8, prescaled: moe_prescaled, relayed: moe_relay
);

/// No way of sending tokens changes a bit, for any routing.
mod sends_once {
    use hpmoe_runtime::prelude::*;
    use std::time::Duration;
    use support::{example::Example, layer::Layer};

    fn same_bits(layer: &Layer) {
        for ranks in [1, 2, 3, 4, 6] {
            let plain = super::plain::Ffn::of(layer, &Group::new(ranks)).unwrap().reference();
            let relayed = super::relayed::Relay::of(layer, &Group::new(ranks)).unwrap();
            assert!(relayed.reference() == plain, "other bits of the reference on {ranks} ranks");
            let group = Group::new(ranks).seed(ranks as u64).repeat(2).delay(ranks - 1, Duration::from_millis(2));
            let (found, report) = relayed.launch(&group).unwrap_or_else(|error| panic!("{error}"));
            assert!(found == plain, "other bits of the megakernel on {ranks} ranks");
            assert_eq!(report.empty_tasks, 0);
        }
    }

    /// Runs a bundled layer with some of its tokens; `of` returns the experts of each.
    fn layer(tokens: usize, of: impl Fn(usize) -> Vec<i32>) -> Layer {
        let mut layer = Layer::find_bundled("qwen3_ragged", None).unwrap();
        layer.tokens = tokens;
        layer.hidden_states.truncate(tokens * layer.hidden);
        layer.topk_weights.truncate(tokens * layer.top_k);
        layer.output.truncate(tokens * layer.hidden);
        layer.topk_ids = (0..tokens).flat_map(of).collect();
        layer
    }

    #[test]
    fn as_routed() {
        same_bits(&Layer::find_bundled("qwen3_ragged", None).unwrap());
    }

    #[test]
    fn all_tokens_to_the_same_experts() {
        // The first choice is the last expert, so that a rank gets tokens for another expert first.
        same_bits(&layer(96, |_| vec![11, 1, 10]));
    }

    #[test]
    fn experts_of_one_rank_in_any_order() {
        same_bits(&layer(60, |token| [vec![2, 0, 1], vec![1, 2, 4], vec![0, 2, 3], vec![5, 4, 3]][token % 4].clone()));
    }

    #[test]
    fn one_token_and_none() {
        same_bits(&layer(1, |_| vec![7, 3, 6]));
        same_bits(&layer(0, |_| Vec::new()));
    }
}
