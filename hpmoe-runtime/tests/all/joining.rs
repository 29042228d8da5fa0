//! Processes that join a group: one ends before all have joined, or finds another program in place of rank 0.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hpmoe_runtime::{Bootstrap as _, BootstrapError, Cancel, Group, Joining, Place, Secret, TcpBootstrap};

use crate::processes::{Processes, place};

/// Ranks 0 to 2 join; rank 3 never does. One of the first three is killed after it has joined.
fn expect_end(test: &str, killed: usize) {
    let mut processes = Processes::start_test(&format!("joining::{test}"), 4);
    // Rank 0 reads the connections of those that have told who they are.
    (1..3).for_each(|rank| processes.wait_for_thread(0, &format!("reads rank {rank}")));
    processes.signal(killed, libc::SIGKILL);
    let sent = Instant::now();
    for rank in (0..3).filter(|&rank| rank != killed) {
        let (code, text) = processes.end(rank, Duration::from_secs(20));
        assert_eq!(code, Some(101), "rank {rank}:\n{text}");
        assert!(text.contains(&format!("rank {killed} is gone: its connection closed")), "rank {rank}:\n{text}");
    }
    assert!(sent.elapsed() < Duration::from_secs(10), "the others took {:?}", sent.elapsed());
}

fn join_without_the_last() {
    if place().unwrap().rank == 3 {
        return sleep(Duration::from_secs(60));
    }
    panic!("{}", Group::from_launcher().map(|_| ()).unwrap_err());
}

#[test]
fn a_process_that_is_killed_before_all_have_joined_is_told() {
    match place() {
        Some(_) => join_without_the_last(),
        None => expect_end("a_process_that_is_killed_before_all_have_joined_is_told", 1),
    }
}

#[test]
fn rank_0_that_is_killed_before_all_have_joined_is_told() {
    match place() {
        Some(_) => join_without_the_last(),
        None => expect_end("rank_0_that_is_killed_before_all_have_joined_is_told", 0),
    }
}

#[test]
fn a_port_that_others_use_is_told_on_all_ranks() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let said = |rank| TcpBootstrap::join(&Place::new(rank, 2, &address), &limited(10)).unwrap_err().to_string();
    let error = said(0);
    assert!(error.starts_with(&format!("rank 0 can't listen on {address} (Address already in use")), "{error}");
    assert!(error.ends_with("choose another address, for all ranks"), "{error}");
    // Another program's server.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = other.accept().unwrap();
            let mut some = [0; 8];
            stream.read_exact(&mut some).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").unwrap();
        });
        let error = said(1);
        let told = format!(
            "rank 1 reached a program at {address} that is not rank 0 of this group: choose another address, for all ranks"
        );
        assert_eq!(error, told);
    });
}

/// Settings with a time limit in seconds.
fn limited(seconds: u64) -> Joining {
    Joining::new().limit(Duration::from_secs(seconds))
}

/// Two jobs on one port: ranks of different jobs never run together. A rank that reaches the wrong rank 0 gets an error that names the
/// cause, and its job continues.
#[test]
fn a_rank_of_another_job_is_refused_and_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(1, 2, listener.local_addr().unwrap().to_string());
    std::thread::scope(|scope| {
        let join = |job: &'static str| {
            let place = &place;
            scope.spawn(move || TcpBootstrap::join(place, &limited(20).job(job)))
        };
        let other = join("B\u{1b}[2J");
        let first = scope.spawn(|| TcpBootstrap::host(listener, 2, &limited(20).job("A")).unwrap());
        assert_eq!(
            other.join().unwrap().unwrap_err().to_string(),
            format!(
                "rank 0 at {} belongs to a different job than rank 1, whose job is `B\\u{{1b}}[2J`: start the ranks of a job with one \
                 name (the name of the job, which the program sets), or on another port",
                place.address
            )
        );
        let second = join("A").join().unwrap().unwrap();
        let first = first.join().unwrap();
        assert_eq!(first.strangers().to_string(), "1 connection of strangers to rank 0: 1 of other jobs");
        assert_eq!(second.strangers(), first.strangers(), "all ranks know of it");
    });
}

