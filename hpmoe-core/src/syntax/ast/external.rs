//! External operators as written: the arguments of `#[aic_task(external = "ops/gemm.h", …)]`.

use crate::memory::OnChipMemory;
use syn::Expr;

/// The C++ function that replaces a task's body on the device.
#[derive(Clone, Default)]
pub(crate) struct ExternalFn {
    /// The file that holds the function, relative to the package.
    pub(crate) file: String,
    /// The function's name; `None` if it is that of the task.
    pub(crate) function: Option<String>,
    /// Whether host runs use the task's body instead of the function.
    pub(crate) device_only: bool,
    /// Bound on the difference between a result and the body's, relative to the largest element of the tile.
    pub(crate) tolerance: Option<Expr>,
    /// The time for a full tile, in microseconds.
    pub(crate) microseconds: Option<Expr>,
    /// The bytes of each memory that the operator declares. It can use all of any other memory.
    pub(crate) memory: Vec<(OnChipMemory, Expr)>,
}
