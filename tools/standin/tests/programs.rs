//! The stand-in for programs other than hpmoe, according to CANN's documentation: names of libraries, copies on streams, options of loads,
//! graphs.

mod calls;

use calls::{LoadOption, LoadOptions, call};
use hpmoe_standin::Toolkit;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

const PARAMETER: c_int = 107_000;
const DEPENDENCY: c_int = 107_024;
const UNJOINED: c_int = 107_025;
const CAPTURED: c_int = 107_027;
const EVENT_CAPTURED: c_int = 107_028;
const NOT_CAPTURED: c_int = 107_029;
const MODE: c_int = 107_030;
const UNSUPPORTED: c_int = 207_000;

/// A capture on one thread forbids calls of other threads, and the process has only one runtime library.
static ALONE: Mutex<()> = Mutex::new(());

/// A toolkit's library, and the folder that it is in.
struct Acl {
    library: Library,
    folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// Creates a handle by a call that stores it through its first argument.
macro_rules! made {
    ($acl:expr, $name:literal $(, $value:expr => $type:ty)*) => {{
        let mut handle = null_mut::<c_void>();
        assert_eq!(call!($acl, $name, &raw mut handle => *mut *mut c_void $(, $value => $type)*), 0);
        handle
    }};
}

type Handle = *mut c_void;

impl Acl {
    /// Opens the library by its former name, without initialising it.
    fn opened() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        Toolkit::new(folder.path()).install().unwrap();
        // SAFETY: its initialisers do nothing.
        let library = unsafe { Library::new(folder.path().join("lib64/libascendcl.so")) }.unwrap();
        Self { library, folder, _alone: alone }
    }

    fn new() -> Self {
        let acl = Self::opened();
        call!(acl, "aclInit", null_mut() => Handle);
        assert_eq!(call!(acl, "aclrtSetDevice", 0 => i32), 0);
        acl
    }

    fn allocate(&self, device: i32) -> *mut u8 {
        assert_eq!(call!(self, "aclrtSetDevice", device => i32), 0);
        let memory = made!(self, "aclrtMalloc", 64 => usize, 0 => u32).cast();
        assert_eq!(call!(self, "aclrtSetDevice", 0 => i32), 0);
        memory
    }

    /// A copy of 64 bytes on a stream.
    fn copy(&self, to: *mut u8, from: *const u8, kind: u32, stream: Handle) -> c_int {
        call!(self, "aclrtMemcpyAsync", to => *mut u8, 64 => usize, from => *const u8, 64 => usize, kind => u32, stream => Handle)
    }

    fn stream(&self) -> Handle {
        made!(self, "aclrtCreateStream")
    }

    fn event(&self) -> Handle {
        made!(self, "aclrtCreateEventExWithFlag", 1 => u32)
    }

    fn record(&self, event: Handle, stream: Handle) -> c_int {
        call!(self, "aclrtRecordEvent", event => Handle, stream => Handle)
    }

    fn wait(&self, stream: Handle, event: Handle) -> c_int {
        call!(self, "aclrtStreamWaitEvent", stream => Handle, event => Handle)
    }

    fn synchronize(&self, stream: Handle) -> c_int {
        call!(self, "aclrtSynchronizeStream", stream => Handle)
    }

    fn begin(&self, stream: Handle, mode: u32) {
        assert_eq!(call!(self, "aclmdlRICaptureBegin", stream => Handle, mode => u32), 0);
    }

    fn end(&self, stream: Handle) -> (c_int, Handle) {
        let mut graph = null_mut();
        let code = call!(self, "aclmdlRICaptureEnd", stream => Handle, &raw mut graph => *mut Handle);
        (code, graph)
    }

    /// The contents of device memory.
    fn bytes(&self, memory: *const u8) -> [u8; 64] {
        let mut bytes = [0; 64];
        let code = call!(self, "aclrtMemcpy", bytes.as_mut_ptr() => *mut u8, 64 => usize, memory => *const u8, 64 => usize, 2 => u32);
        assert_eq!(code, 0);
        bytes
    }

    fn destroy(&self, streams: &[Handle]) {
        // A stream's thread runs code of the library, which must not be unloaded before it has ended.
        streams.iter().for_each(|stream| assert_eq!(call!(self, "aclrtDestroyStream", *stream => Handle), 0));
    }
}

