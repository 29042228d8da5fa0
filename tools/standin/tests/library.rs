//! Errors of the stand-ins for CANN's libraries.

mod calls;

use calls::{LoadOption, LoadOptions, call};
use hpmoe_standin::Toolkit;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::ptr::null_mut;
use tempfile::TempDir;

/// Environment variable that makes this test process touch device memory; the value says how.
const TOUCH: &str = "HPMOE_TEST_TOUCH";
const SIGSEGV: i32 = 11;

/// Set in the process that ends; the value says how.
const LEAVE: &str = "HPMOE_TEST_LEAVE";
const SIGABRT: i32 = 6;

/// The initialised library, with device 0 set.
struct Acl {
    library: Library,
    folder: TempDir,
}

impl Acl {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Toolkit::new(folder.path()).install().unwrap();
        // SAFETY: its initialisers do nothing.
        let library = unsafe { Library::new(folder.path().join("lib64/libacl_rt.so")) }.unwrap();
        let acl = Self { library, folder };
        call!(acl, "aclInit", null_mut() => *mut c_void);
        assert_eq!(call!(acl, "aclrtSetDevice", 0 => i32), 0);
        acl
    }

    fn allocate(&self, bytes: usize) -> *mut u8 {
        let mut memory = null_mut();
        assert_eq!(call!(self, "aclrtMalloc", &raw mut memory => *mut *mut u8, bytes => usize, 0 => u32), 0);
        memory
    }

    fn copy(&self, to: *mut u8, from: *const u8, bytes: usize, kind: u32) -> c_int {
        call!(self, "aclrtMemcpy", to => *mut u8, bytes => usize, from => *const u8, bytes => usize, kind => u32)
    }
}

#[test]
fn copies_are_checked_by_address_size_and_kind() {
    let acl = Acl::new();
    let memory = acl.allocate(1000);
    let (host, mut back) = ([7_u8; 1000], [0_u8; 1000]);
    assert_eq!(acl.copy(memory, host.as_ptr(), 1000, 1), 0);
    assert_eq!(acl.copy(back.as_mut_ptr(), memory, 1000, 2), 0);
    assert_eq!(back, host);
    // One byte too many, the wrong direction, no bytes.
    assert_eq!(acl.copy(memory.wrapping_add(1), host.as_ptr(), 1000, 1), 107_000);
    assert_eq!(acl.copy(memory, host.as_ptr(), 1000, 2), 107_000);
    assert_eq!(acl.copy(memory, host.as_ptr(), 0, 1), 107_000);
    assert_eq!(call!(acl, "aclrtFree", memory => *mut u8), 0);
    assert_eq!(call!(acl, "aclrtFree", memory => *mut u8), 107_000);
    assert_eq!(acl.copy(memory, host.as_ptr(), 1000, 1), 107_000);
}

#[test]
fn handles_are_checked() {
    let acl = Acl::new();
    let nothing = 64 as *mut c_void;
    assert_eq!(call!(acl, "aclrtDestroyStream", nothing => *mut c_void), 107_017);
    assert_eq!(call!(acl, "aclrtBinaryUnLoad", nothing => *mut c_void), 107_017);
    let mut stream = null_mut::<c_void>();
    assert_eq!(call!(acl, "aclrtCreateStream", &raw mut stream => *mut *mut c_void), 0);
    assert_eq!(call!(acl, "aclrtRecordEvent", nothing => *mut c_void, stream => *mut c_void), 107_017);
    assert_eq!(call!(acl, "aclrtDestroyStream", stream => *mut c_void), 0);
    assert_eq!(call!(acl, "aclrtDestroyStream", stream => *mut c_void), 107_017);
}

/// A stream with pinned host memory and device memory, for copies.
struct Sender {
    acl: Acl,
    stream: *mut c_void,
    event: *mut c_void,
    pinned: *mut u8,
    memory: *mut u8,
}

impl Sender {
    const BYTES: usize = 1000;

