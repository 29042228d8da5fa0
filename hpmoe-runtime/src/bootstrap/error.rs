//! Errors of joining a group of processes and of exchanges in it.

use std::time::Duration;

use thiserror::Error;

/// An error of joining a group of processes, or of an exchange in it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// An environment variable that places a process in its group has no meaning.
    #[error("{variable} is `{value}`, but should be {wanted}: set it so, or unset the variables of the launcher")]
    Variable {
        /// Name of the variable.
        variable: String,
        /// Its value; empty where it is not set.
        value: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A group has no rank of that number.
    #[error("a group of {ranks} ranks has no rank {rank}: number the processes from 0 to {}", .ranks.saturating_sub(1))]
    Rank {
        /// The rank asked for.
        rank: usize,
        /// Ranks of the group.
        ranks: usize,
    },
    /// Rank 0 can't listen for the others.
    #[error("rank 0 can't listen on {address} ({cause}): choose another port by HPMOE_PORT, for all ranks")]
    Listen {
        /// Host and port.
        address: String,
        /// The system's answer.
        cause: String,
    },
    /// Rank 0 did not answer.
    #[error(
        "rank {rank} could not reach rank 0 at {address} within {limit:?} ({cause}): start rank 0, and give all ranks the \
         same address by MASTER_ADDR and HPMOE_PORT"
    )]
    Connect {
        /// The rank of this process.
        rank: usize,
        /// Host and port.
        address: String,
        /// The time that it tried.
        limit: Duration,
        /// The system's last answer.
        cause: String,
    },
    /// Ranks did not come.
    #[error(
        "of {ranks} ranks, {} did not join rank 0 at {address} within {limit:?}: start them, or raise the limit",
        list(.missing)
    )]
    Missing {
        /// The ranks that did not come.
        missing: Vec<usize>,
        /// Ranks of the group.
        ranks: usize,
        /// Host and port.
        address: String,
        /// The time that rank 0 waited.
        limit: Duration,
    },
    /// The processes do not fit together.
    #[error("{0}: start all processes of the group from one build, with the same number of ranks")]
    Mismatch(String),
    /// A rank's process has ended.
    #[error("rank {rank} is gone: {how}. Its own output says why")]
    Gone {
        /// The rank whose process has ended.
        rank: usize,
        /// What was seen of it.
        how: &'static str,
    },
    /// A rank did not come to an exchange.
    #[error(
        "rank {rank} waited {limit:?} for {} to come to an exchange: all ranks must make the same calls in the same order; \
         if they do and are slow, raise Group::time_limit", awaited(.missing)
    )]
    Late {
        /// The rank of this process.
        rank: usize,
        /// The ranks that had not come; empty where rank 0, which knows them, did not answer.
        missing: Vec<usize>,
        /// The time that this rank waited.
        limit: Duration,
    },
    /// An exchange failed for another reason.
    #[error("{0}")]
    Failed(String),
}

impl BootstrapError {
    /// A system that refuses a thread for the connections of a rank.
    pub(crate) fn no_thread(rank: usize, error: &std::io::Error) -> Self {
        Self::Failed(format!(
            "rank {rank} could not get a thread for its connections ({error}): raise the limit on threads (`ulimit -u`, \
             pids.max of a container)"
        ))
    }
}

/// `rank 2`, `ranks 1, 2`.
pub(crate) fn list(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, numbers.join(", "))
}

fn awaited(missing: &[usize]) -> String {
    if missing.is_empty() { "rank 0, which does not answer,".to_owned() } else { list(missing) }
}
