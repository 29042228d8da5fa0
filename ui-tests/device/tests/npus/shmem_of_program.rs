//! A program that has initialised CANN's SHMEM library itself, before hpmoe uses it.

use super::processes::run_processes;
use super::shmem::{CHOICE, HEAP, calls};
use super::{Layer, SAID, joined};
use std::ffi::{CString, c_int, c_void};
use std::net::TcpListener;
use std::path::Path;

/// Address at which the program's processes meet in SHMEM.
const ADDRESS: &str = "HPMOE_TEST_SHMEM_ADDRESS";
/// Ways in which the program differs from what the group expects.
const MISTAKE: &str = "HPMOE_TEST_SHMEM_MISTAKE";

const MIB: usize = 1 << 20;

/// The calls of both libraries that a program makes.
struct Libraries {
    acl: libloading::Library,
    shmem: libloading::Library,
}

/// The attributes for initialising the library, as documented by CANN.
#[repr(C)]
struct Attributes {
    process: i32,
    processes: i32,
    address: [u8; 64],
    bytes: u64,
    version: i32,
    engine: u32,
    seconds: [u32; 3],
    socket: i32,
    communicator: *mut c_void,
    instance: u64,
}

/// Calls a function of a library.
macro_rules! call {
    ($library:expr, $name:literal, $($argument:expr => $of:ty),* ; $result:ty) => {{
        #[expect(unsafe_code, reason = "a C interface")]
        // SAFETY: the types are those of the library's header.
        let result = unsafe {
            let function = $library.get::<unsafe extern "C" fn($($of),*) -> $result>($name).unwrap();
            function($($argument),*)
        };
        result
    }};
}

impl Libraries {
    #[expect(unsafe_code, reason = "libraries are opened")]
    fn open() -> Self {
        let folder = Path::new(env!("STANDIN")).join("lib64");
        // SAFETY: the libraries of the stand-in may be opened by any program.
        let open = |name| unsafe { libloading::Library::new(folder.join(name)) }.unwrap();
        Self { acl: open("libacl_rt.so"), shmem: open("libshmem.so") }
    }

    /// Initialises the library, like a program with its own kernels.
    fn initialize(&self, process: usize, processes: usize, device: i32, mib: usize) {
        assert_eq!(call!(self.acl, b"aclInit", std::ptr::null() => *const c_void ; c_int), 0);
        assert_eq!(call!(self.acl, b"aclrtSetDevice", device => i32 ; c_int), 0);
        let without = std::ptr::null();
        let tls = call!(self.shmem, b"aclshmemx_set_conf_store_tls", false => bool, without => *const c_void, 0 => u32 ; c_int);
        assert_eq!(tls, 0);
        let url = CString::new(std::env::var(ADDRESS).unwrap()).unwrap();
        let mut address = [0; 64];
        address[..url.as_bytes().len()].copy_from_slice(url.as_bytes());
        let mut attributes = Attributes {
            process: process as i32,
            processes: processes as i32,
            address,
            bytes: (mib * MIB) as u64,
            version: (1 << 16) + 24,
            engine: 1,
            seconds: [20; 3],
            socket: -1,
            communicator: std::ptr::null_mut(),
            instance: 0,
        };
        let begun = call!(self.shmem, b"aclshmemx_init_attr", 1 => u32, &raw mut attributes => *mut Attributes ; c_int);
        assert_eq!(begun, 0);
    }

    fn device(&self) -> i32 {
        let mut device = -1;
        assert_eq!(call!(self.acl, b"aclrtGetDevice", &raw mut device => *mut i32 ; c_int), 0);
        device
    }

    fn align(&self, bytes: usize) -> *mut c_void {
        call!(self.shmem, b"aclshmem_align", 64 => usize, bytes => usize ; *mut c_void)
    }

    fn fill(&self, memory: *mut c_void, byte: i32, bytes: usize) {
        let filled =
            call!(self.acl, b"aclrtMemset", memory => *mut c_void, bytes => usize, byte => i32, bytes => usize ; c_int);
        assert_eq!(filled, 0);
    }

    fn read(&self, memory: *mut c_void, bytes: usize) -> Vec<u8> {
        let mut here = vec![0; bytes];
        let to = here.as_mut_ptr().cast();
        let copied = call!(self.acl, b"aclrtMemcpy", to => *mut c_void, bytes => usize, memory => *mut c_void, bytes => usize, 2 => c_int ; c_int);
        assert_eq!(copied, 0);
        here
    }
}

