//! The test of an example: on every bundled layer that has the kernel's sizes, the result is right and has the reference's bits.

use super::compare::Comparison;
use super::example::{Example, Sizes};
use super::layer::Layer;
use hpmoe_runtime::prelude::*;
use std::ops::Range;
use std::time::Duration;

/// The layers in `examples/data`.
const LAYERS: [(&str, Sizes); 3] = [
    ("deepseek_skewed", Sizes { hidden: 128, inter: 64, experts: 16, top_k: 4, tokens: 384 }),
    ("qwen3_balanced", Sizes { hidden: 128, inter: 64, experts: 8, top_k: 2, tokens: 256 }),
    ("qwen3_ragged", Sizes { hidden: 96, inter: 48, experts: 12, top_k: 3, tokens: 200 }),
];

/// Seeds for the order of the host's pipes: three seeds on four ranks, and one seed on any other number of ranks, different for each.
fn seeds(ranks: usize) -> Range<u64> {
    let own = ranks as u64;
    if ranks == 4 { 0..3 } else { own..own + 1 }
}

/// Compares the reference with the oracle, and the megakernel's bits with the reference's: on every number of ranks up to 8 that divides
/// the experts, with several seeds, and with two launches in a row in which one rank may be late.
pub fn check<E: Example>() {
    let sizes = E::KERNEL.sizes;
    let fitting: Vec<&str> = LAYERS.iter().filter(|layer| layer.1 == sizes).map(|layer| layer.0).collect();
    assert!(!fitting.is_empty(), "no bundled layer has the sizes of this kernel: {sizes:?}");
    for name in fitting {
        let layer = Layer::find_bundled(name, E::VARIANT).unwrap_or_else(|problem| panic!("{problem}"));
        let expected = E::of(&layer, &Group::new(1)).unwrap().reference();
        let comparison = Comparison::of(&expected, &layer.output);
        assert!(comparison.is_good(), "{name}: {comparison:?}");
        println!("{name}: {comparison:?}");
        for ranks in (1..=8).filter(|ranks| sizes.experts.is_multiple_of(*ranks)) {
            let example = E::of(&layer, &Group::new(ranks)).unwrap();
            assert!(example.reference() == expected, "{name}: other bits of the reference on {ranks} ranks");
            for seed in seeds(ranks) {
                let late = Duration::from_millis(2 * seed.min(1));
                let group = Group::new(ranks).seed(seed).repeat(2).delay(seed as usize % ranks, late);
                let (found, report) = example.launch(&group).unwrap_or_else(|error| panic!("{error}"));
                assert!(found == expected, "{name}: other bits of the megakernel on {ranks} ranks, seed {seed}");
                assert_eq!((report.empty_tasks, report.descriptor_bytes), (0, 64));
            }
        }
    }
}
