//! External operators as written: the arguments of `#[aic_task(external = "ops/gemm.h", …)]`.

use crate::memory::OnChipMemory;
use syn::Expr;

/// A function of C++ that takes the place of a task's body on the device.
#[derive(Clone, Default)]
pub(crate) struct ExternalFn {
    /// The file that holds it, relative to the package.
    pub(crate) file: String,
    /// Its name, if that is not the task's.
    pub(crate) function: Option<String>,
    /// Host runs take the task's body instead.
    pub(crate) device_only: bool,
    /// How far results may be from the body's, relative to the largest of a tile.
    pub(crate) tolerance: Option<Expr>,
    /// Time for a full tile.
    pub(crate) microseconds: Option<Expr>,
    /// Bytes of each memory that the operator declares; other memories count in full.
    pub(crate) memory: Vec<(OnChipMemory, Expr)>,
}
