//! Layers with quantised weights.

/// The [`Example`](crate::example::Example) of a kernel module that takes quantised weights.
///
/// The macro takes the matrices, each with its type and the expression that makes it from the layer's, and the tensors of these matrices in
/// the order in which the taskflow takes them.
#[macro_export]
macro_rules! quantised {
    ($kernel:ident, $variant:literal, { $($matrix:ident: $type:ty = $made:expr),+ $(,)? }, [$($of:ident.$tensor:ident),+ $(,)?]) => {
        /// The layer's tensors as they are stored in its file.
        type Routed = $crate::tensors::Tensors<{ $kernel::HIDDEN }, { $kernel::INTER }, { $kernel::TOP_K }>;

        /// The layer's tensors, divided among the ranks, with quantised weights.
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
