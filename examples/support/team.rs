//! The group that an example runs on: threads of this process, or processes.

use super::options::number;
use super::output::print;
use getopts::Matches;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Joining, TcpBootstrap};
use std::fmt::Display;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The options for the number of ranks, for ranks as threads or processes, for the device and for the time limit.
#[derive(Debug)]
pub struct TeamSize {
    ranks: Option<usize>,
    processes: Option<usize>,
    device: Device,
    time_limit: Option<Duration>,
}

/// The device that runs kernels.
#[derive(Clone, Copy, Debug)]
enum Device {
    Host,
    Npu,
}

/// Maximum time for which processes wait for each other to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit for other processes to report this process's error, before they are killed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A group, and the processes that were started for it.
pub struct Team {
    pub group: Group,
    started: Started,
}

impl TeamSize {
    /// Declares these options.
    pub fn declare(options: &mut getopts::Options) {
        let (ranks, processes, device, limit) = (
            "Ranks of the expert-parallel group, as threads of this process [default: 4]; must divide the number of experts.",
            "Number of ranks as processes: starts N - 1 more processes of this program. Under a launcher (torchrun, mpirun, srun), \
             leave it out.",
            "Device that runs the kernels: `host` (this machine's CPU) or `npu` (the NPUs of this process, if the program was \
             built with HPMOE_DEVICE=cann) [default: host].",
            "Longest wait of a core for another one, in seconds [default: 60].",
        );
        options.optopt("", "ranks", ranks, "N").optopt("", "processes", processes, "N");
        options.optopt("", "device", device, "DEVICE").optopt("", "time-limit", limit, "SECONDS");
    }

    /// Reads these options.
    pub fn read(given: &Matches) -> Result<Self, String> {
        let (ranks, processes) = (number(given, "ranks")?, number(given, "processes")?);
        if ranks.is_some() && processes.is_some() {
            return Err("--ranks and --processes exclude each other".to_owned());
        }
        let device = match given.opt_str("device").as_deref() {
            None | Some("host") => Device::Host,
            Some("npu") => Device::Npu,
            Some(other) => return Err(format!("--device takes `host` or `npu`, not `{other}`")),
        };
        let time_limit = match number(given, "time-limit")? {
            Some(0) => return Err("--time-limit 0 leaves no time to wait: ask for one second or more".to_owned()),
            seconds => seconds.map(Duration::from_secs),
        };
        Ok(Self { ranks, processes, device, time_limit })
    }

    /// Joins the group that this process was started for, or makes one, on the device of these options.
    pub fn start(&self, seed: u64) -> Result<Team, String> {
        let Team { mut group, started } = self.join(seed)?;
        if let Some(limit) = self.time_limit {
            group = group.time_limit(limit);
        }
        let group = match self.device {
            Device::Host => group,
            Device::Npu => group.on_npus().map_err(|error| error.to_string())?,
        };
        Ok(Team { group, started })
    }

    fn join(&self, seed: u64) -> Result<Team, String> {
        let asked = self.ranks.or(self.processes);
        if let Some(group) = Group::from_launcher().map_err(|error| error.to_string())? {
            let ranks = group.ranks().count();
            return match asked {
                Some(asked) if asked != ranks => Err(format!(
                    "this process is one of {ranks} that a launcher started, but {asked} ranks were asked for: leave out \
                     --ranks and --processes, or the launcher"
                )),
                _ => Ok(Team { group: group.seed(seed), started: Started(Vec::new()) }),
            };
        }
        match self.processes {
            Some(0) => Err("--processes 0 starts nothing: ask for one or more".to_owned()),
            Some(processes) => start_processes(processes, seed),
            None => {
                let Team { group, started } = Team::alone(asked.unwrap_or(4));
                Ok(Team { group: group.seed(seed), started })
            }
        }
    }
}

/// Starts this program again for each rank but the first, which is this process. The processes share a secret that no other process has.
fn start_processes(processes: usize, seed: u64) -> Result<Team, String> {
    let problem = |error: io::Error| format!("can't start {processes} processes: {error}");
    let said = |error: hpmoe_runtime::BootstrapError| error.to_string();
    let joining = Joining::of_own_processes().map_err(said)?;
    let listener = joining.listen("127.0.0.1:0").map_err(said)?;
    let port = listener.local_addr().map_err(problem)?.port();
    let program = std::env::current_exe().map_err(problem)?;
    let mut started = Started(Vec::new());
    for rank in 1..processes {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1)).stdout(Stdio::null());
        joining.pass_to(&mut command, rank, processes, port).map_err(problem)?;
        started.0.push(command.spawn().map_err(problem)?);
    }
    let bootstrap = TcpBootstrap::host(listener, processes, &joining).map_err(said)?;
    let group = Group::join(bootstrap).map_err(|error| error.to_string())?.seed(seed);
    Ok(Team { group, started })
}

impl Team {
    /// All ranks as threads of this process.
    pub fn alone(ranks: usize) -> Self {
        Self { group: Group::new(ranks), started: Started(Vec::new()) }
    }

    /// Number of processes that the ranks run in.
    pub fn processes(&self) -> usize {
        self.group.ranks().only().map_or(1, |_| self.group.ranks().count())
    }

    /// Whether this process prints the results. Exactly one process does.
    pub fn tells(&self) -> bool {
        self.group.ranks().only().is_none_or(|rank| rank.id() == 0)
    }

    /// Prints a line if this is the process that prints.
    ///
    /// # Errors
    /// If the line can't be written.
    pub fn tell(&self, line: impl Display) -> Result<(), String> {
        if self.tells() { print(line) } else { Ok(()) }
    }

    /// The numbers of all ranks, rank 0 first, from those of the ranks here.
    pub fn gather(&self, numbers: &[f32]) -> Result<Vec<f32>, LaunchError> {
        gather(&self.group, numbers)
    }

    /// Whether something is true on all ranks.
    pub fn all(&self, here: bool) -> Result<bool, LaunchError> {
        Ok(self.group.all_gather(&[here.into()])?.iter().flatten().all(|there| *there != 0))
    }

    /// Leaves the group and waits for the processes that were started for it.
    pub fn finish(self) -> Result<(), String> {
        let Self { group, mut started } = self;
        drop(group);
        started.wait(PATIENCE)
    }
}

/// The numbers of all ranks of a group, rank 0 first, from those of the ranks here.
pub fn gather(group: &Group, numbers: &[f32]) -> Result<Vec<f32>, LaunchError> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let all = group.all_gather(&bytes)?.concat();
    Ok(all.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// Waits until a process has ended, and returns its exit status; `None` if it had to be killed at the deadline.
pub fn end(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(5));
    }
    child.kill().and_then(|()| child.wait())?;
    Ok(None)
}

/// Processes that this process has started, and that end with it.
struct Started(Vec<Child>);

impl Started {
    /// Waits until all processes have ended. A process that takes too long is killed.
    fn wait(&mut self, patience: Duration) -> Result<(), String> {
        let deadline = Instant::now() + patience;
        let mut problems = Vec::new();
        for (rank, mut child) in (1..).zip(self.0.drain(..)) {
            match end(&mut child, deadline) {
                Ok(Some(status)) if status.success() => {}
                Ok(Some(status)) => problems.push(format!("rank {rank} ended with {status}")),
                Ok(None) => problems.push(format!("rank {rank} did not end within {patience:?} and was killed")),
                Err(error) => problems.push(format!("rank {rank}: {error}")),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join(", ")) }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // After an error, processes that have joined end because this one has left the group; others look for rank 0 until they are killed.
        let _ = self.wait(LAST_WORDS);
    }
}
