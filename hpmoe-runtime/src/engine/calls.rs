//! The OpenSHMEM library. Only this module calls it.
#![expect(unsafe_code, reason = "a C interface, the environment, and what runs at the process's end")]

use std::env;
use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::forget;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use hpmoe_kernels::printable::printable;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::command::Command;
use crate::backend::host::Write;
use crate::bootstrap::BootstrapError;

/// File names of the library, newest first.
const NAMES: [&str; 3] = ["liboshmem.so.40", "liboshmem.so", "libsma.so"];

/// The thread level `SHMEM_THREAD_FUNNELED`: all calls come from the thread that opens the library.
const FUNNELED: c_int = 1;
/// Alignment of allocations in bytes: a page.
const PAGE: usize = 4096;

/// Maximum time that this process, when it ends, waits for the other ranks to end the library too.
const ENDING: Duration = Duration::from_secs(5);

/// The calls, declared as in the specification of OpenSHMEM 1.4.
pub(super) struct Calls {
    my_pe: unsafe extern "C" fn() -> c_int,
    n_pes: unsafe extern "C" fn() -> c_int,
    align: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    putmem: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int),
    getmem: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int),
    int_atomic_add: unsafe extern "C" fn(*mut c_int, c_int, c_int),
    fence: unsafe extern "C" fn(),
    barrier_all: unsafe extern "C" fn(),
    finalize: unsafe extern "C" fn(),
}

impl Calls {
    /// Opens and initialises the library. It stays open, because the threads that it starts can't be stopped.
    pub(super) fn open() -> Result<Self, BootstrapError> {
        // Its parts look for symbols of each other among those of all libraries.
        // SAFETY: the system's library, whose initialisers may run in any program.
        let open = |name: &&str| unsafe { Library::open(Some(*name), RTLD_NOW | RTLD_GLOBAL) };
        let library = NAMES.iter().map(open).find(Result::is_ok).unwrap_or_else(|| open(&NAMES[0]));
        let library = library.map_err(|error| {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let cause = printable(&cause);
            let what = format!("the library of OpenSHMEM can't be opened ({cause}): install Open MPI (libopenmpi3)");
            BootstrapError::Failed(what)
        })?;
        // SAFETY: declared as the specification has it.
        let begin =
            unsafe { call::<unsafe extern "C" fn(c_int, *mut c_int) -> c_int>(&library, c"shmem_init_thread")? };
        // SAFETY: each as the specification has it.
        let calls = unsafe {
            Self {
                my_pe: call(&library, c"shmem_my_pe")?,
                n_pes: call(&library, c"shmem_n_pes")?,
                align: call(&library, c"shmem_align")?,
                putmem: call(&library, c"shmem_putmem")?,
                getmem: call(&library, c"shmem_getmem")?,
                int_atomic_add: call(&library, c"shmem_int_atomic_add")?,
                fence: call(&library, c"shmem_fence")?,
                barrier_all: call(&library, c"shmem_barrier_all")?,
                finalize: call(&library, c"shmem_finalize")?,
            }
        };
        forget(library);
        let mut provided = 0;
        // SAFETY: the first call, with a place for the result.
        let code = unsafe { begin(FUNNELED, &raw mut provided) };
        if code != 0 || provided < FUNNELED {
            let what = format!("shmem_init_thread failed ({code}, level {provided}): start the processes by oshrun");
            return Err(BootstrapError::Failed(what));
        }
        Ok(calls)
    }

    pub(super) fn rank(&self) -> usize {
        // SAFETY: takes nothing.
        usize::try_from(unsafe { (self.my_pe)() }).expect("ranks count from 0")
    }

    pub(super) fn ranks(&self) -> usize {
        // SAFETY: takes nothing.
        usize::try_from(unsafe { (self.n_pes)() }).expect("the number of ranks is not negative")
    }

    /// Allocates symmetric memory, and returns its address; `None` if there is not enough. All ranks must make this call.
    pub(super) fn allocate(&self, bytes: usize) -> Option<u64> {
        // SAFETY: takes two numbers.
        let memory = unsafe { (self.align)(PAGE, bytes) };
        (!memory.is_null()).then(|| memory.expose_provenance() as u64)
    }

