//! Memory of ranks on several machines, by OpenSHMEM: the system's library, opened when a group asks for it.
//!
//! One thread makes all calls of the library. It takes writes to peers from a queue, in their order, and calls a peer now and then: without a
//! shared mapping, what others write here arrives only during a call.

mod calls;
mod work;

use std::env;
use std::ffi::OsString;
use std::fs::read_to_string;
use std::net::{TcpListener, ToSocketAddrs as _};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::backend::host::Write;
use crate::bootstrap::{BootstrapError, Place, TcpBootstrap, own_port};
use work::{Command, work};

/// The variable that chooses an engine.
const CHOICE: &str = "HPMOE_ENGINE";
/// The only one.
const OPENSHMEM: &str = "openshmem";

/// How the system runs this process.
const PERSONALITY: &str = "/proc/self/personality";
/// The flag there of addresses that are the same whenever a program is started.
const FIXED_ADDRESSES: u32 = 0x0004_0000;

/// Writes that wait for the library before a core waits for them.
const MOST_WAITING: usize = 4096;

/// What the library is to find in the environment, unless it is set.
const SETTINGS: [(&str, &str); 2] = [
    // Its own hooks in the allocator, which programs of others crash with.
    ("OMPI_MCA_memory", "^patcher"),
    // Room for the heaps of all kernels of the process; pages cost when they are touched.
    ("SHMEM_SYMMETRIC_HEAP_SIZE", "1G"),
];

/// The library, in the one process that has joined by it.
pub(crate) struct OpenShmem {
    rank: usize,
    ranks: usize,
    commands: SyncSender<Command>,
}

impl OpenShmem {
    /// The library, if [`CHOICE`] asks for it.
    ///
    /// # Errors
    ///
    /// It can't be opened, or the variable names something else.
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
        // Of a library that is opened late, Open MPI takes all memory below it for variables of the program, which it expects at the same places everywhere.
        if read_to_string(PERSONALITY).is_ok_and(|flags| !has_fixed_addresses(&flags)) {
            let what = "OpenSHMEM needs the same addresses in all processes, and those of this one are random: start it by `oshrun … setarch --addr-no-randomize PROGRAM`";
            return Err(BootstrapError::Failed(what.to_owned()));
        }
        calls::set_unless_set(&SETTINGS);
        let (commands, queue) = sync_channel(MOST_WAITING);
        let (told, place) = sync_channel(1);
        let begin = move || work(&queue, &told);
        let thread = thread::Builder::new().name("openshmem".to_owned()).spawn(begin);
        thread.map_err(|error| BootstrapError::no_thread(0, &error))?;
        let (rank, ranks) = answer(&place)??;
        calls::at_exit(commands.clone());
        Ok(Self { rank, ranks, commands })
    }

    /// Joins the processes that the library's launcher has started. They find rank 0 by the library.
    pub(crate) fn join(&self, limit: Duration) -> Result<TcpBootstrap, BootstrapError> {
        let Self { rank, ranks, .. } = *self;
        let host = own_host();
        let listen = |error: std::io::Error| BootstrapError::Listen { address: host.clone(), cause: error.to_string() };
        if rank == 0 {
            let port = own_port()?;
            let listener = TcpListener::bind((host.as_str(), port.unwrap_or(0))).map_err(listen)?;
            let address = listener.local_addr().map_err(listen)?.to_string();
            self.ask(|reply| Command::Tell(address.into_bytes(), reply))?;
            return TcpBootstrap::host(listener, ranks, limit);
        }
        let address = String::from_utf8_lossy(&self.ask(|reply| Command::Tell(Vec::new(), reply))?).into_owned();
        TcpBootstrap::join(&Place { rank, ranks, address }, limit)
    }

    /// Memory at one place of all ranks: its address here, which means the same to all calls. It is kept until the process ends. All ranks call it with the same number of bytes. `None` without room.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Option<u64>, BootstrapError> {
        self.ask(|reply| Command::Allocate(bytes, reply))
    }

    /// Writes the memory of a rank, in the order of these calls. It is there at some later moment.
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

/// Where rank 0 listens: this machine alone where all ranks are on it, or its name.
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
