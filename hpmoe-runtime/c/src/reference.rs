//! References of a library's taskflows, which callers select by name.

use hpmoe_runtime::{CompiledKernel, ReferenceCall};

use crate::error::Failure;

/// The reference of a taskflow, for calls by the taskflow's name. Generated code registers one for each taskflow of the library's crate.
#[derive(Debug)]
pub struct Reference {
    kernel: &'static CompiledKernel,
    function: fn(&ReferenceCall<'_>),
}

inventory::collect!(Reference);

impl Reference {
    /// Makes the reference of `kernel`. `function` reads the arguments of a call, calls the taskflow's Rust function, and writes its
    /// results back.
    #[must_use]
    pub const fn new(kernel: &'static CompiledKernel, function: fn(&ReferenceCall<'_>)) -> Self {
        Self { kernel, function }
    }
}

/// The function that is registered for a kernel.
pub(crate) fn function(kernel: &CompiledKernel) -> Result<fn(&ReferenceCall<'_>), Failure> {
    let key = |kernel: &CompiledKernel| (kernel.tables().name, kernel.tables().fingerprint);
    let registered = inventory::iter::<Reference>.into_iter().find(|reference| key(reference.kernel) == key(kernel));
    registered.map(|reference| reference.function).ok_or_else(|| {
        Failure::invalid(format!(
            "the reference of {} can't be called: its module is not part of the library's crate; write `mod` with the name of its file in \
             lib.rs",
            kernel.tables().name
        ))
    })
}
