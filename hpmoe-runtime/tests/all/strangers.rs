//! Strangers at rank 0's port. Rank 0 is a separate process, so that its memory can be measured and its descriptors limited; strangers and
//! the other ranks are in this process. In every case, a job of real ranks joins in time, and no stranger gets more than a greeting.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use hmac_sha256::{HMAC, Hash};
use hpmoe_runtime::{Bootstrap as _, Joining, Place, Secret, TcpBootstrap};

/// Number of bytes of a greeting, from ranks and from rank 0.
const HELLO: usize = 96;
const ANSWER: usize = 56;

/// Data that ranks exchange and that no stranger may see.
const PAYLOAD: &[u8] = b"what only ranks may know";

/// Maximum time for a job to join, from the arrival of its last rank.
const JOINING: Duration = Duration::from_secs(2);

/// Maximum number of bytes that strangers may cost rank 0.
const MOST_MEMORY: u64 = 16 << 20;

/// An answer of rank 0.
pub(crate) fn answer(kind: u32, data: [u8; 32]) -> Vec<u8> {
    [&b"hpmoe-join-zero2"[..], &kind.to_le_bytes(), &[0; 4], &data].concat()
}

/// A hello that is correct except for what a stranger can't know.
fn hello(rank: u32, ranks: u32, confided: bool, job: &str) -> Vec<u8> {
    let numbers = [rank.to_le_bytes(), ranks.to_le_bytes(), [confided.into(), 0, 0, 0], [0; 4]].concat();
    [&b"hpmoe-join-rank2"[..], &numbers, &Hash::hash(job.as_bytes()), &[3; 32]].concat()
}

/// The proof of a rank.
fn proof(key: [u8; 32], hello: &[u8], challenge: &[u8]) -> [u8; 32] {
    HMAC::mac([&b"hpmoe: a rank proves"[..], hello, challenge].concat(), key)
}

/// Rank 0 in a separate process, which is killed when the value is dropped.
struct RankZero {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    address: SocketAddr,
    ranks: usize,
    joining: Joining,
}

