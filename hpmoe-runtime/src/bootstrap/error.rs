//! Errors of joining a group of processes and of exchanges in it.

use std::fmt;
use std::time::Duration;

use hpmoe_kernels::printable::printable;
use thiserror::Error;

use super::Strangers;

/// An error of joining a group of processes, or of an exchange in it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// An environment variable has an invalid value: one that says which rank a process is, or a setting for joining.
    #[error(
        "{variable} is `{}`, but should be {wanted}: set it so, or unset the variables of the launcher", printable(.value)
    )]
    Variable {
        /// Name of the variable.
        variable: String,
        /// Value of the variable; empty if it is not set.
        value: String,
        /// Description of valid values.
        wanted: &'static str,
    },
    /// A process was given a rank that its group does not have.
    #[error("a group of {ranks} ranks has no rank {rank}: number the processes from 0 to {}", .ranks.saturating_sub(1))]
    Rank {
        /// The rank that the process was given.
        rank: usize,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// A group was to have no ranks, or more than 65,536.
    #[error("a group has 1 to {most} ranks, and not {ranks}: start fewer processes, or correct the number of ranks")]
    Ranks {
        /// The number of ranks that was given.
        ranks: usize,
        /// Maximum number of ranks.
        most: usize,
    },
    /// A secret is too short or too long.
    #[error("the secret has {bytes} bytes, but should have {least} to {most}: make one with `openssl rand -hex 32`")]
    SecretSize {
        /// Number of bytes of the secret.
        bytes: usize,
        /// Minimum number of bytes of a secret.
        least: usize,
        /// Maximum number of bytes of a secret.
        most: usize,
    },
    /// The file for the secret can't be read, or contains no valid secret.
    #[error(
        "there is no secret in {file} ({why}): write a secret to it, or name another file (in HPMOE_SECRET_FILE if that is set)"
    )]
    SecretFile {
        /// Name of the file.
        file: String,
        /// The reason why the file gives no secret.
        why: String,
    },
    /// The system gives no random bytes.
    #[error(
        "the system gives no random bytes ({cause}), which ranks need to prove their secret: let the process call getrandom"
    )]
    Random {
        /// The system's message.
        cause: String,
    },
    /// The process or the system has no file descriptors left.
    #[error("{action} takes a file descriptor, and there is none left ({cause}): {way_out}")]
    Descriptors {
        /// The action that failed.
        action: String,
        /// The system's message.
        cause: String,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// Rank 0 would listen to other machines without a secret, so that anyone could join.
    #[error("rank 0 would listen on {}, which other machines reach, without a secret: {way_out}", printable(.address))]
    Exposed {
        /// Host and port that rank 0 would listen on.
        address: String,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// Rank 0 can't listen for the other ranks.
    #[error("rank 0 can't listen on {} ({cause}): {way_out}", printable(.address))]
    Listen {
        /// Host and port that rank 0 was to listen on.
        address: String,
        /// The system's message.
        cause: String,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// This rank could not connect to rank 0 within the time limit.
    #[error("rank {rank} could not reach rank 0 at {} within {limit:?} ({cause}): {way_out}", printable(.address))]
    Connect {
        /// The rank of this process.
        rank: usize,
        /// Host and port at which this rank looked for rank 0.
        address: String,
        /// The time for which this rank tried.
        limit: Duration,
        /// The error of the last attempt.
        cause: String,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// A different program answers at rank 0's address.
    #[error("rank {rank} reached a program at {} that is not rank 0 of this group: {way_out}", printable(.address))]
    Foreign {
        /// The rank of this process.
        rank: usize,
        /// Host and port at which this rank looked for rank 0.
        address: String,
        /// Advice, for the message: what the user can change.
        way_out: &'static str,
    },
    /// Rank 0 of another job answers at this job's address.
    #[error(
        "rank 0 at {} belongs to a different job than rank {rank}, whose job {}: start the ranks of a job with one name ({naming}), or on another port",
        printable(.address), job_name(.job)
    )]
    OtherJob {
        /// The rank of this process.
        rank: usize,
        /// Host and port at which this rank looked for rank 0.
        address: String,
        /// Name of this rank's own job; empty if it has none.
        job: String,
        /// How the user can set the job's name.
        naming: &'static str,
    },
    /// This rank and rank 0 don't have the same secret.
    #[error("rank {rank} and rank 0 at {} share no secret: {why}; give all ranks one secret, {confiding}", printable(.address))]
    Secret {
        /// The rank of this process.
        rank: usize,
        /// Host and port at which this rank looked for rank 0.
        address: String,
        /// The reason: which rank lacks the secret, or could not prove it.
        why: &'static str,
        /// How the user can set the secret.
        confiding: &'static str,
    },
    /// Some ranks did not join in time.
    #[error(
        "of {ranks} ranks, {} did not join rank 0 at {} within {limit:?}{}: start them, or {}",
        list(.missing), printable(.address), .besides, .besides.longer
    )]
    Missing {
        /// The ranks that did not join.
        missing: Vec<usize>,
        /// Number of ranks in the group.
        ranks: usize,
        /// Host and port that rank 0 listens on.
        address: String,
        /// The time for which rank 0 waited.
        limit: Duration,
        /// Connections from strangers, and failures to accept connections, while rank 0 waited.
        besides: Box<Besides>,
    },
    /// This rank has joined rank 0, but other ranks have not within the time limit.
    #[error(
        "rank {rank} joined rank 0 at {}, but not all of {ranks} ranks did within {limit:?}: rank 0 says which; start them, or {longer}",
        printable(.address)
    )]
    Incomplete {
        /// The rank of this process.
        rank: usize,
        /// Number of ranks in the group.
        ranks: usize,
        /// Host and port that rank 0 listens on.
        address: String,
        /// The time for which this rank waited.
        limit: Duration,
        /// How the user can raise the limit.
        longer: &'static str,
    },
    /// The processes come from different builds, or were started for different numbers of ranks. The text says which processes, and how
    /// they differ.
    #[error("{0}: start all processes of the group from one build, with the same number of ranks")]
    Mismatch(String),
    /// A rank's process has ended, or the connection to it has closed.
    #[error("rank {rank} is gone: {how}. Its own output says why")]
    Gone {
        /// The rank that is gone.
        rank: usize,
        /// How the loss of the rank was noticed, in words.
        how: &'static str,
    },
    /// Some ranks did not take part in an exchange in time.
    #[error(
        "rank {rank} waited {limit:?} for {} to take part in an exchange: all ranks must make the same calls in the same order; \
         if they do and are slow, raise Group::time_limit", awaited(.missing)
    )]
    Late {
        /// The rank of this process.
        rank: usize,
        /// The ranks that did not take part; empty if only rank 0 knows them and it did not answer.
        missing: Vec<usize>,
        /// The time for which this rank waited.
        limit: Duration,
    },
    /// The data of one rank in an exchange is too large.
    #[error(
        "a part of {bytes} bytes is too large for an exchange, which takes at most {most} from each rank: exchange it in pieces"
    )]
    Part {
        /// Number of bytes of the rank's data.
        bytes: usize,
        /// Maximum number of bytes of one rank in an exchange.
        most: usize,
    },
    /// A [`Cancel`](super::Cancel) ended the wait for other ranks.
    #[error("rank {rank} was cancelled while it waited for other ranks: make a new group to go on")]
    Cancelled {
        /// The rank of this process.
        rank: usize,
    },
    /// Joining or an exchange failed for another reason, which the text gives.
    #[error("{0}")]
    Failed(String),
}