    fn new() -> Self {
        let acl = Acl::new();
        let (mut stream, mut event, mut pinned) = (null_mut::<c_void>(), null_mut::<c_void>(), null_mut::<u8>());
        assert_eq!(call!(acl, "aclrtCreateStream", &raw mut stream => *mut *mut c_void), 0);
        assert_eq!(call!(acl, "aclrtCreateEventExWithFlag", &raw mut event => *mut *mut c_void, 1 => u32), 0);
        assert_eq!(call!(acl, "aclrtMallocHost", &raw mut pinned => *mut *mut u8, Self::BYTES => usize), 0);
        let memory = acl.allocate(Self::BYTES);
        Self { acl, stream, event, pinned, memory }
    }

    fn send(&self, from: *const u8) -> c_int {
        let (to, bytes, stream) = (self.memory, Self::BYTES, self.stream);
        call!(self.acl, "aclrtMemcpyAsync", to => *mut u8, bytes => usize, from => *const u8, bytes => usize, 1 => u32,
              stream => *mut c_void)
    }

    fn record_and_wait(&self) {
        assert_eq!(call!(self.acl, "aclrtRecordEvent", self.event => *mut c_void, self.stream => *mut c_void), 0);
        assert_eq!(call!(self.acl, "aclrtSynchronizeEventWithTimeout", self.event => *mut c_void, 10_000 => i32), 0);
    }
}

/// The stream's thread runs code of the library, so the library must not be unloaded before that thread has ended.
impl Drop for Sender {
    fn drop(&mut self) {
        call!(self.acl, "aclrtDestroyStream", self.stream => *mut c_void);
    }
}

#[test]
fn pinned_memory_that_a_stream_copies_is_kept() {
    let sender = Sender::new();
    let Sender { acl, pinned, memory, .. } = &sender;
    // SAFETY: memory of this size, which nothing reads.
    unsafe { pinned.write_bytes(7, Sender::BYTES) };
    assert_eq!(sender.send(*pinned), 0);
    // The host can't know yet that the memory may be freed.
    assert_eq!(call!(acl, "aclrtFreeHost", *pinned => *mut u8), 107_000);
    sender.record_and_wait();
    let mut back = [0_u8; Sender::BYTES];
    assert_eq!(acl.copy(back.as_mut_ptr(), *memory, Sender::BYTES, 2), 0);
    assert_eq!(back, [7; Sender::BYTES]);
    assert_eq!(call!(acl, "aclrtFreeHost", *pinned => *mut u8), 0);
    assert_eq!(call!(acl, "aclrtFreeHost", *pinned => *mut u8), 107_000);
    assert_eq!(call!(acl, "aclrtDestroyEvent", sender.event => *mut c_void), 0);
    assert_eq!(call!(acl, "aclrtDestroyEvent", sender.event => *mut c_void), 107_017);
}

#[test]
fn objects_of_other_chips_and_unlinked_ones_are_not_loaded() {
    let acl = Acl::new();
    let said = |kind: u16, machine: u16, flags: u32| {
        let mut object = [0_u8; 64];
        object[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        object[16..18].copy_from_slice(&kind.to_le_bytes());
        object[18..20].copy_from_slice(&machine.to_le_bytes());
        object[48..52].copy_from_slice(&flags.to_le_bytes());
        let option = LoadOption { kind: 2, value: [0x4355_4245, 0, 0, 0] };
        let options = LoadOptions { options: &raw const option, count: 1 };
        let mut handle = null_mut();
        let code = call!(acl, "aclrtBinaryLoadFromData", object.as_ptr() => *const u8, 64 => usize,
            &raw const options => *const LoadOptions, &raw mut handle => *mut *mut c_void);
        assert_eq!(code, 107_000);
        // SAFETY: as `acl.h` of the runtime declares it; the text lives until the next call.
        unsafe {
            let message = acl.library.get::<unsafe extern "C" fn() -> *const c_char>(b"aclGetRecentErrMsg").unwrap();
            CStr::from_ptr(message()).to_string_lossy().into_owned()
        }
    };
    let chip = "an object for both kinds of core of Ascend A2 and A3";
    for (object, expected) in
        [((2, 62, 0x94_0000), chip), ((2, 0x1029, 0x99_0000), chip), ((1, 0x1029, 0x94_0000), "a linked object")]
    {
        let said = said(object.0, object.1, object.2);
        assert!(said.contains(expected), "{said}");
    }
}

/// The attributes for initialising CANN's SHMEM library, as declared in the runtime's `aclshmem.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    process: [i32; 2],
    address: [u8; 64],
    bytes: u64,
    version: i32,
    engine: u32,
    limits: [u32; 3],
    socket: i32,
    communicator: *mut c_void,
    instance: u64,
}

