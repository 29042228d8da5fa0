//! Memory that an NPU lends to launches.

use std::ops::Deref;
use std::sync::Arc;

use super::{DeviceMemory, Npu, NpuError};

/// A memory block of an NPU, which goes back to the NPU when this value is dropped.
pub(crate) struct LentMemory {
    npu: Arc<Npu>,
    /// The block; `None` only during the drop.
    block: Option<DeviceMemory>,
}

impl Npu {
    /// Lends a block of at least `bytes` bytes with unspecified contents, like
    /// [`Kept::take_block`](super::kept::Kept::take_block).
    pub(crate) fn lend(self: &Arc<Self>, bytes: usize) -> Result<LentMemory, NpuError> {
        Ok(LentMemory { block: Some(self.kept.take_block(self, bytes)?), npu: Arc::clone(self) })
    }
}

impl Deref for LentMemory {
    type Target = DeviceMemory;

    fn deref(&self) -> &DeviceMemory {
        self.block.as_ref().expect("the block stays here until this is dropped")
    }
}

impl Drop for LentMemory {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.npu.kept.keep_block(block);
        }
    }
}
