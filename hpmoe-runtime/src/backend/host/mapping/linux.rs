//! Memory filled with poison: one file of poison, mapped repeatedly with copy-on-write.
#![expect(unsafe_code, reason = "pages of a value of its own")]

use std::fs::File;
use std::io::{self, Write as _};
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::OnceLock;

use libc::{
    F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_WRITE, MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE,
};

use super::NoMapping;
use super::system::{add_seals, map, nameless_file, unmap};
use crate::memory::POISON;

/// Number of bytes of the file of poison. The process has it in memory once.
const PIECE: usize = 32 << 20;

/// Granularity of mappings, in bytes: a multiple of every page size.
const GRAIN: usize = 64 << 10;

/// Private memory that starts with poison, followed by zeros.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    /// Number of bytes requested. The mapping is rounded up to a multiple of [`GRAIN`].
    bytes: usize,
}

// SAFETY: the mapping belongs only to this value, like the memory of a `Vec`.
unsafe impl Send for Mapping {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes. The first `poisoned` bytes have all bits set, and the others are zero.
    pub(crate) fn new(bytes: usize, poisoned: usize) -> Result<Self, NoMapping> {
        let file = poison().ok_or(NoMapping::Unsupported)?;
        let mut mapping = Self::zeros(bytes).ok_or(NoMapping::NoRoom)?;
        let whole = poisoned / GRAIN * GRAIN;
        for at in (0..whole).step_by(PIECE) {
            mapping.map(file, at, PIECE.min(whole - at)).map_err(|_| NoMapping::NoRoom)?;
        }
        mapping.bytes_mut()[whole..poisoned].fill(POISON);
        Ok(mapping)
    }

    fn zeros(bytes: usize) -> Option<Self> {
        let mapped = mapped_bytes(bytes).filter(|mapped| isize::try_from(*mapped).is_ok())?;
        // SAFETY: the system chooses the addresses, so nothing that exists is replaced.
        let start = unsafe { map(null_mut(), mapped, MAP_PRIVATE | MAP_NORESERVE | MAP_ANONYMOUS, None) };
        Some(Self { start: start.ok()?, bytes })
    }

    /// Maps the first `bytes` bytes of the file at byte offset `at`. Both are multiples of [`GRAIN`] and lie inside the
    /// mapping.
    fn map(&mut self, file: &File, at: usize, bytes: usize) -> io::Result<()> {
        let flags = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
        // SAFETY: only pages of this mapping are replaced, which nothing refers to now; the file can't change.
        unsafe { map(self.start.as_ptr().add(at), bytes, flags, Some(file))? };
        Ok(())
    }

    /// Address of the memory, as kernels use it.
    pub(crate) fn address(&mut self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped as long as this value lives, every byte is initialised, and writing needs it exclusively.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let mapped = mapped_bytes(self.bytes).unwrap_or(0);
        // SAFETY: this value's own pages, which nothing can refer to any more.
        let result = unsafe { unmap(self.start, mapped) };
        debug_assert!(result.is_ok(), "{result:?}");
    }
}

fn mapped_bytes(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(GRAIN)
}

/// The file of poison, which the first call makes; `None` if it can't be made.
fn poison() -> Option<&'static File> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    FILE.get_or_init(|| make_poison().ok()).as_ref()
}

fn make_poison() -> io::Result<File> {
    let mut file = nameless_file(c"hpmoe poison")?;
    let grain = vec![POISON; GRAIN];
    for _ in 0..PIECE / GRAIN {
        file.write_all(&grain)?;
    }
    add_seals(&file, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poison_then_zeros_and_writes_stay_where_they_are() {
        let (poisoned, bytes) = (2 * PIECE + GRAIN + 512, 2 * PIECE + 3 * GRAIN);
        let mut mapping = Mapping::new(bytes, poisoned).unwrap();
        assert_eq!((mapping.address() % 512, mapping.bytes().len()), (0, bytes));
        mapping.bytes_mut()[7] = 1;
        let expected = |at| if at == 7 { 1 } else { u8::from(at < poisoned) * POISON };
        for at in (0..bytes).step_by(4096).chain([7, PIECE - 1, PIECE, PIECE + 7, poisoned - 1, poisoned, bytes - 1]) {
            assert_eq!(mapping.bytes()[at], expected(at), "{at}");
        }
        assert_eq!(Mapping::new(bytes, poisoned).unwrap().bytes()[7], POISON, "no mapping writes to the file");
    }

    #[test]
    fn large_memory_is_free_until_it_is_touched() {
        let mut mapping = Mapping::new(64 << 30, 64 << 30).unwrap();
        mapping.bytes_mut()[40 << 30] = 0;
        assert_eq!(mapping.bytes()[(40 << 30) + 1], POISON);
    }

    #[test]
    fn there_is_no_room_for_everything() {
        for bytes in [1 << 60, usize::MAX - 1] {
            assert_eq!(Mapping::new(bytes, bytes).err(), Some(NoMapping::NoRoom), "{bytes}");
        }
    }
}
