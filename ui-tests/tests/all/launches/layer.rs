//! Random inputs for the forward layer, in several sizes.

use hpmoe_runtime::{CompiledKernel, KernelTables};

/// A module for each kernel that has the layer's signature.
macro_rules! layers {
    ($($name:ident: $kernel:path;)*) => {$(
        pub mod $name {
            use crate::random::{Case, Routing, experts, ids, numbers, weights};
            use hpmoe_runtime::prelude::*;
            use hpmoe_runtime::{Argument, CompiledKernel};
            pub use $kernel as kernel;
            use kernel::{EXPERTS, HIDDEN, INTER, TOP_K};

            /// Tokens, their weights, and their experts.
            pub struct Layer {
                pub case: Case,
                pub route: Route,
                x: PerRank<Tensor<bf16, HIDDEN>>,
                weights: PerRank<Tensor<f32, TOP_K>>,
                gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
                up: PerRank<Experts<bf16, INTER, HIDDEN>>,
                down: PerRank<Experts<bf16, HIDDEN, INTER>>,
            }

            pub type Output = PerRank<Tensor<bf16, HIDDEN>>;

            impl Layer {
                /// This many tokens on each rank; everything else depends on the seed.
                pub fn new(tokens: &[usize], routing: Routing, seed: u64) -> Self {
                    let case = Case { tokens: tokens.to_vec(), routing, seed, late: None };
                    Self {
                        route: Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap(),
                        x: numbers(&case),
                        weights: weights(&case),
                        gate: experts(&case, EXPERTS, 1),
                        up: experts(&case, EXPERTS, 2),
                        down: experts(&case, EXPERTS, 3),
                        case,
                    }
                }

                /// A row for each token.
                pub fn zeros(&self) -> Output {
                    self.case.zeros()
                }

                /// Runs task by task.
                pub fn reference(&self) -> Output {
                    let Self { case, route, x, weights, gate, up, down } = self;
                    let mut y = self.zeros();
                    kernel::forward(case.ep(), route, x, weights, gate, up, down, &mut y);
                    y
                }

                /// Runs the megakernel.
                pub fn launch(&self, group: &Group) -> Result<(Output, Report), LaunchError> {
                    self.launch_with(group, &kernel::forward::KERNEL)
                }

                /// Runs the megakernel, with tables that may differ.
                pub fn launch_with(
                    &self,
                    group: &Group,
                    compiled: &CompiledKernel,
                ) -> Result<(Output, Report), LaunchError> {
                    let mut y = self.zeros();
                    let report = group.launch(compiled, &self.route, &self.arguments(&mut y))?;
                    Ok((y, report))
                }

                /// The inputs of the taskflow.
                pub fn arguments<'a>(&'a self, y: &'a mut Output) -> Vec<Argument<'a>> {
                    vec![
                        Argument::read("x", &self.x),
                        Argument::read("weights", &self.weights),
                        Argument::read("gate", &self.gate),
                        Argument::read("up", &self.up),
                        Argument::read("down", &self.down),
                        Argument::write("y", y),
                    ]
                }

                /// Launches, and compares bits.
                #[track_caller]
                pub fn check(&self, group: &Group) {
                    let (found, report) = self.launch(group).unwrap_or_else(|error| panic!("{:?}: {error}", self.case));
                    assert!(found == self.reference(), "different bits than the reference: {:?}", self.case);
                    assert_eq!(report.empty_tasks, 0);
                }
            }
        }
    )*};
}

layers! {
    small: crate::small_kernels::ffn;
    sixteen: crate::layers::deepseek_skewed;
    twelve: crate::layers::qwen3_ragged;
}

/// The small layer with other tables.
#[expect(unsafe_code, reason = "tables that are wrong, to see what the host model says")]
pub fn with_tables(tables: KernelTables) -> CompiledKernel {
    // SAFETY: the kernel accesses memory by calls of AscendC alone, and the host model checks each against the regions of
    // the launch.
    unsafe { CompiledKernel::new(crate::small_kernels::ffn::forward::KERNEL.entry(), tables) }
}

/// The source line of the small layer that has this call.
pub fn line_of(call: &str) -> usize {
    let mut lines = include_str!("../../../kernels/ffn.rs").lines();
    lines.position(|line| line.contains(call)).unwrap() + 1
}
