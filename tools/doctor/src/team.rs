//! The ranks that examine NPUs together: all in this process, or one in each of many processes.

use crate::answer::{Failure, Then};
use hpmoe_runtime::{Bootstrap as _, Strangers, TcpBootstrap};
use std::ops::Range;
use std::time::Duration;

/// The longest that a rank waits for the others: they may be compiling. One that is gone is noticed at once.
const PATIENCE: Duration = Duration::from_secs(600);

/// The ranks, some of which are in this process.
pub(crate) struct Team {
    pub(crate) ranks: usize,
    bootstrap: Option<TcpBootstrap>,
}

impl Team {
    /// All ranks in this process.
    pub(crate) const fn here(ranks: usize) -> Self {
        Self { ranks, bootstrap: None }
    }

    /// One rank of many.
    pub(crate) fn joined(bootstrap: TcpBootstrap) -> Self {
        Self { ranks: bootstrap.ranks(), bootstrap: Some(bootstrap) }
    }

    /// Whether each rank is a process.
    pub(crate) const fn is_processes(&self) -> bool {
        self.bootstrap.is_some()
    }

    /// The ranks of this process.
    pub(crate) fn own(&self) -> Range<usize> {
        match &self.bootstrap {
            Some(bootstrap) => bootstrap.rank()..bootstrap.rank() + 1,
            None => 0..self.ranks,
        }
    }

    /// Connections of strangers, while the processes joined.
    pub(crate) fn strangers(&self) -> Strangers {
        self.bootstrap.as_ref().map(|bootstrap| bootstrap.strangers()).unwrap_or_default()
    }

    /// Whether this process prints the results.
    pub(crate) fn tells(&self) -> bool {
        self.own().start == 0
    }

    /// The data of each process, rank 0 first; a failure of one process is a failure of all.
    pub(crate) fn exchange(&self, mine: Result<Vec<u8>, Failure>) -> Result<Vec<Vec<u8>>, Failure> {
        let Some(bootstrap) = &self.bootstrap else { return Ok(vec![mine?]) };
        let message = match &mine {
            Ok(bytes) => [&[HAS][..], bytes].concat(),
            Err(failure) => [&[failure.then as u8][..], failure.seen.as_bytes()].concat(),
        };
        let gone = |error: hpmoe_runtime::BootstrapError| Failure::gone(error.to_string());
        let all = bootstrap.all_gather(&message, PATIENCE).map_err(gone)?;
        let read = |message: Vec<u8>| match message.split_first() {
            Some((&HAS, bytes)) => Ok(bytes.to_vec()),
            Some((then, text)) => {
                let then = [Then::Everything, Then::Others].into_iter().find(|known| *known as u8 == *then);
                let seen = String::from_utf8_lossy(text).into_owned();
                Err(Failure { seen, then: then.unwrap_or(Then::Nothing) })
            }
            None => Err(Failure::gone("another process sent nothing: start all of them from one build")),
        };
        let all: Vec<_> = all.into_iter().map(read).collect();
        Failure::joined(all.iter().filter_map(|part| part.clone().err()).collect())?;
        all.into_iter().collect()
    }

    /// Returns once all ranks have come here, or with the failure of one of them.
    pub(crate) fn together(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        self.exchange(mine.map(|()| Vec::new())).map(drop)
    }
}

/// The first byte of a message with a process's data rather than a failure.
const HAS: u8 = 100;
