//! A kernel that is loaded on an NPU.
#![expect(unsafe_code, reason = "the launch of a kernel")]

use super::NpuError;
use super::acl::{Acl, Handle, InUse};
use super::device::Device;

/// The library's number for the type of a kernel with both kinds of core.
const BOTH_KINDS: i64 = 3;

/// A kernel that is loaded on an NPU.
pub struct Program {
    acl: &'static Acl,
    object: Handle,
    function: Handle,
    _in_use: InUse,
}

/// The parameters of a kernel start.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Number of core groups, each with one matrix core and two vector cores.
    pub groups: u32,
    /// The kernel's arguments, 8 bytes each.
    pub arguments: &'a [u64],
    /// Time limit of the kernel, in seconds.
    pub seconds: u16,
}

impl Program {
    /// Loads the kernel `symbol` of an object. Error messages call the kernel `name`.
    ///
    /// # Errors
    ///
    /// If CANN refuses the kernel, or reports another type than a kernel for both kinds of core, or another ratio than one matrix core to
    /// two vector cores.
    pub fn of_object(device: &Device, name: &'static str, object: &[u8], symbol: &str) -> Result<Self, NpuError> {
        let _here = device.here()?;
        let object = device.acl.load(object)?;
        // From here on, an error unloads it.
        let mut program = Self { acl: device.acl, object, function: object, _in_use: InUse::new(device.acl) };
        program.function = device.acl.function(object, symbol)?;
        let found = device.acl.kernel_type(program.function)?;
        if found != BOTH_KINDS {
            return Err(NpuError::KernelType { kernel: name, wanted: BOTH_KINDS, found });
        }
        match device.acl.kernel_ratio(program.function) {
            None | Some((1, 2)) => Ok(program),
            Some((aic, aiv)) => Err(NpuError::Ratio { kernel: name, aic, aiv }),
        }
    }

    /// Puts a launch of this kernel on the NPU's stream, after all earlier launches on that NPU.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    ///
    /// # Safety
    ///
    /// The kernel takes these arguments. All memory that they refer to, directly or indirectly, lies on NPUs that this
    /// NPU can access and stays there until the launch has ended.
    pub unsafe fn enqueue(&self, device: &Device, start: Start<'_>) -> Result<(), NpuError> {
        let _here = device.here()?;
        // SAFETY: the caller knows of the arguments; the function is this kernel's.
        let launch =
            || unsafe { device.acl.launch(self.function, start.groups, device.stream, start.arguments, start.seconds) };
        device.chain.link(device.stream, launch)
    }

    /// Enqueues a launch on another stream of the NPU, which is being captured. Only that stream orders the launch with others.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    ///
    /// # Safety
    ///
    /// As [`enqueue`](Self::enqueue), until the last launch of the graph has ended. The stream is one of this NPU.
    pub(crate) unsafe fn capture(&self, device: &Device, start: Start<'_>, stream: usize) -> Result<(), NpuError> {
        let _here = device.here()?;
        let stream = Handle::of_other(stream);
        // SAFETY: the caller knows of the arguments and the stream; the function is this kernel's.
        unsafe { device.acl.launch(self.function, start.groups, stream, start.arguments, start.seconds) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Memory that a failed device can't free is freed with the process.
        let _ = self.acl.unload(self.object);
    }
}
