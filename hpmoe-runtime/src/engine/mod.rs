//! Heaps of ranks on several machines, through the system's OpenSHMEM library, which is opened when a group asks for it.
//!
//! One thread makes all calls of the library. It takes writes to peers from a queue, in order. It also reads a peer's memory from time to
//! time: without a shared mapping, writes from peers arrive here only during a call.

mod calls;
mod command;
mod work;

use std::env;
use std::ffi::OsString;
use std::fs::read_to_string;
use std::net::{TcpListener, ToSocketAddrs as _};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::backend::host::Write;
use crate::bootstrap::{BootstrapError, Joining, Place, Secret, TcpBootstrap, own_port};
use command::Command;
use work::work;

/// The variable that chooses an engine.
const CHOICE: &str = "HPMOE_ENGINE";
/// The only engine.
const OPENSHMEM: &str = "openshmem";

/// A file with the flags that the system runs this process with.
const PERSONALITY: &str = "/proc/self/personality";
/// Flag in [`PERSONALITY`]: the system loads a program at the same addresses each time.
const FIXED_ADDRESSES: u32 = 0x0004_0000;

/// The byte between the address of rank 0 and the secret.
const SEPARATOR: u8 = b'\n';

/// Maximum number of writes in the queue. A core that makes another write waits.
const MOST_WAITING: usize = 4096;

/// Environment variables that are set for the library, unless they are set already.
const SETTINGS: [(&str, &str); 2] = [
    // Its own hooks in the allocator, which programs of others crash with.
    ("OMPI_MCA_memory", "^patcher"),
    // Room for the heaps of all kernels of the process; pages cost when they are touched.
    ("SHMEM_SYMMETRIC_HEAP_SIZE", "1G"),
];

/// The opened library, with this process's rank.
pub(crate) struct OpenShmem {
    rank: usize,
    ranks: usize,
    commands: SyncSender<Command>,
}

