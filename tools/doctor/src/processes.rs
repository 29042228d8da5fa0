//! The processes that are ranks.

use crate::options::Options;
use crate::team::Team;
use hpmoe_runtime::{Joining, Place, TcpBootstrap};
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time that the first process waits for the others to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time that other processes have to report this process's error, before they are killed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Joins the processes that a launcher or `--processes` starts; without these, all ranks are in this process.
pub(crate) fn start(options: &Options) -> Result<(Team, Started), String> {
    let asked = options.ranks.or(options.processes);
    if asked == Some(0) {
        return Err("a group can't have 0 ranks: ask for one or more".to_owned());
    }
    if let Some(place) = Place::from_launcher().map_err(|error| error.to_string())? {
        if asked.is_some_and(|asked| asked != place.ranks) {
            return Err(format!(
                "this process is one of {} that a launcher started, but {} ranks were asked for: leave out --ranks and \
                 --processes, or the launcher",
                place.ranks,
                asked.unwrap_or(1)
            ));
        }
        let joining = Joining::from_environment().map_err(|error| error.to_string())?;
        let bootstrap = TcpBootstrap::join(&place, &joining).map_err(|error| error.to_string())?;
        return Ok((Team::joined(bootstrap), Started(Vec::new())));
    }
    match options.processes {
        Some(processes) if processes > 1 => start_processes(processes),
        _ => Ok((Team::here(asked.unwrap_or(1)), Started(Vec::new()))),
    }
}

/// Starts this program again for each rank except the first, which is this process. The processes share a secret that no other program has.
fn start_processes(processes: usize) -> Result<(Team, Started), String> {
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
    Ok((Team::joined(bootstrap), started))
}

/// Processes that are ended together with this one.
pub(crate) struct Started(Vec<Child>);

impl Started {
    /// Waits until all processes have ended. A process that takes too long is killed.
    pub(crate) fn wait(mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let mut problems = Vec::new();
        for (rank, child) in (1..).zip(&mut self.0) {
            match end(child, deadline) {
                // It has reported the same results as this process.
                Ok(Some(Some(0 | 1))) => {}
                Ok(Some(_)) => problems.push(format!("rank {rank} ended early")),
                Ok(None) => problems.push(format!("rank {rank} did not end within {PATIENCE:?} and was killed")),
                Err(error) => problems.push(format!("rank {rank}: {error}")),
            }
        }
        self.0.clear();
        if problems.is_empty() { Ok(()) } else { Err(problems.join(", ")) }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // After an error, processes that have joined end because this one has left; others would go on looking for rank 0.
        let deadline = Instant::now() + LAST_WORDS;
        for child in &mut self.0 {
            let _ = end(child, deadline);
        }
    }
}

/// Waits until a process has ended. Returns its exit status if it has one, or `None` if it was killed at the deadline.
fn end(child: &mut Child, deadline: Instant) -> io::Result<Option<Option<i32>>> {
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code()));
        }
        sleep(Duration::from_millis(5));
    }
    child.kill().and_then(|()| child.wait())?;
    Ok(None)
}