/// The errors of rank 0 and of another rank if their secrets differ.
fn secrets(zero: Option<&str>, one: Option<&str>) -> (String, String) {
    let with = |secret: Option<&str>, seconds| match secret {
        None => Joining::new().limit(Duration::from_millis(seconds)),
        Some(secret) => Joining::new().limit(Duration::from_millis(seconds)).secret(Secret::new(secret).unwrap()),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(1, 2, listener.local_addr().unwrap().to_string());
    std::thread::scope(|scope| {
        let other = scope.spawn(|| TcpBootstrap::join(&place, &with(one, 20_000)).unwrap_err().to_string());
        let first = TcpBootstrap::host(listener, 2, &with(zero, 500)).unwrap_err().to_string();
        (first, other.join().unwrap())
    })
}

#[test]
fn ranks_without_one_secret_do_not_join() {
    let (mine, other) = (Some("a secret of this job"), Some("a secret of another"));
    for (zero, one, why) in [
        (mine, None, "rank 0 has one, but this rank has none"),
        (None, mine, "this rank has one, but rank 0 has none"),
        (mine, other, "their secrets differ"),
    ] {
        let (first, second) = secrets(zero, one);
        assert!(second.contains("share no secret: ") && second.contains(why), "{second}");
        assert!(second.ends_with("give all ranks one secret, by the program"), "{second}");
        let seen = "1 connection of strangers to rank 0: 1 without the secret";
        assert!(first.contains("rank 1 did not join") && first.contains(seen), "{first}");
    }
}

/// A program at rank 0's address that doesn't have the secret gets no data, and no rank joins it.
#[test]
fn an_impostor_is_not_taken_for_rank_0() {
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(1, 2, impostor.local_addr().unwrap().to_string());
    let joining = limited(20).secret(Secret::generate().unwrap());
    std::thread::scope(|scope| {
        let rank = scope.spawn(|| TcpBootstrap::join(&place, &joining).unwrap_err().to_string());
        let (mut stream, _) = impostor.accept().unwrap();
        let (mut hello, mut proof, mut more) = ([0; 96], [0; 32], Vec::new());
        stream.read_exact(&mut hello).unwrap();
        stream.write_all(&crate::strangers::answer(0, [7; 32])).unwrap();
        stream.read_exact(&mut proof).unwrap();
        stream.write_all(&crate::strangers::answer(1, [7; 32])).unwrap();
        let said = rank.join().unwrap();
        assert!(said.contains("rank 0 did not prove that it knows the secret of this rank"), "{said}");
        stream.read_to_end(&mut more).unwrap();
        assert_eq!(more, [], "an impostor gets a greeting and nothing else");
    });
}

/// An impostor that sends a byte from time to time delays no rank beyond the time limit.
#[test]
fn rank_0_that_says_little_is_waited_for_as_long_as_the_limit_says() {
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(1, 2, impostor.local_addr().unwrap().to_string());
    let joining = Joining::new().limit(Duration::from_millis(700));
    let began = Instant::now();
    std::thread::scope(|scope| {
        let rank = scope.spawn(|| TcpBootstrap::join(&place, &joining).unwrap_err().to_string());
        let (mut stream, _) = impostor.accept().unwrap();
        for byte in crate::strangers::answer(0, [7; 32]) {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        let said = rank.join().unwrap();
        assert!(said.contains("within 700ms (it accepted the connection and did not answer)"), "{said}");
    });
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

/// Cancelling ends joining within a second, on rank 0 and on other ranks, and the other side is notified.
#[test]
fn joining_can_be_cancelled() {
    let cancelled_after = |cancel: &Cancel| {
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            sleep(Duration::from_millis(300));
            cancel.cancel();
            Instant::now()
        })
    };
    // Rank 0 without its second rank; a rank without rank 0; and a rank that has joined while another one is missing.
    let (listener, nobody) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let place = Place::new(1, 3, listener.local_addr().unwrap().to_string());
    let silent = Place::new(1, 3, nobody.local_addr().unwrap().to_string());
    let [alone, waits, joined] = [0, 1, 2].map(|_| Cancel::new());
    let with = |cancel: &Cancel| limited(60).cancelled_by(cancel);
    let said = |joined: Result<TcpBootstrap, BootstrapError>| joined.unwrap_err().to_string();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| said(TcpBootstrap::host(listener, 3, &limited(60))));
        let ends = [
            (scope.spawn(|| said(TcpBootstrap::join(&place, &with(&joined)))), &joined),
            (scope.spawn(|| said(TcpBootstrap::join(&silent, &with(&waits)))), &waits),
            (scope.spawn(|| said(TcpBootstrap::join(&Place::new(0, 2, "127.0.0.1:0"), &with(&alone)))), &alone),
        ];
        for (rank, cancel) in ends {
            let cancelled = cancelled_after(cancel).join().unwrap();
            let said = rank.join().unwrap();
            assert!(cancelled.elapsed() < Duration::from_secs(1), "{:?}", cancelled.elapsed());
            assert!(said.contains("was cancelled while it waited for other ranks"), "{said}");
        }
        let said = first.join().unwrap();
        assert!(said.contains("rank 1 is gone"), "{said}");
    });
}