impl RankZero {
    /// Runs this test as rank 0 in a new process, with at most the given number of descriptors.
    fn start(test: &str, ranks: usize, descriptors: Option<u32>) -> Self {
        let joining = Joining::of_own_processes().unwrap().limit(Duration::from_secs(60));
        let program = std::env::current_exe().unwrap();
        let mut command = match descriptors {
            None => Command::new(program),
            Some(most) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")]).arg(program);
                shell
            }
        };
        command.args([
            &format!("strangers::{test}"),
            "--exact",
            "--nocapture",
            "--include-ignored",
            "--test-threads=1",
        ]);
        joining.pass_to(&mut command, 0, ranks, 1).unwrap();
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = said(&mut lines, "port ").parse().unwrap();
        Self { process, lines, address: ([127, 0, 0, 1], port).into(), ranks, joining }
    }

    /// Lets all other ranks join. Returns the memory that the strangers cost rank 0, and its report on strangers.
    fn join_all(mut self) -> (u64, String) {
        let last = Instant::now();
        let joined = self.ranks();
        assert!(last.elapsed() < JOINING, "{} ranks took {:?} to join", self.ranks, last.elapsed());
        thread::scope(|scope| {
            for rank in &joined {
                let all = move || rank.all_gather(PAYLOAD, Duration::from_secs(20)).unwrap();
                scope.spawn(move || assert_eq!(all(), vec![PAYLOAD.to_vec(); rank.ranks()]));
            }
        });
        let memory = said(&mut self.lines, "memory ").parse().unwrap();
        let strangers = said(&mut self.lines, "strangers ");
        assert!(self.process.wait().unwrap().success());
        (memory, strangers)
    }

    fn ranks(&self) -> Vec<TcpBootstrap> {
        let join =
            |rank| TcpBootstrap::join(&Place::new(rank, self.ranks, self.address.to_string()), &self.joining).unwrap();
        thread::scope(|scope| {
            let ranks: Vec<_> = (1..self.ranks).map(|rank| scope.spawn(move || join(rank))).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    /// The name of the job.
    fn job(&self) -> String {
        format!("processes of process {}", std::process::id())
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }
}

impl Drop for RankZero {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The rest of the next line that starts with `begin`.
fn said(lines: &mut impl Iterator<Item = std::io::Result<String>>, begin: &str) -> String {
    let found = lines.find_map(|line| Some(line.unwrap().strip_prefix(begin)?.to_owned()));
    found.unwrap_or_else(|| panic!("rank 0 ended without {begin:?}"))
}

/// Runs as rank 0 if this process was started as such.
fn is_rank_zero() -> bool {
    if std::env::var_os("HPMOE_RANK").is_none() {
        return false;
    }
    let joining = Joining::from_environment().unwrap();
    let ranks: usize = std::env::var("HPMOE_RANKS").unwrap().parse().unwrap();
    let listener = joining.listen("127.0.0.1:0").unwrap();
    println!("\nport {}", listener.local_addr().unwrap().port());
    let before = memory("VmRSS");
    let joined = TcpBootstrap::host(listener, ranks, &joining).unwrap();
    println!("memory {}", memory("VmHWM").saturating_sub(before));
    println!("strangers {}", joined.strangers());
    assert_eq!(joined.all_gather(PAYLOAD, Duration::from_secs(20)).unwrap(), vec![PAYLOAD.to_vec(); ranks]);
    // The others have it, too.
    joined.barrier(Duration::from_millis(500)).unwrap_err();
    true
}

/// The memory of this process in bytes, as reported by Linux.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix(" kB"));
    1024 * kib.unwrap().trim().parse::<u64>().unwrap()
}

/// All bytes that a connection receives until it is closed or nothing more arrives.
fn received(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Checks that a stranger receives no more than a challenge and a refusal.
fn check_received(stream: &TcpStream) {
    let bytes = received(stream);
    assert!(bytes.len() <= 2 * ANSWER, "a stranger got {} bytes: {bytes:?}", bytes.len());
    assert!(bytes.chunks(ANSWER).all(|answer| answer.starts_with(b"hpmoe-join-zero2")), "{bytes:?}");
    assert!(!bytes.windows(PAYLOAD.len()).any(|window| window == PAYLOAD));
}

#[test]
fn a_job_joins_among_strangers_of_every_kind() {
    if is_rank_zero() {
        return;
    }
    let zero = RankZero::start("a_job_joins_among_strangers_of_every_kind", 3, None);
    let job = zero.job();
    let say = |bytes: &[u8]| {
        let mut stream = zero.connect();
        // Rank 0 may close it while more is written.
        let _ = stream.write_all(bytes);
        stream
    };
    let right = hello(1, 3, true, &job);
    let mut wrong_version = right.clone();
    wrong_version[15] = b'9';
    let mut strangers = vec![
        say(b""),
        say(&right[..40]),
        say(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        // Lengths of the first version of the protocol: 2^20, 2^32 and more.
        say(&[&(1_u64 << 20).to_le_bytes()[..], &[0; 100]].concat()),
        say(&[&(1_u64 << 32).to_le_bytes()[..], &[0; 1 << 16]].concat()),
        say(&u64::MAX.to_le_bytes()),
        say(&wrong_version),
        say(&hello(1, 3, true, "another job")),
        say(&hello(1, 3, false, &job)),
        say(&[&right[..], &[9; 32]].concat()),
        say(&[&hello(0, 3, true, &job)[..], &[9; 32]].concat()),
        say(&[&hello(u32::MAX, u32::MAX, true, &job)[..], &[9; 32]].concat()),
        // A greeting and all that comes after one, in one piece.
        say(&[&right[..], &[9; 4096]].concat()),
        say(&vec![0xff; 1 << 20]),
        say(&[0x1b; HELLO]),
    ];
    // Half-open: one direction is closed.
    for bytes in [&b""[..], &right[..50], &right] {
        let half = say(bytes);
        half.shutdown(Shutdown::Write).unwrap();
        strangers.push(half);
    }
    // Closed at once, with unread data: the system resets the connection.
    (0..20).for_each(|_| drop(say(&right)));
    // One after the other, for as long as it takes.
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let drips: Vec<_> = (0..4_u64)
            .map(|number| {
                let (mut stream, right, over) = (zero.connect(), right.clone(), &over);
                scope.spawn(move || {
                    for byte in right {
                        if over.load(Ordering::SeqCst) || stream.write_all(&[byte]).is_err() {
                            break;
                        }
                        sleep(Duration::from_millis(100 + number));
                    }
                    stream
                })
            })
            .collect();
        sleep(Duration::from_millis(300));
        let (memory, told) = zero.join_all();
        over.store(true, Ordering::SeqCst);
        assert!(memory < MOST_MEMORY, "rank 0 grew by {memory} bytes");
        for kind in ["without a greeting", "with another protocol", "1 of other jobs", "without the secret"] {
            assert!(told.contains(kind), "{told}");
        }
        strangers.extend(drips.into_iter().map(|drip| drip.join().unwrap()));
    });
    strangers.iter().for_each(check_received);
}

/// Accepts connections of one real rank and forwards everything in both directions. Returns what an attacker between them could record.
fn record(zero: SocketAddr, join: impl FnOnce(String) + Send) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        scope.spawn(move || join(address));
        let (from, to) = (listener.accept().unwrap().0, TcpStream::connect(zero).unwrap());
        let pass = |mut from: TcpStream, mut to: TcpStream| {
            let (mut all, mut some) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = from.read(&mut some) {
                all.extend(&some[..count]);
                if to.write_all(&some[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
            all
        };
        let back = (to.try_clone().unwrap(), from.try_clone().unwrap());
        scope.spawn(move || pass(back.0, back.1));
        scope.spawn(move || pass(from, to)).join().unwrap()
    })
}

/// A replayed hello of a rank is refused, both by the same rank 0 and by another one with the same secret.
#[test]
fn a_greeting_that_is_replayed_lets_nobody_in() {
    if is_rank_zero() {
        return;
    }
    let test = "a_greeting_that_is_replayed_lets_nobody_in";
    let zero = RankZero::start(test, 3, None);
    // Rank 1 tries to join, is recorded, and gives up: the others are told, and the job ends. So rank 0 is one of this process.
    let secret = zero.joining.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let recorded = thread::scope(|scope| {
        let first = scope.spawn(|| TcpBootstrap::host(listener, 3, &secret).unwrap_err().to_string());
        let recorded = record(address, |address| {
            let joining = secret.clone().limit(Duration::from_millis(500));
            TcpBootstrap::join(&Place::new(1, 3, address), &joining).unwrap_err();
        });
        assert!(first.join().unwrap().contains("rank 1 is gone"));
        recorded
    });
    assert!(recorded.len() >= HELLO + 32, "the whole greeting was recorded");
    let strangers: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = zero.connect();
            stream.write_all(&recorded).unwrap();
            let mut answers = [0; 2 * ANSWER];
            stream.read_exact(&mut answers).unwrap();
            assert_eq!(&answers[..20], &answer(0, [0; 32])[..20], "a challenge");
            assert_eq!(&answers[ANSWER..ANSWER + 20], &answer(6, [0; 32])[..20], "a proof that is wrong");
            stream
        })
        .collect();
    let (_, told) = zero.join_all();
    assert_eq!(told, "10 connections of strangers to rank 0: 10 without the secret");
    strangers.iter().for_each(check_received);
}

