//! A kernel that is loaded on an NPU.
#![expect(unsafe_code, reason = "the launch of a kernel")]

use super::acl::{Acl, Handle};
use super::{Npu, NpuError};
use crate::CompiledKernel;

/// What the library calls a kernel with both kinds of core.
const BOTH_KINDS: i64 = 3;

/// A kernel that is loaded on an NPU.
pub(crate) struct Program {
    acl: &'static Acl,
    object: Handle,
    function: Handle,
}

/// How a kernel is to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Groups of one matrix and two vector cores.
    pub(crate) groups: u32,
    /// Address of the launch structure in the NPU's memory.
    pub(crate) launch: u64,
    /// The longest that it may run.
    pub(crate) seconds: u16,
}

impl Program {
    /// Loads a kernel and checks that the library takes it for what it is.
    pub(crate) fn load(npu: &Npu, kernel: &CompiledKernel) -> Result<Self, NpuError> {
        let name = kernel.tables().name;
        let code = kernel.device().ok_or(NpuError::NotBuilt { kernel: name })?;
        let _here = npu.here()?;
        let object = npu.acl.load(code.object())?;
        // From here on, an error unloads it.
        let mut program = Self { acl: npu.acl, object, function: object };
        program.function = npu.acl.function(object, code.symbol())?;
        match npu.acl.kernel_type(program.function)? {
            BOTH_KINDS => Ok(program),
            found => Err(NpuError::KernelType { kernel: name, wanted: BOTH_KINDS, found }),
        }
    }

    /// Puts a launch on the NPU's stream, after all launches that were put on it before.
    ///
    /// # Safety
    ///
    /// The launch structure was made from this kernel's tables. It and what it points to stay in memory of NPUs that this one can
    /// access until the launch has ended.
    pub(crate) unsafe fn enqueue(&self, npu: &Npu, start: Start) -> Result<(), NpuError> {
        let _here = npu.here()?;
        // SAFETY: the caller knows of the launch structure; the function is this kernel's.
        let launch = || unsafe { npu.acl.launch(self.function, start.groups, npu.stream, start.launch, start.seconds) };
        npu.chain.link(npu.stream, launch)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // What a failed device can't give back goes with the process.
        let _ = self.acl.unload(self.object);
    }
}
