//! State that an NPU keeps between launches, so that a second launch of a kernel loads and allocates nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::device::Device;
use super::{DeviceMemory, NpuError, Program};
use crate::CompiledKernel;
use crate::abi::LINE;

/// Maximum number of free memory blocks that an NPU keeps for later launches. With one more, the least recently used is
/// freed.
const MOST_BLOCKS: usize = 8;

/// Kernels that were loaded on an NPU, and memory blocks that launches no longer use.
#[derive(Default)]
pub(super) struct Kept {
    /// Loaded kernels by symbol. A symbol includes the kernel's fingerprint.
    programs: Mutex<HashMap<&'static str, Arc<Program>>>,
    /// Free blocks; the most recently used is last.
    blocks: Mutex<Vec<DeviceMemory>>,
}

impl Kept {
    /// The kernel, loaded on first use.
    pub(super) fn program(&self, device: &Device, kernel: &CompiledKernel) -> Result<Arc<Program>, NpuError> {
        let name = kernel.tables().name;
        let code = kernel.device().ok_or(NpuError::NotBuilt { kernel: name })?;
        let mut programs = lock(&self.programs);
        if let Some(program) = programs.get(code.symbol()) {
            return Ok(Arc::clone(program));
        }
        let program = Arc::new(Program::of_object(device, name, code.object(), code.symbol())?);
        programs.insert(code.symbol(), Arc::clone(&program));
        Ok(program)
    }

    /// Returns a block of at least `bytes` bytes with unspecified contents: a kept one that is less than twice as
    /// large, or a new one.
    pub(super) fn take_block(&self, device: &Device, bytes: usize) -> Result<DeviceMemory, NpuError> {
        let bytes = bytes.max(1).next_multiple_of(LINE);
        let kept = {
            let mut blocks = lock(&self.blocks);
            let fits = |&at: &usize| (bytes..2 * bytes).contains(&blocks[at].bytes());
            let smallest = (0..blocks.len()).filter(fits).min_by_key(|&at| blocks[at].bytes());
            smallest.map(|at| blocks.remove(at))
        };
        kept.map_or_else(|| self.allocate(device, bytes), Ok)
    }

    /// Keeps a block that launches no longer use.
    pub(super) fn keep_block(&self, block: DeviceMemory) {
        let mut blocks = lock(&self.blocks);
        blocks.push(block);
        let oldest = (blocks.len() > MOST_BLOCKS).then(|| blocks.remove(0));
        drop(blocks);
        drop(oldest);
    }

    /// Allocates a new block. If there is no room for it, frees the kept blocks first.
    fn allocate(&self, device: &Device, bytes: usize) -> Result<DeviceMemory, NpuError> {
        DeviceMemory::new(device, bytes).or_else(|error| {
            let kept = std::mem::take(&mut *lock(&self.blocks));
            if kept.is_empty() {
                Err(error)
            } else {
                drop(kept);
                DeviceMemory::new(device, bytes)
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