#[test]
fn libraries_have_the_names_of_canns_and_tell_devices_at_once() {
    let acl = Acl::opened();
    let mut count = 0_u32;
    assert_eq!(call!(acl, "aclrtGetDeviceCount", &raw mut count => *mut u32), 0);
    assert_eq!(count, 8);
    // SAFETY: as `acl.h` of the runtime declares it; the name stays.
    let name = unsafe {
        let name = acl.library.get::<unsafe extern "C" fn() -> *const c_char>(b"aclrtGetSocName").unwrap();
        CStr::from_ptr(name()).to_str().unwrap()
    };
    assert_eq!(name, "Ascend910_9391");
    for other in ["hccl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel"] {
        let path = acl.folder.path().join(format!("lib64/lib{other}.so"));
        // SAFETY: its initialisers do nothing.
        let library = unsafe { Library::new(path) }.unwrap();
        // SAFETY: it is not called.
        assert!(unsafe { library.get::<*const u8>(b"aclSetCompileopt") }.is_ok(), "{other}");
    }
}

#[test]
fn streams_copy_in_all_directions_but_within_the_host() {
    let acl = Acl::new();
    let (stream, here, there) = (acl.stream(), acl.allocate(0), acl.allocate(1));
    // Memory that is not pinned: the copy is over when the call returns.
    let (one, mut back) = ([1_u8; 64], [0_u8; 64]);
    assert_eq!(acl.copy(here, one.as_ptr(), 1, stream), 0);
    assert_eq!(acl.copy(back.as_mut_ptr(), here, 2, stream), 0);
    assert_eq!(back, one);
    assert_eq!(acl.copy(back.as_mut_ptr(), one.as_ptr(), 0, stream), UNSUPPORTED);
    // From device to device, if the stream's may access the other one.
    assert_eq!(acl.copy(there, here, 3, stream), PARAMETER);
    assert_eq!(call!(acl, "aclrtDeviceEnablePeerAccess", 1 => i32, 0 => u32), 0);
    assert_eq!(acl.copy(there, here, 3, stream), 0);
    assert_eq!(acl.synchronize(stream), 0);
    assert_eq!(acl.bytes(there), one);
    acl.destroy(&[stream]);
}

