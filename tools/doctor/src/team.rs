//! The ranks that examine NPUs together: all in this process, or one in each of many processes.

use crate::answer::{Failure, Then};
use hpmoe_runtime::{Bootstrap as _, Strangers, TcpBootstrap};
use std::ops::Range;
use std::time::Duration;

/// Maximum time that a rank waits for the others, which may be compiling. If a process ends, the others notice at once.
const PATIENCE: Duration = Duration::from_secs(600);

/// The ranks, some of which are in this process.
pub(crate) struct Team {
    pub(crate) ranks: usize,
    bootstrap: Option<TcpBootstrap>,
}

impl Team {
    /// A team whose ranks are all in this process.
    pub(crate) const fn here(ranks: usize) -> Self {
        Self { ranks, bootstrap: None }
    }

    /// A team of processes, of which this one is one rank.
    pub(crate) fn joined(bootstrap: TcpBootstrap) -> Self {
        Self { ranks: bootstrap.ranks(), bootstrap: Some(bootstrap) }
    }

    /// Returns whether each rank is a separate process.
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

    /// Connections from programs other than the ranks, counted while the processes joined.
    pub(crate) fn strangers(&self) -> Strangers {
        self.bootstrap.as_ref().map(|bootstrap| bootstrap.strangers()).unwrap_or_default()
    }

    /// Returns whether this process prints the results.
    pub(crate) fn tells(&self) -> bool {
        self.own().start == 0
    }

    /// Exchanges data: returns those of each process, rank 0 first. If one process fails, all fail.
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
            None => Err(Failure::gone(
                "another process sent an empty message, which this build never does: start all processes from one build",
            )),
        };
        let all: Vec<_> = all.into_iter().map(read).collect();
        Failure::joined(all.iter().filter_map(|part| part.clone().err()).collect())?;
        all.into_iter().collect()
    }

    /// Waits until all ranks have called this function. Returns the failure if one of them failed.
    pub(crate) fn together(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        self.exchange(mine.map(|()| Vec::new())).map(drop)
    }
}

/// The first byte of a message that contains a process's data rather than a failure.
const HAS: u8 = 100;
