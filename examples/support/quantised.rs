//! Layers with weights of whole numbers.

/// The layer of a kernel module that takes such weights: how it is cut, and the two ways to run it.
/// It names the matrices, each with its type and how it is made of the layer's, and their tensors in the order in which the taskflow takes
/// them.
#[macro_export]
macro_rules! quantised {
    ($kernel:ident, $variant:literal, { $($matrix:ident: $type:ty = $made:expr),+ $(,)? }, [$($of:ident.$tensor:ident),+ $(,)?]) => {
        /// A layer's tensors as it is stored.
        type Routed = $crate::tensors::Tensors<{ $kernel::HIDDEN }, { $kernel::INTER }, { $kernel::TOP_K }>;

        /// The layer, cut for the ranks, with weights of whole numbers.
        pub struct Quantised {
            routed: Routed,
            $($matrix: $type,)+
        }

        impl $crate::example::Example for Quantised {
            const KERNEL: $crate::example::Kernel = $crate::kernel!($kernel);
            const VARIANT: Option<&'static str> = Some($variant);

            fn of(layer: &$crate::layer::Layer, group: &Group) -> Result<Self, String> {
                let routed = Routed::of(layer, group, &Self::KERNEL.sizes)?;
                $(
                    let made: fn(&Routed) -> $type = $made;
                    let $matrix = made(&routed);
                )+
                Ok(Self { routed, $($matrix),+ })
            }

            fn reference(&self) -> Vec<f32> {
                let (routed, mut y) = (&self.routed, self.routed.output());
                let (ep, route) = (routed.ep, &routed.route);
                $kernel::forward(ep, route, &routed.x, &routed.weights, $(&self.$of.$tensor,)+ &mut y);
                $crate::tensors::numbers(&y)
            }

            fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError> {
                let (routed, mut y) = (&self.routed, self.routed.output());
                let route = &routed.route;
                let report =
                    $kernel::forward::launch(group, route, &routed.x, &routed.weights, $(&self.$of.$tensor,)+ &mut y)?;
                Ok(($crate::tensors::numbers(&y), report))
            }
        }
    };
}
pub use quantised;
