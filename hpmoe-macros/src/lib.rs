//! The attribute macros of hpmoe: a thin layer over `hpmoe-language`.

use hpmoe_language::expand::{self, Environment};
use proc_macro::TokenStream;

/// Marks an inline module as a kernel: its tasks and taskflows are checked, scheduled and compiled.
///
/// The build script must name the file (`hpmoe_build::kernels(["src/moe.rs"]).build()`).
#[proc_macro_attribute]
pub fn megakernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let environment = Environment {
        package: std::env::var("CARGO_PKG_NAME").unwrap_or_default(),
        out_dir: std::env::var_os("OUT_DIR").map(Into::into),
    };
    expand::megakernel(arguments.into(), item.into(), &environment, &|path| std::fs::read_to_string(path).ok()).into()
}

macro_rules! markers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[proc_macro_attribute]
        pub fn $name(_arguments: TokenStream, item: TokenStream) -> TokenStream {
            expand::stray_marker(stringify!($name), item.into()).into()
        }
    )*};
}

markers! {
    /// Marks a task for the matrix cores, inside a `#[megakernel]` module. With `external = "ops/gemm.h"`, a hand-written function takes
    /// the place of its body on the device (docs/external.md).
    aic_task
    /// Marks a task for the vector cores, inside a `#[megakernel]` module. It can have an external operator, as
    /// [`macro@aic_task`].
    aiv_task
    /// Marks a one-sided put, inside a `#[megakernel]` module.
    comm_put
    /// Marks the function whose task calls are the dependency graph, inside a `#[megakernel]` module.
    taskflow
}