const SOUND: Attributes = Attributes {
    process: [0, 1],
    address: *b"tcp://127.0.0.1:28473\0                                          ",
    bytes: 4 << 20,
    version: (1 << 16) + 24,
    engine: 1,
    limits: [2, 2, 2],
    socket: -1,
    communicator: null_mut(),
    instance: 0,
};

#[test]
fn the_shmem_library_is_checked_as_well() {
    let acl = Acl::new();
    let path = acl.folder.path().join("lib64/libshmem.so");
    // SAFETY: its initialisers do nothing.
    let shmem = Acl { library: unsafe { Library::new(path) }.unwrap(), folder: tempfile::tempdir().unwrap() };
    let begin = |flags: u32, mut attributes: Attributes| call!(shmem, "aclshmemx_init_attr", flags => u32, &raw mut attributes => *mut Attributes);
    let align = |alignment: usize, bytes: usize| {
        // SAFETY: as `aclshmem.h` of the runtime declares it.
        unsafe {
            let function =
                shmem.library.get::<unsafe extern "C" fn(usize, usize) -> *mut u8>(b"aclshmem_align").unwrap();
            function(alignment, bytes)
        }
    };
    assert!(align(512, 512).is_null());
    assert_eq!(begin(1, SOUND), -4, "with TLS");
    call!(shmem, "aclshmemx_set_conf_store_tls", false => bool, null_mut() => *mut u8, 0 => u32);
    for (why, attributes) in [
        ("a process that is none", Attributes { process: [1, 1], ..SOUND }),
        ("half a page", Attributes { bytes: 1 << 20, ..SOUND }),
        ("too much", Attributes { bytes: 41 << 30, ..SOUND }),
        ("another version", Attributes { version: 1 << 16, ..SOUND }),
        ("no limit", Attributes { limits: [2, 2, 0], ..SOUND }),
        ("an address without end", Attributes { address: [b'1'; 64], ..SOUND }),
    ] {
        assert_eq!(begin(1, attributes), -2, "{why}");
    }
    assert_eq!((begin(8, SOUND), begin(1, SOUND), begin(1, SOUND)), (-1, 0, -4));
    let memory = align(512, 1000);
    assert!(!memory.is_null() && memory.addr() % 512 == 0);
    let [odd, large] = [align(24, 8), align(512, 4 << 20)];
    assert!(odd.is_null() && large.is_null());
    let bytes = [7_u8; 1000];
    assert_eq!(acl.copy(memory, bytes.as_ptr(), 1000, 1), 0);
    let theirs = |process: i32| {
        // SAFETY: as `aclshmem.h` of the runtime declares it.
        unsafe {
            let function = shmem.library.get::<unsafe extern "C" fn(*mut u8, i32) -> *mut u8>(b"aclshmem_ptr").unwrap();
            function(memory, process)
        }
    };
    assert!(theirs(0) == memory && theirs(1).is_null());
    assert_eq!((call!(shmem, "aclshmem_finalize",), call!(shmem, "aclshmem_finalize",)), (0, -5));
    assert_eq!(acl.copy(memory, bytes.as_ptr(), 1000, 1), 107_000);
}

