//! The kernels of a library.

use hpmoe_runtime::CompiledKernel;
use hpmoe_runtime::tables::{Storage, TensorTable};

/// One taskflow of a library, compiled.
#[derive(Debug)]
pub struct Kernel {
    /// The name of the kernel module.
    pub module: &'static str,
    /// The constants of the module, with the values that the library was built with.
    pub constants: &'static [(&'static str, Constant)],
    /// The taskflow's compiled kernel: its entry point and tables.
    pub compiled: CompiledKernel,
}

/// The value of a constant of a kernel module.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// A constant of type `usize`.
    Size(usize),
    /// A constant of type `f32`.
    Number(f32),
}

impl Kernel {
    /// The arguments of the taskflow, in order.
    pub(crate) fn arguments(&self) -> Vec<&'static TensorTable> {
        let tensors: &'static [TensorTable] = self.compiled.tables().tensors;
        let number = |tensor: &TensorTable| match tensor.storage {
            Storage::Argument(number) | Storage::Shared(number) => Some(number),
            Storage::Workspace | Storage::Symmetric => None,
        };
        let mut arguments: Vec<_> = tensors.iter().filter_map(|tensor| Some((number(tensor)?, tensor))).collect();
        arguments.sort_by_key(|(number, _)| *number);
        arguments.into_iter().map(|(_, tensor)| tensor).collect()
    }
}
