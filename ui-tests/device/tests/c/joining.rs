//! Groups of processes: who may join, how long that may take, and how a wait can end early. Each rank is a thread here,
//! with its own group.

use std::ffi::CString;
use std::net::TcpListener;
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hpmoe_c::header::{HPMOE_INVALID, HPMOE_OK, HpmoeJoining, HpmoeOptions};
use hpmoe_device_tests::hpmoe_library::{
    hpmoe_group_free, hpmoe_group_host, hpmoe_group_join, hpmoe_listen, hpmoe_listener_free,
};

use super::support::{NO_OPTIONS, error};

/// A listener on an address, and its port; or an error.
fn listen(address: &str, joining: HpmoeJoining) -> Result<(u64, u16), String> {
    let (address, mut listener, mut port) = (CString::new(address).unwrap(), 0, 0);
    // SAFETY: a string, a structure, and variables of this function.
    let status = unsafe { hpmoe_listen(address.as_ptr(), &raw const joining, &raw mut listener, &raw mut port) };
    if status == HPMOE_OK { Ok((listener, port)) } else { Err(error()) }
}

/// Joins as a rank other than 0, with these settings; or returns an error.
fn join(port: u16, joining: HpmoeJoining, options: HpmoeOptions) -> Result<u64, String> {
    let (address, mut group) = (CString::new(format!("127.0.0.1:{port}")).unwrap(), 0);
    // SAFETY: a string, structures, and a variable of this function.
    let status =
        unsafe { hpmoe_group_join(1, 2, address.as_ptr(), &raw const joining, &raw const options, &raw mut group) };
    if status == HPMOE_OK { Ok(group) } else { Err(error()) }
}

fn host(listener: u64, joining: HpmoeJoining) -> Result<u64, String> {
    let mut group = 0;
    // SAFETY: a structure, no options, and a variable of this function.
    let status = unsafe { hpmoe_group_host(listener, 2, &raw const joining, NO_OPTIONS, &raw mut group) };
    if status == HPMOE_OK { Ok(group) } else { Err(error()) }
}

fn with_secret(secret: &'static [u8]) -> HpmoeJoining {
    HpmoeJoining {
        secret: secret.as_ptr().cast(),
        secret_bytes: secret.len() as u64,
        time_limit_ms: 20_000,
        ..HpmoeJoining::default()
    }
}

const SECRET: &[u8] = b"what ranks of this job know";

#[test]
fn a_port_is_kept_until_the_group_takes_it() {
    let (listener, port) = listen("127.0.0.1:0", HpmoeJoining::default()).unwrap();
    assert!(TcpListener::bind(("127.0.0.1", port)).is_err(), "nobody else gets the port");
    let other = thread::spawn(move || join(port, with_secret(SECRET), HpmoeOptions::default()));
    let group = host(listener, with_secret(SECRET)).unwrap();
    let other = other.join().unwrap().unwrap();
    assert_eq!((hpmoe_group_free(other), hpmoe_group_free(group)), (HPMOE_OK, HPMOE_OK));
    // The handle is no longer valid, and the port is free.
    assert!(host(listener, with_secret(SECRET)).unwrap_err().starts_with("there is no listener "));
    let (listener, port) = listen("127.0.0.1:0", HpmoeJoining::default()).unwrap();
    assert_eq!((hpmoe_listener_free(listener), hpmoe_listener_free(listener)), (HPMOE_OK, HPMOE_INVALID));
    assert!(error().ends_with("make one with hpmoe_listen"), "{}", error());
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok());
}

