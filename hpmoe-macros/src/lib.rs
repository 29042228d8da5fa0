//! The attribute macros of hpmoe: a thin layer over `hpmoe-expansion`. Programs take them from `hpmoe_runtime::prelude`.
//!
//! | attribute | stands at | meaning |
//! |---|---|---|
//! | [`macro@megakernel`] | an inline module | a kernel: its constants, tasks and taskflows |
//! | [`macro@aic_task`] | a function of that module | a task of matrix cores: products |
//! | [`macro@aiv_task`] | a function of that module | a task of vector cores: operations element by element or along rows |
//! | [`macro@comm_put`] | a function of that module | a copy of rows, to another rank or through the route |
//! | [`macro@taskflow`] | a function of that module | cuts tensors into tiles and calls tasks: hpmoe generates the kernel from it |

use hpmoe_expansion::{BuildScript, expansion};
use proc_macro::TokenStream;

/// Marks an inline module as a kernel: its tasks and taskflows are checked, scheduled and compiled.
///
/// The build script must name the file (`hpmoe_build::kernels(["src/moe.rs"]).build()`).
///
/// <!-- docs/book/first/src/main.rs -->
/// ```ignore
/// #[megakernel]
/// pub mod rms {
///     use hpmoe_runtime::prelude::*;
///     // …
///     /// Divides each token by its root mean square, and multiplies its columns by the gain.
///     #[aiv_task]
///     pub fn norm(x: &Tile<bf16, BLOCK, HIDDEN>, gain: &Tile<bf16, 1, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
///         y.store(x.load().rms_norm(1e-6) * gain.load());
///     }
///
///     /// Normalizes all tokens of all ranks.
///     #[taskflow]
///     pub fn forward(
///         ep: Ranks,
///         route: &Route,
///         x: &PerRank<Tensor<bf16, HIDDEN>>,
///         gain: &PerRank<Matrix<bf16, 1, HIDDEN>>,
///         y: &mut PerRank<Tensor<bf16, HIDDEN>>,
///     ) {
///         for r in ep {
///             for t in route.token_blocks::<BLOCK>(r) {
///                 norm(&x[r].rows(t), &gain[r].tile(0), &mut y[r].rows(t));
///             }
///         }
///     }
/// }
/// ```
///
/// For each public taskflow, the macro adds a module of the same name:
///
/// | item of `rms::forward` | what it is |
/// |---|---|
/// | `launch(&group, &route, &x, &gain, &mut y)` | runs the kernel on every rank of a group; returns a report, or an error that says what went wrong |
/// | `enqueue(&group, streams, …)` | puts the kernel on the NPUs' streams, and returns a pending launch |
/// | `GRAPH`, `SCHEDULE`, `TILE_SIZES`, `ASCENDC` | graph, schedule, tile sizes and generated code as text, for snapshot tests |
/// | `GRAPH_MERMAID`, `summary(ranks)`, `schedule_svg(ranks)` | graph and schedule as pictures, and a summary, for people |
/// | `KERNEL` | the compiled kernel, for launches with arguments that are known at run time |
///
/// The taskflow remains an ordinary function, the reference: the kernel computes the same bits.
#[proc_macro_attribute]
pub fn megakernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let variable = std::env::var_os;
    let script = BuildScript::new(variable("OUT_DIR").map(Into::into), variable(expansion::BUILT).is_some());
    let read = |path: &std::path::Path| std::fs::read_to_string(path).ok();
    hpmoe_expansion::megakernel(arguments.into(), item.into(), &script, &read).into()
}

macro_rules! markers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[proc_macro_attribute]
        pub fn $name(_arguments: TokenStream, item: TokenStream) -> TokenStream {
            hpmoe_expansion::stray_marker(stringify!($name), item.into()).into()
        }
    )*};
}

markers! {
    /// Marks a task for the matrix cores, inside a `#[megakernel]` module. With `external = "ops/gemm.h"`, a hand-written function replaces
    /// the task's body on the device (docs/external.md).
    aic_task
    /// Marks a task for the vector cores, inside a `#[megakernel]` module. Like [`macro@aic_task`], it can have an external operator.
    aiv_task
    /// Marks a task that puts rows, to another rank or through the route, inside a `#[megakernel]` module.
    comm_put
    /// Marks a taskflow, a function whose task calls define the dependency graph, inside a `#[megakernel]` module.
    taskflow
}
