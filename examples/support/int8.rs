//! Weights rounded to i8.

use hpmoe_runtime::prelude::*;

/// Weights of a projection, row by row: a row of `x · wᵀ`'s columns has one scale.
pub struct Int8<const N: usize, const K: usize> {
    pub weights: PerRank<Experts<i8, N, K>>,
    pub scales: PerRank<Experts<f32, 1, N>>,
}

impl<const N: usize, const K: usize> Int8<N, K> {
    /// The largest number of a row becomes 127 or -127, the others are rounded to nearest, ties to even.
    pub fn of(wide: &PerRank<Experts<bf16, N, K>>) -> Self {
        let of_row = |row: &[bf16]| row.iter().map(|w| w.to_f32().abs()).fold(0.0, f32::max) / 127.0;
        let scales = |wide: &Experts<bf16, N, K>| wide.to_vec().chunks(K).map(of_row).collect();
        let weights = |wide: &Experts<bf16, N, K>| {
            let row = |row: &[bf16]| {
                let scale = of_row(row);
                let number = |w: &bf16| if scale > 0.0 { (w.to_f32() / scale).round_ties_even() as i8 } else { 0 };
                row.iter().map(number).collect::<Vec<_>>()
            };
            wide.to_vec().chunks(K).flat_map(row).collect()
        };
        Self {
            weights: wide.iter().map(|wide| Experts::from_vec(weights(wide))).collect(),
            scales: wide.iter().map(|wide| Experts::from_vec(scales(wide))).collect(),
        }
    }
}

/// The layer of a kernel module that takes weights of i8, for an example that has `mod support`: how it is cut, and the two ways to
/// run it.
macro_rules! quantised {
    ($kernel:ident, $variant:literal) => {
        /// The layer, cut for the ranks, with weights of i8.
        pub struct Quantised {
            routed: support::tensors::Tensors<{ $kernel::HIDDEN }, { $kernel::INTER }, { $kernel::TOP_K }>,
            gate: support::int8::Int8<{ $kernel::INTER }, { $kernel::HIDDEN }>,
            up: support::int8::Int8<{ $kernel::INTER }, { $kernel::HIDDEN }>,
            down: support::int8::Int8<{ $kernel::HIDDEN }, { $kernel::INTER }>,
        }

        impl support::example::Example for Quantised {
            const KERNEL: support::example::Kernel = support::example::kernel!($kernel);
            const VARIANT: Option<&'static str> = Some($variant);

            fn of(layer: &support::layer::Layer, group: &Group) -> Result<Self, String> {
                let routed = support::tensors::Tensors::of(layer, group, &Self::KERNEL.sizes)?;
                let (gate, up, down) = (
                    support::int8::Int8::of(&routed.gate),
                    support::int8::Int8::of(&routed.up),
                    support::int8::Int8::of(&routed.down),
                );
                Ok(Self { routed, gate, up, down })
            }

            fn reference(&self) -> Vec<f32> {
                let (routed, mut y) = (&self.routed, self.routed.output());
                let (gate, up, down) = (&self.gate.weights, &self.up.weights, &self.down.weights);
                let (gates, ups, downs) = (&self.gate.scales, &self.up.scales, &self.down.scales);
                $kernel::forward(
                    routed.ep,
                    &routed.route,
                    &routed.x,
                    &routed.weights,
                    gate,
                    up,
                    down,
                    gates,
                    ups,
                    downs,
                    &mut y,
                );
                support::tensors::numbers(&y)
            }

            fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
                let (routed, mut y) = (&self.routed, self.routed.output());
                let (gate, up, down) = (&self.gate.weights, &self.up.weights, &self.down.weights);
                let (gates, ups, downs) = (&self.gate.scales, &self.up.scales, &self.down.scales);
                let report = $kernel::forward::launch(
                    group,
                    &routed.route,
                    &routed.x,
                    &routed.weights,
                    gate,
                    up,
                    down,
                    gates,
                    ups,
                    downs,
                    &mut y,
                )?;
                Ok((support::tensors::numbers(&y), report))
            }
        }
    };
}
pub(crate) use quantised;