impl BootstrapError {
    /// The error for an action that failed because no file descriptor was left; `None` if `error` has another cause.
    pub(crate) fn no_descriptor(action: &str, error: &std::io::Error) -> Option<Self> {
        // EMFILE and ENFILE have these numbers on all systems of the Unix family.
        let way_out = match error.raw_os_error()? {
            24 => "raise the limit of the process (`ulimit -n`), or close files",
            23 => "raise the limit of the system (`sysctl fs.file-max`)",
            _ => return None,
        };
        Some(Self::Descriptors { action: action.to_owned(), cause: error.to_string(), way_out })
    }

    /// Whether the answer came from a rank of another job or from another program.
    pub(super) const fn is_of_another_job(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::OtherJob { .. } | Self::Secret { .. })
    }

    /// The error for a rank that could not get a thread for its connections.
    pub(crate) fn no_thread(rank: usize, error: &std::io::Error) -> Self {
        Self::Failed(format!(
            "rank {rank} could not get a thread for its connections ({error}): raise the limit on threads (`ulimit -u`, \
             pids.max of a container)"
        ))
    }
}

/// A list of ranks in words: `rank 2`, `ranks 1, 2`.
pub(crate) fn list(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, numbers.join(", "))
}

fn awaited(missing: &[usize]) -> String {
    if missing.is_empty() { "rank 0, which does not answer,".to_owned() } else { list(missing) }
}

fn job_name(job: &str) -> String {
    if job.is_empty() { "has no name".to_owned() } else { format!("is `{}`", printable(job)) }
}

/// Connections from strangers, and failures to accept connections, while rank 0 waited for missing ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Besides {
    /// Counts of connections to rank 0 that were not from ranks of the job.
    pub strangers: Strangers,
    /// The reason why rank 0 could not accept connections at the end of its wait; `None` if it could accept them.
    pub refused: Option<String>,
    /// How the user can raise the limit.
    pub(super) longer: &'static str,
}

/// Shown in parentheses, or as nothing if rank 0 saw nothing else.
impl fmt::Display for Besides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let came = (self.strangers.count() > 0).then(|| self.strangers.to_string());
        let none =
            self.refused.as_ref().map(|cause| format!("until the end, rank 0 could not accept connections: {cause}"));
        let both: Vec<String> = came.into_iter().chain(none).collect();
        if both.is_empty() { Ok(()) } else { write!(f, " ({})", both.join("; ")) }
    }
}
