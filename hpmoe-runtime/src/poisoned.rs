//! Memory that starts out poisoned, on the host or on an NPU.

use std::sync::Arc;

use crate::backend::host::{Mapping, NoMapping, SharedMapping};
use crate::backend::npu::DeviceMemory;
use crate::memory::LineMemory;

/// Minimum size, in bytes, of memory that is mapped, so that only touched pages cost time. Smaller memory is allocated and filled.
const LARGE: usize = 4 << 20;

/// Memory of any size that starts with poison, followed by zeros.
pub(crate) enum Poisoned {
    /// Every byte was filled with poison.
    Filled(LineMemory),
    /// A mapping whose pages cost time only when they are touched.
    Mapped(Mapping),
    /// A mapping that processes share.
    Shared(Arc<SharedMapping>),
    /// Memory of an NPU.
    Device(DeviceMemory),
}

impl Poisoned {
    /// Allocates at least `bytes` bytes. The first `poisoned` bytes have all bits set, and the others are zero. `None` if there is not
    /// enough memory.
    pub(crate) fn new(bytes: usize, poisoned: usize) -> Option<Self> {
        let filled = || LineMemory::poisoned(bytes, poisoned).map(Self::Filled);
        if bytes < LARGE {
            return filled();
        }
        match Mapping::new(bytes, poisoned) {
            Ok(mapping) => Some(Self::Mapped(mapping)),
            Err(NoMapping::Unsupported) => filled(),
            Err(NoMapping::NoRoom) => None,
        }
    }

    /// Memory of zero bytes, whose address must not be used.
    pub(crate) const fn empty() -> Self {
        Self::Filled(LineMemory::empty())
    }

    /// Address of the memory, as kernels use it: a multiple of a line. The memory never moves.
    pub(crate) fn address(&mut self) -> u64 {
        match self {
            Self::Filled(arena) => arena.address(),
            Self::Mapped(mapping) => mapping.address(),
            Self::Shared(mapping) => mapping.address(),
            Self::Device(memory) => memory.address(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_memory_is_filled_and_large_memory_is_mapped_where_that_can_be() {
        let bytes = |memory: &Poisoned| match memory {
            Poisoned::Filled(arena) => arena.bytes()[1022..1026].to_vec(),
            Poisoned::Mapped(mapping) => mapping.bytes()[1022..1026].to_vec(),
            Poisoned::Shared(_) | Poisoned::Device(_) => Vec::new(),
        };
        let (small, large) = (Poisoned::new(2048, 1024).unwrap(), Poisoned::new(LARGE, 1024).unwrap());
        assert!(matches!(small, Poisoned::Filled(_)));
        assert_eq!(matches!(large, Poisoned::Mapped(_)), cfg!(all(target_os = "linux", not(miri))));
        assert_eq!((bytes(&small), bytes(&large)), (vec![0xff, 0xff, 0, 0], vec![0xff, 0xff, 0, 0]));
        assert!(Poisoned::new(1 << 60, 0).is_none());
        assert!(LineMemory::poisoned(1 << 60, 0).is_none());
    }
}