/// Cancelling ends an exchange, and the other ranks are notified at once.
#[test]
fn an_exchange_can_be_cancelled() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(1, 2, listener.local_addr().unwrap().to_string());
    let cancel = Cancel::new();
    let limit = Duration::from_secs(60);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let joined = TcpBootstrap::join(&place, &limited(60).cancelled_by(&cancel)).unwrap();
            let said = joined.all_gather(b"b", limit).unwrap_err().to_string();
            // It is not over for the others because this value lives.
            sleep(Duration::from_millis(500));
            (said, joined.all_gather(b"b", limit).unwrap_err().to_string())
        });
        let first = TcpBootstrap::host(listener, 2, &limited(60)).unwrap();
        sleep(Duration::from_millis(100));
        let began = Instant::now();
        cancel.cancel();
        while first.gone().is_none() {
            assert!(began.elapsed() < Duration::from_millis(500), "rank 0 was not told");
            sleep(Duration::from_millis(2));
        }
        let (said, again) = waits.join().unwrap();
        assert!(said.starts_with("rank 1 was cancelled") && said == again, "{said}, {again}");
    });
}

/// A variable that is not text does not count as unset; otherwise, a job would have no secret.
#[test]
fn a_variable_that_is_no_text_is_an_error() {
    if std::env::var_os("HPMOE_RANK").is_some() {
        return eprintln!("{}", Group::from_launcher().unwrap_err());
    }
    for variable in ["HPMOE_SECRET_FILE", "HPMOE_JOB", "HPMOE_ADDRESS_FILE", "HPMOE_PORT", "HPMOE_JOIN_TIME_LIMIT"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["joining::a_variable_that_is_no_text_is_an_error", "--exact", "--nocapture"]);
        command.env("HPMOE_JOIN_TIME_LIMIT", "1").env("HPMOE_RANK", "1").env("HPMOE_RANKS", "2");
        let output = command.env(variable, OsStr::from_bytes(b"/s\x1b\xff")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let named = format!("{variable} is `/s\\u{{1b}}\u{fffd}`, but should be text in UTF-8");
        assert!(said.contains(&named), "{said}");
    }
}

/// The reason that an impostor sends is shown without control characters. Without a secret, any process of the machine can be an impostor.
#[test]
fn a_refusal_does_not_act_on_terminals() {
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new(1, 2, impostor.local_addr().unwrap().to_string());
    let said = std::thread::scope(|scope| {
        let rank = scope.spawn(|| TcpBootstrap::join(&place, &limited(20)).unwrap_err().to_string());
        let (mut stream, _) = impostor.accept().unwrap();
        let (hello, challenge, mut proof) = (&mut [0; 96], [7; 32], [0; 32]);
        stream.read_exact(hello).unwrap();
        stream.write_all(&crate::strangers::answer(0, challenge)).unwrap();
        stream.read_exact(&mut proof).unwrap();
        let words = [&b"hpmoe: rank 0 proves"[..], hello, &challenge].concat();
        stream.write_all(&crate::strangers::answer(1, hmac_sha256::HMAC::mac(words, [0; 32]))).unwrap();
        let text = b"\x1b[2J\r\nerror: none";
        stream.write_all(&[16 + text.len() as u64, 2, text.len() as u64].map(u64::to_le_bytes).concat()).unwrap();
        stream.write_all(text).unwrap();
        rank.join().unwrap()
    });
    assert!(said.starts_with(r"\u{1b}[2J\r\nerror: none: start all processes"), "{said}");
}

/// An address file that an earlier job has left may contain an address at which another program listens by now.
#[test]
fn an_address_file_that_was_left_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rank0");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(&file, other.local_addr().unwrap().to_string()).unwrap();
    let place = |rank| Place::new(rank, 2, "127.0.0.1:0").with_address_file(&file);
    std::thread::scope(|scope| {
        let one = scope.spawn(|| TcpBootstrap::join(&place(1), &limited(20)).map(drop));
        let (mut stream, _) = other.accept().unwrap();
        stream.write_all(b"SSH-2.0-x\r\n").unwrap();
        drop((stream, other));
        sleep(Duration::from_millis(400));
        let zero = TcpBootstrap::join(&place(0), &limited(20)).map(drop);
        one.join().unwrap().unwrap();
        zero.unwrap();
    });
}

/// If the host is another machine, the error does not advise another port.
#[test]
fn a_host_that_is_not_here_is_told() {
    let joining = limited(1).secret(Secret::generate().unwrap());
    if std::env::var_os("HPMOE_RANK").is_some() {
        let place = Place::from_launcher().unwrap().unwrap();
        return eprintln!("{}", TcpBootstrap::join(&place, &joining).unwrap_err());
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["joining::a_host_that_is_not_here_is_told", "--exact", "--nocapture"]);
    // An address of documentation.
    command.env("HPMOE_RANK", "0").env("HPMOE_RANKS", "2").env("MASTER_ADDR", "192.0.2.1");
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said.contains("rank 0 can't listen on 192.0.2.1:") && said.contains("set MASTER_ADDR to "), "{said}");
}