/// If a second process with the secret claims the number of a rank that has joined, it is refused, and the first one stays.
#[test]
fn a_rank_that_comes_twice_is_sent_away_the_second_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let joining = Joining::new().secret(Secret::generate().unwrap()).limit(Duration::from_secs(20));
    thread::scope(|scope| {
        let join = |rank| {
            let (place, joining) = (Place::new(rank, 3, &address), &joining);
            scope.spawn(move || TcpBootstrap::join(&place, joining))
        };
        let zero = scope.spawn(|| TcpBootstrap::host(listener, 3, &joining).unwrap());
        let both = [join(1), join(1)];
        while !both.iter().any(thread::ScopedJoinHandle::is_finished) {
            sleep(Duration::from_millis(2));
        }
        let two = join(2).join().unwrap().unwrap();
        let ends: Vec<_> = both.map(|rank| rank.join().unwrap()).into_iter().collect();
        let refused: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).map(ToString::to_string).collect();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0].starts_with("two processes were started as rank 1: number the processes from 0 to 2"),
            "{refused:?}"
        );
        assert_eq!((zero.join().unwrap().strangers().misplaced, two.strangers().misplaced), (1, 1));
    });
}

/// A member of a job without a secret that sends raw bytes: it has greeted rank 0 as rank 1.
fn raw_member(address: SocketAddr, ranks: u32) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let hello = hello(1, ranks, false, "");
    stream.write_all(&hello).unwrap();
    let mut challenge = [0; ANSWER];
    stream.read_exact(&mut challenge).unwrap();
    stream.write_all(&proof([0; 32], &hello, &challenge[24..])).unwrap();
    let mut accepted = [0; ANSWER];
    stream.read_exact(&mut accepted).unwrap();
    assert_eq!(&accepted[..20], &answer(1, [0; 32])[..20]);
    stream
}

/// A frame that contains a part of an exchange.
fn part(exchange: u64, bytes: &[u8]) -> Vec<u8> {
    let numbers = [24 + bytes.len() as u64, 3, exchange, bytes.len() as u64];
    [&numbers.map(u64::to_le_bytes).concat()[..], bytes].concat()
}