/// The address that the test gave this process.
fn place() -> (usize, usize) {
    let number = |name| std::env::var(name).unwrap().parse().unwrap();
    (number("HPMOE_RANK"), number("HPMOE_RANKS"))
}

/// Two groups in a row use the program's library, which the program then ends. A third group initialises the library
/// itself.
pub(super) fn process() {
    let (rank, ranks) = place();
    let program = Libraries::open();
    program.initialize(rank, ranks, rank as i32, 16);
    let own = program.align(4096);
    program.fill(own, 7, 4096);
    let launch = || {
        let group = joined();
        let (expected, mut layer) = (Layer::new(ranks).reference(), Layer::of(&group));
        let own_rank = group.ranks().only().unwrap();
        layer.launch(&group).unwrap();
        assert!(layer.y[own_rank] == expected[own_rank], "rank {rank} of {ranks}");
    };
    launch();
    launch();
    // Everything is as the program left it, and the groups' memory is free again.
    assert_eq!(call!(program.shmem, b"aclshmemx_init_status", ; c_int), 2);
    assert_eq!(program.device(), rank as i32);
    assert!(program.read(own, 4096).iter().all(|byte| *byte == 7));
    assert!(!program.align(12 * MIB).is_null());
    assert_eq!(call!(program.shmem, b"aclshmem_finalize", ; c_int), 0);
    launch();
    assert_eq!(call!(program.shmem, b"aclshmemx_init_status", ; c_int), 0);
}

/// If program and group do not fit together, the launch explains why.
pub(super) fn refused_process() {
    let (rank, ranks) = place();
    let program = Libraries::open();
    match std::env::var(MISTAKE).unwrap().as_str() {
        "one rank" if rank == 0 => program.initialize(0, 1, 0, 16),
        "one rank" => {}
        "numbers" => program.initialize(ranks - 1 - rank, ranks, rank as i32, 16),
        "NPUs" => program.initialize(rank, ranks, (ranks - 1 - rank) as i32, 16),
        "room" => program.initialize(rank, ranks, rank as i32, 2),
        other => panic!("no mistake `{other}`"),
    }
    let group = joined();
    let error = Layer::of(&group).launch(&group).unwrap_err().to_string();
    let said = std::env::var(SAID).unwrap().replace("{rank}", &rank.to_string());
    assert!(error.contains(&said.replace("{other}", &(ranks - 1 - rank).to_string())), "{error}");
}

fn address() -> String {
    format!("tcp://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

#[test]
fn a_program_that_has_initialised_shmem_finds_it_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let variables = [CHOICE, (HEAP, "8"), (ADDRESS, &address()), ("HPMOE_STANDIN_LOG", log.to_str().unwrap())];
    run_processes("shmem of the program", 2, &variables);
    // For each process: initialisation and end by the program and by the last group, and the memory of the two groups
    // before.
    for call in ["aclshmemx_init_attr", "aclshmem_finalize", "aclshmem_free"] {
        let found = calls(&log, call);
        assert!(found.len() == 4 && found.iter().all(|line| line.contains(": 0")), "{call}: {found:?}");
    }
}

#[test]
fn a_program_whose_shmem_does_not_fit_the_group_is_told() {
    let refused = |mistake: &str, said: &str| {
        let variables = [CHOICE, (HEAP, "8"), (ADDRESS, &address()), (MISTAKE, mistake), (SAID, said)];
        run_processes("refused shmem of the program", 2, &variables);
    };
    refused(
        "one rank",
        "the program has initialised SHMEM on rank 0, but not on rank 1: do so on all ranks, or on none",
    );
    refused(
        "numbers",
        "this process is rank {rank} of 2, but the program has initialised SHMEM in it as process {other} of 2",
    );
    refused(
        "NPUs",
        "the program has initialised SHMEM on NPU {other}, but rank {rank} runs on NPU {rank}: call aclrtSetDevice with number {rank}",
    );
    refused("room", "SHMEM gave no heap of 8 MiB: lower HPMOE_SHMEM_HEAP_MIB, or initialise SHMEM with more");
}
