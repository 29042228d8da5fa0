//! A kernel that is compiled and linked into this program.

use std::fmt;

use crate::KernelTables;

/// The entry point of a compiled kernel, together with the tables that describe it to the runtime.
///
/// `#[megakernel]` declares one for each taskflow, `forward::KERNEL`, and `forward::launch` passes it to
/// [`Group::launch`](crate::Group::launch). The entry point can't be changed afterwards, and only unsafe code can make
/// another `CompiledKernel`: safe code can launch what the compiler generated and nothing else.
///
/// ```compile_fail,E0133
/// use hpmoe_runtime::{CompiledKernel, KernelTables};
///
/// extern "C" fn anything(_: *mut u8) {}
///
/// fn forged(tables: KernelTables) -> CompiledKernel {
///     CompiledKernel::new(anything, tables)
/// }
/// ```
///
/// ```compile_fail,E0451
/// use hpmoe_runtime::{CompiledKernel, KernelTables};
///
/// fn other_tables(kernel: CompiledKernel, tables: KernelTables) -> CompiledKernel {
///     CompiledKernel { tables, ..kernel }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CompiledKernel {
    entry: EntryPoint,
    tables: KernelTables,
    device: Option<DeviceCode>,
}

/// A kernel compiled for NPUs by CANN.
#[derive(Clone, Copy)]
pub struct DeviceCode {
    symbol: &'static str,
    object: &'static [u8],
}

impl DeviceCode {
    /// The name by which CANN's loader finds the kernel in the object.
    #[must_use]
    pub const fn symbol(&self) -> &'static str {
        self.symbol
    }

    /// The linked object: the bytes of an ELF file with code for matrix cores and for vector cores. They may start at any address.
    #[must_use]
    pub const fn object(&self) -> &'static [u8] {
        self.object
    }
}

impl fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCode").field("symbol", &self.symbol).field("bytes", &self.object.len()).finish()
    }
}

/// A function that runs one core of a kernel. Its argument is the address of the launch structure `HpmoeLaunch`.
pub type EntryPoint = unsafe extern "C" fn(launch: *mut u8);

impl CompiledKernel {
    /// Combines an entry point with its tables.
    ///
    /// # Safety
    ///
    /// hpmoe generated `entry` together with `tables`, and it was compiled against this version of the device library.
    /// Any number of threads may call it at a time. With a launch structure that the runtime made from `tables`, it
    /// accesses only its own stack and, through AscendC calls, the memory that the structure points to.
    #[expect(unsafe_code, reason = "the contract between generated code and the runtime")]
    #[must_use]
    pub const unsafe fn new(entry: EntryPoint, tables: KernelTables) -> Self {
        Self { entry, tables, device: None }
    }

    /// This kernel with the tables of launches of `chunks` chunks, if launches choose the number.
    pub(crate) fn in_chunks(&self, chunks: usize) -> Self {
        Self { tables: self.tables.in_chunks(chunks), ..*self }
    }

    /// Adds the same kernel, compiled for NPUs by CANN.
    ///
    /// # Safety
    ///
    /// `object` was compiled from the source of this kernel's entry point, and `symbol` is the entry point's name.
    #[expect(unsafe_code, reason = "the contract between generated code and the runtime")]
    #[must_use]
    pub const unsafe fn with_device(self, symbol: &'static str, object: &'static [u8]) -> Self {
        Self { device: Some(DeviceCode { symbol, object }), ..self }
    }

    /// The tables that describe the kernel to the runtime.
    #[must_use]
    pub const fn tables(&self) -> &KernelTables {
        &self.tables
    }

    /// The kernel compiled for NPUs; `None` unless the build asked for it (`HPMOE_DEVICE=cann`).
    #[must_use]
    pub const fn device(&self) -> Option<&DeviceCode> {
        self.device.as_ref()
    }

    /// The entry point, compiled for this machine's CPU.
    #[must_use]
    pub const fn entry(&self) -> EntryPoint {
        self.entry
    }
}
