//! Libraries of kernels.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use crate::describe::describe;
use crate::error::Failure;
use crate::kernel::Kernel;

/// The kernels of one library, made by [`export!`](crate::export).
#[derive(Debug)]
pub struct Library {
    kernels: &'static [Kernel],
    description: OnceLock<CString>,
}

impl Library {
    /// A library with the given kernels.
    #[must_use]
    pub const fn new(kernels: &'static [Kernel]) -> Self {
        Self { kernels, description: OnceLock::new() }
    }

    /// The kernels that the library was built with.
    #[must_use]
    pub const fn kernels(&self) -> &'static [Kernel] {
        self.kernels
    }

    /// The contents of the library, as JSON.
    pub(crate) fn description(&self) -> &CStr {
        self.description
            .get_or_init(|| CString::new(describe(self.kernels).to_string()).expect("JSON has no zero bytes"))
    }

    /// The taskflow with this name.
    ///
    /// # Safety
    ///
    /// The name is null, or a string that ends with a zero byte.
    pub(crate) unsafe fn kernel(&self, name: *const c_char) -> Result<&'static Kernel, Failure> {
        if name.is_null() {
            return Err(Failure::invalid("the name of the taskflow is null: pass a name that hpmoe_describe() lists"));
        }
        // SAFETY: a string, by the contract of this function.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let kernel = self.kernels.iter().find(|kernel| kernel.compiled.tables().name == name);
        kernel.ok_or_else(|| {
            let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.compiled.tables().name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::invalid(format!("this library has no taskflow `{name}`: it has {names}"))
        })
    }
}