/// Touches memory if [`touched`] has asked for it.
#[test]
fn one_touch() {
    let Ok(how) = std::env::var(TOUCH) else { return };
    let acl = Acl::new();
    let memory = acl.allocate(4096);
    let mut byte = 1_u8;
    match how.as_str() {
        "by a copy" => assert_eq!(acl.copy(memory, &raw const byte, 1, 1), 0),
        // SAFETY: none. This ends the process.
        "by hand" => byte = unsafe { memory.read_volatile() },
        "after a wait" | "before a wait" => {
            let sender = Sender::new();
            assert_eq!(sender.send(sender.pinned), 0);
            if how == "after a wait" {
                sender.record_and_wait();
            }
            // SAFETY: without the wait, none. This ends the process.
            unsafe { sender.pinned.write_volatile(1) };
        }
        other => panic!("{other}"),
    }
    assert_eq!(byte, 1);
}

fn touched(how: &str) -> Option<i32> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "one_touch", "--nocapture"]).env(TOUCH, how);
    let status = command.output().unwrap().status;
    assert!(status.success() || status.signal().is_some(), "{status}");
    status.signal()
}

/// Ends with devices that were reset or not, if [`left`] has asked for it.
#[test]
fn one_end() {
    let Ok(how) = std::env::var(LEAVE) else { return };
    let acl = Acl::new();
    assert_eq!(call!(acl, "aclrtSetDevice", 0 => i32), 0);
    let resets = if how == "reset" { 2 } else { 1 };
    (0..resets).for_each(|_| assert_eq!(call!(acl, "aclrtResetDevice", 0 => i32), 0));
    if how == "reset" {
        // Once too often.
        assert_eq!(call!(acl, "aclrtResetDevice", 0 => i32), 107_017);
        assert_eq!(call!(acl, "aclInit", null_mut() => *mut c_void), 100_002);
        let mut count = 7_u64;
        assert_eq!(call!(acl, "aclFinalizeReference", &raw mut count => *mut u64), 0);
        assert_eq!(count, 1);
        assert_eq!(call!(acl, "aclFinalizeReference", null_mut() => *mut u64), 0);
        assert_eq!(call!(acl, "aclFinalizeReference", null_mut() => *mut u64), 100_037);
        assert_eq!(call!(acl, "aclrtSetDevice", 0 => i32), 100_001);
    }
    // The library stays open until the process ends.
    std::mem::forget(acl);
}

/// How a process ends that did so on the simulator or not, and what the log of its calls says at the end.
fn left(how: &str, simulated: bool) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    Toolkit::new(folder.path()).install().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "one_end", "--nocapture"]).env(LEAVE, how);
    let log = folder.path().join("log");
    command.env("HPMOE_STANDIN_LOG", &log).env("LD_LIBRARY_PATH", folder.path().join("lib64"));
    if simulated {
        command.env("LD_PRELOAD", folder.path().join("tools/simulator/Ascend910B1/lib/libruntime_camodel.so"));
    }
    let output = command.output().unwrap();
    let status = output.status;
    assert!(status.success() || status.signal().is_some(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(&log).unwrap();
    let ends: Vec<&str> = log.lines().filter(|line| line.starts_with("exit ")).collect();
    (status.signal(), ends.join("\n"))
}

#[test]
fn a_process_that_leaves_a_device_set_crashes_on_the_simulator() {
    for simulated in [false, true] {
        assert_eq!(left("reset", simulated), (None, String::new()));
        let (signal, log) = left("set", simulated);
        assert_eq!(signal, simulated.then_some(SIGABRT));
        assert!(log.contains("device 0 was set 1 times more than it was reset"), "{log}");
        assert!(log.contains("the library was not finalised"), "{log}");
    }
}

#[test]
fn pinned_memory_faults_when_it_is_written_before_its_copy_was_waited_for() {
    assert_eq!((touched("after a wait"), touched("before a wait")), (None, Some(SIGSEGV)));
}

#[test]
fn memory_of_a_device_faults_when_the_host_touches_it() {
    assert_eq!((touched("by a copy"), touched("by hand")), (None, Some(SIGSEGV)));
}
