//! The thread that makes all calls of the library.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::command::Command;
use crate::backend::host::Write;
use crate::bootstrap::BootstrapError;

/// Maximum time between two reads of a peer's memory, during which writes from peers arrive here.
const PAUSE: Duration = Duration::from_micros(200);

/// Size in bytes of rank 0's message to the others: an address, a new secret, and zeros.
const ROOM: usize = 512;

/// Opens the library, reports this process's rank and the number of ranks, and then executes commands.
pub(super) fn work(queue: &Receiver<Command>, opened: &SyncSender<Result<(usize, usize), BootstrapError>>) {
    let calls = match Calls::open() {
        Ok(calls) => calls,
        Err(error) => return drop(opened.send(Err(error))),
    };
    let (rank, ranks) = (calls.rank(), calls.ranks());
    let Some(scratch) = calls.allocate(ROOM) else {
        let none = "the library of OpenSHMEM has no memory: raise SHMEM_SYMMETRIC_HEAP_SIZE".to_owned();
        return drop(opened.send(Err(BootstrapError::Failed(none))));
    };
    // The group, not this thread, notices that a process is gone. Answers that no caller waits for are dropped.
    let _ = opened.send(Ok((rank, ranks)));
    let peer = (rank + 1) % ranks;
    let mut called = Instant::now();
    loop {
        match queue.recv_timeout(PAUSE.saturating_sub(called.elapsed())) {
            Ok(Command::Write { rank, to, bytes, how }) => calls.write(rank, to, &bytes, how),
            Ok(Command::Allocate(bytes, reply)) => drop(reply.send(calls.allocate(bytes))),
            Ok(Command::Tell(bytes, reply)) => drop(reply.send(tell(&calls, scratch, bytes))),
            Ok(Command::End(reply)) => {
                calls.finalize();
                let _ = reply.send(());
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if ranks > 1 && called.elapsed() >= PAUSE {
            let _: [u8; 8] = calls.read(peer, scratch);
            called = Instant::now();
        }
    }
}

/// Broadcasts rank 0's message to all ranks.
fn tell(calls: &Calls, scratch: u64, mut bytes: Vec<u8>) -> Vec<u8> {
    assert!(bytes.len() < ROOM, "{} bytes are more than the name of a host", bytes.len());
    bytes.resize(ROOM, 0);
    if calls.rank() == 0 {
        for rank in 0..calls.ranks() {
            calls.write(rank, scratch, &bytes, Write::Put);
        }
    }
    calls.barrier();
    let all: [u8; ROOM] = calls.read(calls.rank(), scratch);
    all.into_iter().take_while(|byte| *byte != 0).collect()
}