    /// Writes to symmetric memory of rank `rank`, which may be this rank. A fence orders the write after all earlier ones.
    pub(super) fn write(&self, rank: usize, to: u64, bytes: &[u8], how: Write) {
        let (to, pe) = (with_exposed_provenance_mut::<c_void>(to as usize), number(rank));
        // SAFETY: addresses of symmetric memory, as the callers of writes have checked; the bytes are copied before the call returns.
        unsafe {
            (self.fence)();
            match how {
                Write::Put => (self.putmem)(to, bytes.as_ptr().cast(), bytes.len(), pe),
                Write::Add => {
                    for (at, word) in bytes.chunks_exact(4).enumerate() {
                        let add = i32::from_ne_bytes(word.try_into().expect("a chunk has four bytes"));
                        if add != 0 {
                            (self.int_atomic_add)(to.cast::<c_int>().add(at), add, pe);
                        }
                    }
                }
            }
        }
    }

    /// Reads `N` bytes of a rank's symmetric memory. Writes by other ranks arrive during this call.
    pub(super) fn read<const N: usize>(&self, rank: usize, from: u64) -> [u8; N] {
        let mut bytes = [0; N];
        // SAFETY: symmetric memory of at least this many bytes, and a place for them.
        unsafe {
            (self.getmem)(bytes.as_mut_ptr().cast(), with_exposed_provenance(from as usize), N, number(rank));
        }
        bytes
    }

    pub(super) fn barrier(&self) {
        // SAFETY: takes nothing; all ranks call it.
        unsafe { (self.barrier_all)() }
    }

    pub(super) fn finalize(&self) {
        // SAFETY: the last call.
        unsafe { (self.finalize)() }
    }
}

fn number(rank: usize) -> c_int {
    c_int::try_from(rank).expect("there are fewer than 2^31 ranks")
}

/// Finds a function of the library.
///
/// # Safety
///
/// `F` is the function's type.
unsafe fn call<F: Copy>(library: &Library, name: &CStr) -> Result<F, BootstrapError> {
    // SAFETY: as the caller promises; the library is never closed.
    let found = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    found.map(|function| *function).map_err(|error| {
        BootstrapError::Failed(format!(
            "the library of OpenSHMEM lacks a call ({error}): install Open MPI 4.1 or later"
        ))
    })
}

/// Sets those of the given environment variables that are not set, before the library is opened.
pub(super) fn set_unless_set(variables: &[(&str, &str)]) {
    for (name, value) in variables.iter().filter(|(name, _)| env::var_os(name).is_none()) {
        // SAFETY: other threads of Rust read the environment by the standard library, which has a lock; a thread of C that reads it at this moment would be one of a
        // program that joins its group after it has started such threads, which `Group::from_launcher` says not to do.
        unsafe { env::set_var(name, value) };
    }
}

/// Makes the library end when the process exits, while the thread that makes all its calls still runs.
pub(super) fn at_exit(commands: SyncSender<Command>) {
    static COMMANDS: OnceLock<SyncSender<Command>> = OnceLock::new();
    extern "C" fn end() {
        let Some(commands) = COMMANDS.get() else { return };
        let (reply, ended) = sync_channel(1);
        if commands.try_send(Command::End(reply)).is_ok() {
            // If another rank is gone, the launcher ends this one.
            let _ = ended.recv_timeout(ENDING);
        }
    }
    let _ = COMMANDS.set(commands);
    // SAFETY: takes a function that lives for ever. If there is no room for it, the library ends by itself.
    let _ = unsafe { libc::atexit(end) };
}

/// The name of this machine.
pub(super) fn host_name() -> Option<String> {
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: room for the name and a zero after it.
    let found = unsafe { libc::gethostname(name.as_mut_ptr(), name.len() - 1) } == 0;
    // SAFETY: it ends with a zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    found.then(|| name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
}
