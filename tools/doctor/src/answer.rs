//! The answers of probes.

use hpmoe_runtime::NpuError;

/// The answer of a probe for all ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The assumption holds; contains the observation.
    Holds(String),
    /// The assumption fails.
    Fails(Failure),
    /// The probe was not run, for this reason.
    NotRun(String),
}

/// The observation for an assumption that fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) seen: String,
    pub(crate) then: Then,
}

/// Says which probes can still run after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// All probes: the examination continues without the assumption.
    Everything,
    /// Only probes that do not need the assumption.
    Others,
    /// No probe that needs an NPU, because an NPU may still be running the kernel.
    Nothing,
    /// No probe, because another process has ended; this says nothing about the assumption.
    Gone,
}

impl Answer {
    pub(crate) const fn is_failure(&self) -> bool {
        matches!(self, Self::Fails(_))
    }

    /// Returns whether probes that need the assumption can run.
    pub(crate) const fn lets_on(&self) -> bool {
        matches!(self, Self::Holds(_) | Self::Fails(Failure { then: Then::Everything, .. }))
    }
}

impl Failure {
    pub(crate) fn new(seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), then: Then::Others }
    }

    /// A failure of an NPU, which can't be used any more.
    pub(crate) fn lost(seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), then: Then::Nothing }
    }

    /// A failure of another process, which has ended or sent an invalid message.
    pub(crate) fn gone(seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), then: Then::Gone }
    }

    /// Joins the failures of several ranks; no error if no rank failed. A rank that stopped only because another one failed doesn't know
    /// the reason. If an NPU may still be running the kernel of one rank, no more probes run on NPUs; otherwise, the first failure decides.
    pub(crate) fn joined(all: Vec<Self>) -> Result<(), Self> {
        let Some(first) = all.first() else { return Ok(()) };
        let nothing = all.iter().any(|failure| failure.then == Then::Nothing);
        let then = if nothing { Then::Nothing } else { first.then };
        let mut seen: Vec<&str> = all.iter().map(|failure| &*failure.seen).collect();
        seen.dedup();
        Err(Self { seen: seen.join("; "), then })
    }

    /// This failure, attributed to one of several ranks.
    pub(crate) fn of_rank(self, rank: usize, ranks: usize) -> Self {
        if ranks == 1 { self } else { Self { seen: format!("rank {rank}: {}", self.seen), ..self } }
    }
}

impl From<NpuError> for Failure {
    fn from(error: NpuError) -> Self {
        Self::new(error.to_string())
    }
}
