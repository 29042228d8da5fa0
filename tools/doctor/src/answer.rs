//! The answers of probes.

use hpmoe_runtime::NpuError;

/// The answer of a probe, over all ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The assumption holds, with the observation.
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

/// The probes that can still run after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Everything: the examination goes on without the assumption.
    Everything,
    /// The probes that do not need the assumption.
    Others,
    /// Nothing that needs an NPU: one of them may still be running the kernel.
    Nothing,
    /// Nothing: another process is gone, which says nothing about the assumption.
    Gone,
}

impl Answer {
    pub(crate) const fn is_failure(&self) -> bool {
        matches!(self, Self::Fails(_))
    }

    /// Whether probes that need the assumption can run.
    pub(crate) const fn lets_on(&self) -> bool {
        matches!(self, Self::Holds(_) | Self::Fails(Failure { then: Then::Everything, .. }))
    }
}

impl Failure {
    pub(crate) fn new(seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), then: Then::Others }
    }

    /// An NPU no longer does what it is asked.
    pub(crate) fn lost(seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), then: Then::Nothing }
    }

    /// Another process is gone, or sent an invalid message.
    pub(crate) fn gone(seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), then: Then::Gone }
    }

    /// The common observation of several ranks; none if no rank failed. A rank that only stopped because another one did doesn't know the
    /// reason. After several failures, only as much can run as after the worst of them.
    pub(crate) fn joined(all: Vec<Self>) -> Result<(), Self> {
        let Some(first) = all.first() else { return Ok(()) };
        let nothing = all.iter().any(|failure| failure.then == Then::Nothing);
        let then = if nothing { Then::Nothing } else { first.then };
        let mut seen: Vec<&str> = all.iter().map(|failure| &*failure.seen).collect();
        seen.dedup();
        Err(Self { seen: seen.join("; "), then })
    }

    /// This answer, attributed to one rank of several.
    pub(crate) fn of_rank(self, rank: usize, ranks: usize) -> Self {
        if ranks == 1 { self } else { Self { seen: format!("rank {rank}: {}", self.seen), ..self } }
    }
}

impl From<NpuError> for Failure {
    fn from(error: NpuError) -> Self {
        Self::new(error.to_string())
    }
}