/// If a member sends parts for exchanges that are far ahead, or a part twice, it is disconnected, and the parts are not kept.
#[test]
fn parts_that_no_rank_expects_are_bounded() {
    for exchanges in [vec![0, 1, 1], (0..1000).collect(), vec![u64::MAX]] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let zero = thread::spawn(|| TcpBootstrap::host(listener, 2, &Joining::new()).unwrap());
        let mut member = raw_member(address, 2);
        let zero = zero.join().unwrap();
        for exchange in &exchanges {
            // Rank 0 may have closed the connection, and never leaves it to fill up.
            if let Err(error) = member.write_all(&part(*exchange, &[7; 1 << 16])) {
                assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
                break;
            }
        }
        let began = Instant::now();
        while zero.gone().is_none() {
            assert!(began.elapsed() < Duration::from_secs(10), "{exchanges:?}");
            sleep(Duration::from_millis(2));
        }
        let told = zero.gone().unwrap().to_string();
        assert!(told.starts_with("rank 1 is gone: it sent parts of exchanges that no rank expects"), "{told}");
    }
}

/// A member that reads less than 1 MiB per second is disconnected after 10 s, however often it reads some data.
#[test]
fn a_member_that_takes_too_little_is_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let zero = thread::spawn(|| TcpBootstrap::host(listener, 2, &Joining::new()).unwrap());
    let mut member = raw_member(address, 2);
    let zero = zero.join().unwrap();
    member.write_all(&part(0, b"")).unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut some = vec![0; 1 << 16];
            while zero.gone().is_none() && began.elapsed() < Duration::from_secs(15) {
                let _ = member.read(&mut some);
                sleep(Duration::from_millis(250));
            }
        });
        zero.all_gather(&vec![7; 64 << 20], Duration::from_secs(20)).unwrap();
    });
    let gone = zero.gone().expect("rank 0 goes on with it");
    assert!(gone.to_string().starts_with("rank 1 is gone: its connection closed"), "{gone}");
}

/// Connects the given number of strangers to rank 0, 500 per second, of alternating kinds. They stay until the result is dropped.
fn flood(address: SocketAddr, hello: &[u8], count: usize, over: &AtomicBool) -> Vec<TcpStream> {
    let began = Instant::now();
    let mut strangers = Vec::with_capacity(count);
    for number in 0..count {
        if over.load(Ordering::SeqCst) {
            break;
        }
        sleep(Duration::from_millis(2 * number as u64).saturating_sub(began.elapsed()));
        // Refused once rank 0 listens no more.
        let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(5)) else { continue };
        let bytes: &[u8] = match number % 5 {
            0 => b"",
            1 => &hello[..70],
            2 => hello,
            3 => b"\0\0\x10\0\0\0\0\0",
            _ => b"SSH-2.0-x\r\n",
        };
        let _ = stream.write_all(bytes);
        strangers.push(stream);
    }
    strangers
}

/// Checks that ranks that arrive after nine tenths of the strangers still join in time.
fn expect_join_in_flood(test: &str, ranks: usize, count: usize, descriptors: Option<u32>) {
    let zero = RankZero::start(test, ranks, descriptors);
    let (address, hello) = (zero.address, hello(1, u32::try_from(ranks).unwrap(), true, &zero.job()));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let strangers = scope.spawn(|| flood(address, &hello, count, &over));
        sleep(Duration::from_millis(2 * count as u64) * 9 / 10);
        let (memory, told) = zero.join_all();
        over.store(true, Ordering::SeqCst);
        println!("{count} strangers: {memory} bytes; {told}");
        assert!(memory < MOST_MEMORY, "rank 0 grew by {memory} bytes");
        assert!(told.contains("connections of strangers to rank 0: "), "{told}");
        strangers.join().unwrap().iter().for_each(check_received);
    });
}

#[test]
fn a_job_joins_among_hundreds_of_strangers() {
    if !is_rank_zero() {
        expect_join_in_flood("a_job_joins_among_hundreds_of_strangers", 4, 400, None);
    }
}

/// With too many open files, rank 0 does not fail: it disconnects the oldest stranger.
#[test]
fn a_job_joins_among_strangers_when_descriptors_are_few() {
    if !is_rank_zero() {
        expect_join_in_flood("a_job_joins_among_strangers_when_descriptors_are_few", 4, 200, Some(40));
    }
}

#[test]
#[ignore = "8 seconds, and 4,000 descriptors"]
fn a_job_joins_among_thousands_of_strangers() {
    if !is_rank_zero() {
        raise_descriptors();
        expect_join_in_flood("a_job_joins_among_thousands_of_strangers", 8, 4000, None);
    }
}

/// Raises the limit of descriptors to the maximum for this process.
fn raise_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place for a limit, and a limit that is allowed.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}