impl OpenShmem {
    /// The library if [`CHOICE`] selects it; `None` if the variable is not set.
    ///
    /// # Errors
    ///
    /// The library can't be opened, or the variable has another value.
    pub(crate) fn chosen() -> Result<Option<&'static Self>, BootstrapError> {
        match env::var_os(CHOICE).filter(|value| !value.is_empty()) {
            None => Ok(None),
            Some(value) if value == OPENSHMEM => Self::get().map(Some),
            Some(value) => Err(BootstrapError::Variable {
                variable: CHOICE.to_owned(),
                value: value.to_string_lossy().into_owned(),
                wanted: "`openshmem`, or unset for processes of one machine",
            }),
        }
    }

    fn get() -> Result<&'static Self, BootstrapError> {
        static OPENED: OnceLock<Result<OpenShmem, BootstrapError>> = OnceLock::new();
        OPENED.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Self, BootstrapError> {
        // If Open MPI is opened while the program runs, it treats all memory below itself as variables of the program, and expects them at the
        // same addresses in all processes.
        if read_to_string(PERSONALITY).is_ok_and(|flags| !has_fixed_addresses(&flags)) {
            let what = "OpenSHMEM needs the same addresses in all processes, but this process has random addresses: start it with `oshrun … setarch --addr-no-randomize PROGRAM`";
            return Err(BootstrapError::Failed(what.to_owned()));
        }
        calls::set_unless_set(&SETTINGS);
        let (commands, queue) = sync_channel(MOST_WAITING);
        let (opened, place) = sync_channel(1);
        let begin = move || work(&queue, &opened);
        let thread = thread::Builder::new().name("openshmem".to_owned()).spawn(begin);
        thread.map_err(|error| BootstrapError::no_thread(0, &error))?;
        let (rank, ranks) = answer(&place)??;
        calls::at_exit(commands.clone());
        Ok(Self { rank, ranks, commands })
    }

    /// Joins the processes that the library's launcher has started. Through the library, they learn rank 0's address and the job's secret.
    /// Rank 0 makes a secret unless the settings have one.
    pub(crate) fn join(&self, joining: &Joining) -> Result<TcpBootstrap, BootstrapError> {
        let Self { rank, ranks, .. } = *self;
        let own_secret = joining.has_secret();
        if rank == 0 {
            let listening = Self::listen(joining);
            // The others wait for rank 0's message, which is empty if it can't listen.
            let message = listening.as_ref().map(|(_, address, secret)| {
                let secret = secret.as_ref().map(Secret::bytes).unwrap_or_default();
                [address.as_bytes(), &[SEPARATOR], secret].concat()
            });
            self.ask(|reply| Command::Tell(message.unwrap_or_default(), reply))?;
            let (listener, _, secret) = listening?;
            return TcpBootstrap::host(listener, ranks, &joining.clone().with(secret));
        }
        let message = self.ask(|reply| Command::Tell(Vec::new(), reply))?;
        let mut parts = message.splitn(2, |byte| *byte == SEPARATOR);
        let address = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        if address.is_empty() {
            return Err(BootstrapError::Gone { rank: 0, how: "it can't listen for the others" });
        }
        let secret = parts.next().filter(|secret| !own_secret && !secret.is_empty());
        let secret = secret.map(Secret::new).transpose()?;
        TcpBootstrap::join(&Place::new(rank, ranks, address), &joining.clone().with(secret))
    }

    /// Listens as rank 0. Returns the listener, its address, and a new secret if the settings have none.
    fn listen(joining: &Joining) -> Result<(TcpListener, String, Option<Secret>), BootstrapError> {
        let host = own_host();
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let at = format!("{host}:{}", own_port()?.unwrap_or(0));
        let secret = if joining.has_secret() { None } else { Some(Secret::generate()?) };
        let listener = joining.clone().with(secret.clone()).listen_on(&at)?;
        let address = listener.local_addr().map_err(|error| {
            BootstrapError::Failed(format!("the port of rank 0 on {host} can't be found ({error}): set HPMOE_PORT"))
        })?;
        Ok((listener, address.to_string(), secret))
    }

    /// Allocates symmetric memory. Returns its address in this process, by which all calls name the memory of every rank; `None` if there is
    /// not enough memory. All ranks must call this function with the same number of bytes. The memory is freed when the process ends.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Option<u64>, BootstrapError> {
        self.ask(|reply| Command::Allocate(bytes, reply))
    }

    /// Enqueues a write to the memory of a rank. Writes to one rank arrive in the order of these calls.
    pub(crate) fn write(&self, rank: usize, to: u64, from: &[u8], how: Write) {
        // Only the end of the process ends the thread.
        let _ = self.commands.send(Command::Write { rank, to, bytes: from.into(), how });
    }

    fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T, BootstrapError> {
        let (reply, answered) = sync_channel(1);
        self.commands.send(command(reply)).map_err(|_| ended())?;
        answer(&answered)
    }
}

fn answer<T>(answered: &Receiver<T>) -> Result<T, BootstrapError> {
    answered.recv().map_err(|_| ended())
}

fn ended() -> BootstrapError {
    BootstrapError::Failed(
        "the thread that calls the library of OpenSHMEM has ended: this process is about to end".to_owned(),
    )
}

/// The host at which rank 0 listens: `MASTER_ADDR` if it is set, the loopback interface if all ranks are on this machine, otherwise the
/// machine's name.
fn own_host() -> String {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let named = |name: OsString| name.to_string_lossy().into_owned();
    let of_cluster = || calls::host_name().filter(|name| (name.as_str(), 0).to_socket_addrs().is_ok());
    let all_here = set("OMPI_COMM_WORLD_LOCAL_SIZE").is_some_and(|here| set("OMPI_COMM_WORLD_SIZE") == Some(here));
    let loopback = || "127.0.0.1".to_owned();
    match set("MASTER_ADDR") {
        Some(name) => named(name),
        None if all_here => loopback(),
        None => of_cluster().unwrap_or_else(loopback),
    }
}

fn has_fixed_addresses(personality: &str) -> bool {
    u32::from_str_radix(personality.trim(), 16).is_ok_and(|flags| flags & FIXED_ADDRESSES != 0)
}

#[cfg(test)]
mod tests {
    use super::has_fixed_addresses;

    #[test]
    fn the_system_tells_whether_addresses_are_random() {
        assert_eq!(["00040000\n", "00440008", "00000000\n", ""].map(has_fixed_addresses), [true, true, false, false]);
    }
}