#[test]
fn ranks_with_another_secret_or_job_are_refused() {
    let (listener, port) = listen("127.0.0.1:0", HpmoeJoining::default()).unwrap();
    let own = HpmoeJoining { job: c"A".as_ptr(), ..with_secret(SECRET) };
    let group = thread::spawn(move || {
        let own = HpmoeJoining { job: c"A".as_ptr(), ..with_secret(SECRET) };
        host(listener, own)
    });
    let said = join(port, HpmoeJoining { job: c"B".as_ptr(), ..own }, HpmoeOptions::default()).unwrap_err();
    assert!(said.contains("belongs to a different job than rank 1, whose job is `B`"), "{said}");
    let wrong = HpmoeJoining { job: c"A".as_ptr(), ..with_secret(b"what nobody else knows") };
    let said = join(port, wrong, HpmoeOptions::default()).unwrap_err();
    assert!(said.contains("share no secret: their secrets differ"), "{said}");
    let none = HpmoeJoining { secret: null(), ..own };
    assert!(join(port, none, HpmoeOptions::default()).unwrap_err().contains("this rank has none"));
    let other = join(port, own, HpmoeOptions::default()).unwrap();
    let group = group.join().unwrap().unwrap();
    assert_eq!((hpmoe_group_free(other), hpmoe_group_free(group)), (HPMOE_OK, HPMOE_OK));
}

#[test]
fn settings_that_are_none_are_told() {
    let said = listen("0.0.0.0:0", HpmoeJoining::default()).unwrap_err();
    assert!(said.contains("which other machines reach, without a secret"), "{said}");
    let anyone = HpmoeJoining { let_anyone_join: 1, ..HpmoeJoining::default() };
    assert_eq!(hpmoe_listener_free(listen("0.0.0.0:0", anyone).unwrap().0), HPMOE_OK);
    assert_eq!(hpmoe_listener_free(listen("0.0.0.0:0", with_secret(SECRET)).unwrap().0), HPMOE_OK);
    let two = HpmoeJoining { let_anyone_join: 2, ..HpmoeJoining::default() };
    assert_eq!(listen("127.0.0.1:0", two).unwrap_err(), "`let_anyone_join` is 2, but should be 0 or 1");
    let said = listen("127.0.0.1:0", with_secret(b"short")).unwrap_err();
    assert!(said.starts_with("the secret has 5 bytes"), "{said}");
}

/// No port is chosen in advance: rank 0 writes it to a file, which is removed when both have joined.
#[test]
fn ranks_meet_by_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let address = CString::new(format!("file:{}/rank0", folder.path().display())).unwrap();
    let join = |rank| {
        let (mut group, joining) = (0, with_secret(SECRET));
        // SAFETY: a string, a structure, no options, and a variable of this function.
        let status =
            unsafe { hpmoe_group_join(rank, 2, address.as_ptr(), &raw const joining, NO_OPTIONS, &raw mut group) };
        assert_eq!(status, HPMOE_OK, "{}", error());
        group
    };
    let groups =
        thread::scope(|scope| [1, 0].map(|rank| scope.spawn(move || join(rank))).map(|rank| rank.join().unwrap()));
    assert_eq!(groups.map(|group| hpmoe_group_free(group)), [HPMOE_OK; 2]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// A limit from the caller, and one from the environment: the error names the one that the caller can change.
#[test]
fn joining_has_a_limit() {
    let (listener, _) = listen("127.0.0.1:0", HpmoeJoining::default()).unwrap();
    let short = HpmoeJoining { time_limit_ms: 100, ..HpmoeJoining::default() };
    let said = host(listener, short).unwrap_err();
    assert!(said.contains("within 100ms: start them, or raise the time limit of joining"), "{said}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let said = join(nobody, short, HpmoeOptions::default()).unwrap_err();
    assert!(said.contains("could not reach rank 0") && !said.contains("HPMOE_PORT"), "{said}");
}

#[test]
fn a_number_of_the_caller_ends_waits() {
    static CANCEL: AtomicU32 = AtomicU32::new(0);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let waits = thread::spawn(move || {
        let options = HpmoeOptions { cancel: CANCEL.as_ptr(), ..HpmoeOptions::default() };
        join(port, HpmoeJoining::default(), options).unwrap_err()
    });
    thread::sleep(Duration::from_millis(300));
    CANCEL.store(1, Ordering::SeqCst);
    let cancelled = Instant::now();
    let said = waits.join().unwrap();
    assert!(said.starts_with("rank 1 was cancelled") && cancelled.elapsed() < Duration::from_secs(1), "{said}");
}