#[test]
fn loads_take_several_options_each_once() {
    let acl = Acl::new();
    let said = |given: &[(u32, u32)]| {
        let options: Vec<_> = given.iter().map(|&(kind, value)| LoadOption { kind, value: [value, 0, 0, 0] }).collect();
        let options = LoadOptions { options: options.as_ptr(), count: given.len() };
        let mut object = [0_u8; 64];
        object[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        let mut handle = null_mut();
        let code = call!(acl, "aclrtBinaryLoadFromData", object.as_ptr() => *const u8, 64 => usize,
            &raw const options => *const LoadOptions, &raw mut handle => *mut Handle);
        assert_eq!(code, PARAMETER);
        // SAFETY: as `acl.h` of the runtime declares it; the text lives until the next call.
        unsafe {
            let message = acl.library.get::<unsafe extern "C" fn() -> *const c_char>(b"aclGetRecentErrMsg").unwrap();
            CStr::from_ptr(message()).to_string_lossy().into_owned()
        }
    };
    const MAGIC: (u32, u32) = (2, 0x4355_4245);
    // These options are valid, so the error is about the object.
    for taken in [&[MAGIC][..], &[MAGIC, (1, 1)], &[(1, 0), MAGIC]] {
        assert!(said(taken).contains("an object for both kinds of core"), "{}", said(taken));
    }
    for (refused, why) in [
        (&[][..], "no magic number"),
        (&[(1, 1)], "no magic number"),
        (&[MAGIC, MAGIC], "an option twice"),
        (&[(2, 1)], "a different magic number"),
        (&[MAGIC, (1, 2)], "neither 0 nor 1"),
        (&[MAGIC, (3, 0)], "an unknown option"),
    ] {
        assert!(said(refused).contains(why), "{}", said(refused));
    }
}

#[test]
fn a_graph_runs_what_was_captured_as_often_as_it_is_launched() {
    let acl = Acl::new();
    let (stream, side, event, joined) = (acl.stream(), acl.stream(), acl.event(), acl.event());
    let [from, middle, to] = [0; 3].map(|device| acl.allocate(device));
    let fill = |value: i32| {
        assert_eq!(call!(acl, "aclrtMemset", from => *mut u8, 64 => usize, value => i32, 64 => usize), 0);
    };
    fill(1);
    acl.begin(stream, 0);
    let mut status = 0_u32;
    let mut status_of = |stream: Handle| {
        let code = call!(acl, "aclmdlRICaptureGetInfo", stream => Handle, &raw mut status => *mut u32, null_mut() => *mut Handle);
        assert_eq!(code, 0);
        status
    };
    assert_eq!((status_of(stream), status_of(side)), (1, 0));
    assert_eq!(acl.copy(middle, from, 3, stream), 0);
    // Another stream goes on from there, and comes back.
    assert_eq!((acl.record(event, stream), acl.wait(side, event)), (0, 0));
    assert_eq!(status_of(side), 1);
    assert_eq!(acl.copy(to, middle, 3, side), 0);
    assert_eq!((acl.record(joined, side), acl.wait(stream, joined)), (0, 0));
    let (code, graph) = acl.end(stream);
    assert_eq!((code, status_of(stream), status_of(side)), (0, 0, 0));
    assert_eq!(acl.bytes(to), [0xA5; 64], "nothing has run");
    for value in 2..5 {
        fill(value);
        assert_eq!(call!(acl, "aclmdlRIExecuteAsync", graph => Handle, stream => Handle), 0);
        assert_eq!(acl.synchronize(stream), 0);
        assert_eq!(acl.bytes(to), [value as u8; 64]);
    }
    assert_eq!(call!(acl, "aclmdlRIDebugPrint", graph => Handle), 0);
    assert_eq!(call!(acl, "aclmdlRIDestroy", graph => Handle), 0);
    assert_eq!(call!(acl, "aclmdlRIDestroy", graph => Handle), PARAMETER);
    assert_eq!(call!(acl, "aclmdlRIExecuteAsync", graph => Handle, stream => Handle), PARAMETER);
    acl.destroy(&[stream, side]);
}

#[test]
fn captures_refuse_what_cann_refuses() {
    let acl = Acl::new();
    let (stream, side, event, outside) = (acl.stream(), acl.stream(), acl.event(), acl.event());
    let (memory, host) = (acl.allocate(0), [1_u8; 64]);
    let memset = || call!(acl, "aclrtMemset", memory => *mut u8, 64 => usize, 0 => i32, 64 => usize);
    assert_eq!(acl.end(stream).0, NOT_CAPTURED);
    assert_eq!(acl.record(outside, side), 0);
    acl.begin(stream, 0);
    // A captured stream has nothing to wait for, and takes no event from outside.
    assert_eq!((acl.synchronize(stream), acl.wait(stream, outside)), (CAPTURED, DEPENDENCY));
    assert_eq!(call!(acl, "aclmdlRICaptureBegin", stream => Handle, 0 => u32), CAPTURED);
    assert_eq!(call!(acl, "aclrtDestroyStream", stream => Handle), CAPTURED);
    // Synchronous calls are forbidden, unless the thread's mode allows them.
    assert_eq!((memset(), acl.copy(memory, host.as_ptr(), 1, stream)), (MODE, MODE));
    let mut mode = 2_u32;
    assert_eq!(call!(acl, "aclmdlRICaptureThreadExchangeMode", &raw mut mode => *mut u32), 0);
    assert_eq!((mode, memset()), (0, 0));
    assert_eq!(call!(acl, "aclmdlRICaptureThreadExchangeMode", &raw mut mode => *mut u32), 0);
    // A stream that continues from there must join again.
    assert_eq!((acl.record(event, stream), acl.wait(side, event)), (0, 0));
    assert_eq!(call!(acl, "aclrtSynchronizeEvent", event => Handle), EVENT_CAPTURED);
    assert_eq!(acl.copy(memory, memory, 3, side), 0);
    assert_eq!(acl.end(stream).0, UNJOINED);
    assert_eq!((acl.synchronize(stream), acl.synchronize(side), memset()), (0, 0, 0));
    assert_eq!(acl.wait(stream, event), EVENT_CAPTURED);
    acl.destroy(&[stream, side]);
}
