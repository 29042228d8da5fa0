//! Memory that several processes map: the heap of a rank, which its peers write. Only this module touches it.
//!
//! It is an unnamed file. A peer opens it through the process that made it, so nothing is left after the last process
//! that maps it has ended, even if that process crashed.
#![expect(unsafe_code, reason = "memory that other processes write")]

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::linux::fs::MetadataExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process;
use std::ptr::{NonNull, copy_nonoverlapping, null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::AtomicI32;

use hpmoe_kernels::Rank;
use libc::{F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, MAP_NORESERVE, MAP_SHARED, O_NONBLOCK, O_PATH, c_int};

use super::system::{add_seals, map, nameless_file, reserve, seals, unmap};
use crate::Argument;
use crate::argument::RankPart;
use crate::bootstrap::wire::{Message, Reader};
use crate::memory::POISON;

/// Maximum number of bytes that are filled with poison, which takes up memory at once. All other bytes read as zero, and take up memory
/// only when they are written.
const MOST_POISON: usize = 256 << 20;

/// Seals that keep a file's size: it can neither shrink nor grow, so its mappings stay valid.
const SEALS: c_int = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// A rank's heap, mapped into this process: memory of this process, of another process of this machine, or of another machine.
pub(crate) struct SharedMapping {
    start: NonNull<u8>,
    bytes: usize,
    pages: Pages,
}

/// The kind of memory behind a mapping's addresses.
enum Pages {
    File(File),
    /// Memory that the caller owns and never frees.
    Lent,
    /// No memory: the addresses stand for a heap on another machine.
    None,
}

// SAFETY: a value refers to pages that stay mapped while it lives, and gives access to them by atomics and by copies that
// other processes may see half done anyway.
unsafe impl Send for SharedMapping {}
// SAFETY: as above.
unsafe impl Sync for SharedMapping {}

impl SharedMapping {
    /// Makes memory of this process with `bytes` bytes. The first `poisoned` bytes have all bits set (at most [`MOST_POISON`]), and the
    /// others are zero.
    pub(crate) fn create(bytes: usize, poisoned: usize) -> io::Result<Self> {
        let file = nameless_file(c"hpmoe heap")?;
        file.set_len(bytes as u64)?;
        add_seals(&file, SEALS)?;
        let mapping = Self::map(file, bytes)?;
        // SAFETY: the first bytes of the mapping, which no other process has opened yet.
        unsafe { mapping.start.as_ptr().write_bytes(POISON, poisoned.min(bytes).min(MOST_POISON)) };
        Ok(mapping)
    }

    /// Wraps memory that an engine has given, and fills it as [`create`](Self::create) does.
    ///
    /// # Safety
    ///
    /// The address has `bytes` bytes, which are never freed and which only the engine accesses.
    pub(crate) unsafe fn lent(address: u64, bytes: usize, poisoned: usize) -> io::Result<Self> {
        let start =
            NonNull::new(with_exposed_provenance_mut::<u8>(address as usize)).ok_or(io::ErrorKind::InvalidInput)?;
        let filled = poisoned.min(bytes).min(MOST_POISON);
        // SAFETY: this many bytes, which no other process writes yet.
        unsafe {
            start.as_ptr().write_bytes(POISON, filled);
            start.as_ptr().add(filled).write_bytes(0, bytes - filled);
        }
        Ok(Self { start, bytes, pages: Pages::Lent })
    }

    /// Reserves addresses for a heap on another machine. This process can neither read nor write them.
    pub(crate) fn elsewhere(bytes: usize) -> io::Result<Self> {
        Ok(Self { start: reserve(bytes)?, bytes, pages: Pages::None })
    }

    /// The ticket with which another process of this machine can [`open`](Self::open) this memory.
    pub(crate) fn ticket(&self) -> io::Result<Vec<u8>> {
        let Pages::File(file) = &self.pages else { return Err(io::ErrorKind::Unsupported.into()) };
        let status = file.metadata()?;
        let descriptor = u64::try_from(file.as_raw_fd()).map_err(io::Error::other)?;
        let ticket = Message::default().number(process::id().into()).number(descriptor);
        let ticket = ticket.number(status.st_dev()).number(status.st_ino());
        Ok(ticket.number(self.bytes as u64).finish())
    }

    /// Opens the memory of another process. A ticket names a file descriptor of that process. The descriptor is inspected before it is
    /// opened: if it is not a heap, but for instance a pipe or a device, it is never opened.
    pub(crate) fn open(ticket: &[u8]) -> io::Result<Self> {
        let mut ticket = Reader(ticket);
        let mut parts =
            || Some((ticket.number()?, ticket.number()?, ticket.number()?, ticket.number()?, ticket.size()?));
        let (process, descriptor, device, number, bytes) = parts().ok_or(io::ErrorKind::InvalidData)?;
        let path = format!("/proc/{process}/fd/{descriptor}");
        let another = || io::Error::new(io::ErrorKind::NotFound, format!("{path} is another file"));
        // In another namespace of processes, or after the process has ended, the number may mean any file.
        let is_it = |status: &Metadata| {
            status.is_file() && (status.st_dev(), status.st_ino(), status.st_size()) == (device, number, bytes as u64)
        };
        let place = OpenOptions::new().read(true).custom_flags(O_PATH).open(&path)?;
        if !is_it(&place.metadata()?) {
            return Err(another());
        }
        // The same file, by a descriptor that can't be replaced meanwhile.
        let own = format!("/proc/self/fd/{}", place.as_raw_fd());
        let file = OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(own)?;
        if !is_it(&file.metadata()?) || seals(&file)? & SEALS != SEALS {
            return Err(another());
        }
        Self::map(file, bytes)
    }

    fn map(file: File, bytes: usize) -> io::Result<Self> {
        // SAFETY: the system chooses the addresses, so nothing that exists is replaced; the file keeps its size.
        let start = unsafe { map(null_mut(), bytes, MAP_SHARED | MAP_NORESERVE, Some(&file))? };
        Ok(Self { start, bytes, pages: Pages::File(file) })
    }

    /// Address of the memory in this process, a multiple of the page size.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// The word at byte offset `at`.
    ///
    /// # Panics
    ///
    /// If `at` is not a multiple of 4, or the word does not lie inside the memory.
    pub(crate) fn word(&self, at: usize) -> &AtomicI32 {
        assert!(at % 4 == 0 && at + 4 <= self.bytes, "byte {at} of {} is not a word", self.bytes);
        // SAFETY: aligned, mapped as long as `self` lives, and only accessed by atomics, in this and every other process.
        unsafe { AtomicI32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Copies a rank's part of an argument to a byte offset.
    pub(crate) fn copy_in(&self, argument: &Argument<'_>, rank: Rank, at: usize) {
        let (RankPart { address, .. }, count) = (argument.part(rank), argument.bytes(rank));
        let to = self.part(at, count);
        // SAFETY: the argument borrows that many bytes of a tensor on this thread, and `part` has checked the other side.
        unsafe { copy_nonoverlapping(with_exposed_provenance(address as usize), to, count) };
    }

    /// Copies from a byte offset to a rank's part of an argument.
    ///
    /// # Panics
    ///
    /// If the argument was not borrowed for writing.
    pub(crate) fn copy_out(&self, at: usize, argument: &Argument<'_>, rank: Rank) {
        assert!(argument.writable, "`{}` was passed for reading", argument.name);
        let (RankPart { address, .. }, count) = (argument.part(rank), argument.bytes(rank));
        let from = self.part(at, count);
        // SAFETY: the argument borrows that many bytes of cells on this thread, and `part` has checked the other side.
        unsafe { copy_nonoverlapping(from, with_exposed_provenance_mut(address as usize), count) };
    }

    fn part(&self, at: usize, count: usize) -> *mut u8 {
        let fits = at.checked_add(count).is_some_and(|end| end <= self.bytes);
        assert!(fits, "{count} bytes from byte {at} on are not in {} bytes", self.bytes);
        // SAFETY: inside the mapping.
        unsafe { self.start.as_ptr().add(at) }
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        if matches!(self.pages, Pages::Lent) {
            return;
        }
        // SAFETY: this value's own pages, which nothing can refer to any more.
        let result = unsafe { unmap(self.start, self.bytes) };
        debug_assert!(result.is_ok(), "{result:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_kernels::{PerRank, Tensor};
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_one_heap_see_the_same() {
        let (bytes, poisoned) = (3 * 4096, 4096 + 512);
        let own = SharedMapping::create(bytes, poisoned).unwrap();
        let peer = SharedMapping::open(&own.ticket().unwrap()).unwrap();
        assert_ne!(own.address(), peer.address());
        assert_eq!(
            (peer.word(poisoned - 4).load(Ordering::SeqCst), peer.word(poisoned).load(Ordering::SeqCst)),
            (-1, 0)
        );
        peer.word(2 * 4096).fetch_add(7, Ordering::SeqCst);
        assert_eq!(own.word(2 * 4096).load(Ordering::SeqCst), 7);
        let from = PerRank::from_vec(vec![Tensor::<f32, 2>::from_f32(&[1.0, 2.0])]);
        let mut to = PerRank::from_vec(vec![Tensor::<f32, 2>::zeros(1)]);
        own.copy_in(&Argument::read("from", &from), Rank::new(0), 104);
        peer.copy_out(104, &Argument::write("to", &mut to), Rank::new(0));
        assert_eq!(to, from);
    }

    #[test]
    #[expect(unsafe_code, reason = "memory that the test keeps")]
    fn memory_that_is_lent_is_filled_and_stays_and_other_machines_have_addresses_alone() {
        let mut memory = vec![7_u8; 8192];
        let start = memory.as_mut_ptr();
        // SAFETY: that many bytes, which live longer.
        let lent = unsafe { SharedMapping::lent(start.expose_provenance() as u64, 8192, 4096) }.unwrap();
        assert_eq!(lent.address(), start.expose_provenance() as u64);
        assert!(lent.ticket().is_err());
        drop(lent);
        assert!(memory[..4096].iter().all(|byte| *byte == POISON) && memory[4096..].iter().all(|byte| *byte == 0));
        let [first, second] = [0, 1].map(|_| SharedMapping::elsewhere(1 << 30).unwrap());
        assert!(first.address().abs_diff(second.address()) >= 1 << 30);
    }

    #[test]
    fn another_file_is_not_taken_for_a_heap() {
        let ticket = {
            let gone = SharedMapping::create(4096, 0).unwrap();
            let ticket = gone.ticket().unwrap();
            drop(gone);
            ticket
        };
        // The descriptor is free, or another test's file has it now.
        assert!(SharedMapping::open(&ticket).is_err());
        assert!(SharedMapping::open(b"short").is_err());
    }

    /// A ticket for a file that this process has open, with the file's true device and inode numbers.
    fn ticket_of(file: &File) -> Vec<u8> {
        let status = file.metadata().unwrap();
        let descriptor = u64::try_from(file.as_raw_fd()).unwrap();
        let numbers = [process::id().into(), descriptor, status.st_dev(), status.st_ino(), status.st_size()];
        numbers.into_iter().fold(Message::default(), Message::number).finish()
    }

    /// Checks that no ticket makes this process open anything that could block or have an effect: no path of the sender's choice, no pipe,
    /// no device.
    #[test]
    fn a_ticket_for_anything_but_a_heap_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // By its place, so that it has neither a reader nor a writer: opening it to read would wait for ever.
        let pipe_by_place = OpenOptions::new().read(true).custom_flags(O_PATH).open(&pipe).unwrap();
        let plain = tempfile::tempfile().unwrap();
        plain.set_len(4096).unwrap();
        let device = File::open("/dev/null").unwrap();
        for file in [&pipe_by_place, &plain, &device] {
            let began = std::time::Instant::now();
            assert!(SharedMapping::open(&ticket_of(file)).is_err(), "{file:?}");
            assert!(began.elapsed().as_secs() < 1, "{file:?} took {:?}", began.elapsed());
        }
        // A path, as tickets once had them.
        let path = Message::default().bytes(pipe.as_os_str().as_encoded_bytes()).number(1).number(2).number(0).finish();
        assert!(SharedMapping::open(&path).is_err());
    }
}
