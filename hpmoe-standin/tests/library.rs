//! What the stand-in for CANN's runtime library refuses.

use hpmoe_standin::Toolkit;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::ptr::null_mut;
use tempfile::TempDir;

/// Set in the process that touches memory of a device: how.
const TOUCH: &str = "HPMOE_TEST_TOUCH";
const SIGSEGV: i32 = 11;

/// The library, initialised, with device 0 set.
struct Acl {
    library: Library,
    _folder: TempDir,
}

macro_rules! call {
    ($acl:expr, $name:literal, $($value:expr => $type:ty),*) => {{
        // SAFETY: as `acl.h` of the runtime declares it; every pointer is to a value that lives.
        unsafe {
            let function = $acl.library.get::<unsafe extern "C" fn($($type),*) -> c_int>($name).unwrap();
            function($($value),*)
        }
    }};
}

impl Acl {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Toolkit::new(folder.path()).install().unwrap();
        // SAFETY: its initialisers do nothing.
        let library = unsafe { Library::new(folder.path().join("lib64/libacl_rt.so")) }.unwrap();
        let acl = Self { library, _folder: folder };
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

/// Touches memory of a device where [`touched`] has asked for it.
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

#[test]
fn memory_of_a_device_faults_when_the_host_touches_it() {
    assert_eq!((touched("by a copy"), touched("by hand")), (None, Some(SIGSEGV)));
}
