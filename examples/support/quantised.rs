//! Layers with weights of whole numbers.

/// The layer of a kernel module that takes such weights, for an example that has `mod support`: how it is cut, and the two ways to run it.
/// It names the types of the gate and up matrices and of the down matrices, and their tensors, which the taskflow takes in this order,
/// of each those of gate, up and down.
macro_rules! quantised {
    ($kernel:ident, $variant:literal, ($wide:ty, $down:ty), $($tensor:ident),+) => {
        /// The layer, cut for the ranks, with weights of whole numbers.
        pub struct Quantised {
            routed: support::tensors::Tensors<{ $kernel::HIDDEN }, { $kernel::INTER }, { $kernel::TOP_K }>,
            gate: $wide,
            up: $wide,
            down: $down,
        }

        impl support::example::Example for Quantised {
            const KERNEL: support::example::Kernel = support::example::kernel!($kernel);
            const VARIANT: Option<&'static str> = Some($variant);

            fn of(layer: &support::layer::Layer, group: &Group) -> Result<Self, String> {
                let routed = support::tensors::Tensors::of(layer, group, &Self::KERNEL.sizes)?;
                let (gate, up, down) =
                    (<$wide>::of(&routed.gate), <$wide>::of(&routed.up), <$down>::of(&routed.down));
                Ok(Self { routed, gate, up, down })
            }

            fn reference(&self) -> Vec<f32> {
                let (Self { routed, gate, up, down }, mut y) = (self, self.routed.output());
                $kernel::forward(
                    routed.ep,
                    &routed.route,
                    &routed.x,
                    &routed.weights,
                    $(&gate.$tensor, &up.$tensor, &down.$tensor,)+
                    &mut y,
                );
                support::tensors::numbers(&y)
            }

            fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
                let (Self { routed, gate, up, down }, mut y) = (self, self.routed.output());
                let report = $kernel::forward::launch(
                    group,
                    &routed.route,
                    &routed.x,
                    &routed.weights,
                    $(&gate.$tensor, &up.$tensor, &down.$tensor,)+
                    &mut y,
                )?;
                Ok((support::tensors::numbers(&y), report))
            }
        }
    };
}
pub(crate) use quantised;
