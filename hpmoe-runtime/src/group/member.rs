//! This process as one rank of a group of processes.

use std::time::Duration;

use hpmoe_kernels::printable::printable_lines;
use hpmoe_kernels::{Rank, Ranks};

use crate::LaunchError;
use crate::bootstrap::wire::{Message, Reader};
use crate::bootstrap::{Bootstrap, BootstrapError, Cancel, Strangers};
use crate::engine::OpenShmem;

/// This process's rank in a group of processes, with its connection to the other ranks.
pub(super) struct Member {
    bootstrap: Box<dyn Bootstrap>,
    /// The engine that writes heaps of other ranks; `None` if they are mapped into this process.
    engine: Option<&'static OpenShmem>,
}

impl Member {
    pub(super) fn new(bootstrap: Box<dyn Bootstrap>) -> Self {
        Self { bootstrap, engine: None }
    }

    pub(super) fn of_engine(bootstrap: Box<dyn Bootstrap>, engine: &'static OpenShmem) -> Self {
        Self { bootstrap, engine: Some(engine) }
    }

    pub(super) const fn engine(&self) -> Option<&'static OpenShmem> {
        self.engine
    }

    /// The rank of this process.
    pub(super) fn rank(&self) -> Rank {
        Rank::new(self.bootstrap.rank())
    }

    /// The ranks of the group.
    pub(super) fn ranks(&self) -> Ranks {
        Ranks::joined(self.rank(), self.bootstrap.ranks())
    }

    /// The error that names the rank that is gone, if any.
    pub(super) fn gone(&self) -> Option<BootstrapError> {
        self.bootstrap.gone()
    }

    /// The handle that ends waits early.
    pub(super) fn cancel(&self) -> Option<Cancel> {
        self.bootstrap.cancel()
    }

    /// Counts of connections from strangers while the ranks joined.
    pub(super) fn strangers(&self) -> Strangers {
        self.bootstrap.strangers()
    }

    /// Exchanges bytes with all ranks. `purpose` must be the same on all ranks.
    pub(super) fn exchange(
        &self,
        purpose: &'static str,
        bytes: &[u8],
        limit: Duration,
    ) -> Result<Vec<Vec<u8>>, LaunchError> {
        let message = Message::default().bytes(purpose.as_bytes()).bytes(bytes).finish();
        let all = self.bootstrap.all_gather(&message, limit)?;
        let mut readers: Vec<Reader<'_>> = all.iter().map(|message| Reader(message)).collect();
        let unread = || "a message that this version does not know".to_owned();
        let purposes: Vec<String> = readers.iter_mut().map(|reader| reader.text().unwrap_or_else(unread)).collect();
        same("what they exchange", &purposes)?;
        Ok(readers.iter_mut().map(|reader| reader.bytes().unwrap_or_default().to_vec()).collect())
    }

    /// Exchanges each rank's result. If one rank has an error, all ranks return an error.
    pub(super) fn exchange_results<T>(
        &self,
        purpose: &'static str,
        mine: Result<(T, Vec<u8>), LaunchError>,
        limit: Duration,
    ) -> Result<(T, Vec<Vec<u8>>), LaunchError> {
        let message = match &mine {
            Ok((_, bytes)) => Message::default().number(1).bytes(bytes),
            Err(error) => Message::default().number(0).bytes(error.to_string().as_bytes()),
        };
        let all = self.exchange(purpose, &message.finish(), limit);
        let (mine, _) = mine?;
        let mut parts = Vec::new();
        for (rank, message) in all?.iter().enumerate() {
            let mut reader = Reader(message);
            match (reader.number(), reader.bytes()) {
                (Some(1), Some(bytes)) => parts.push(bytes.to_vec()),
                (_, text) => {
                    let message = String::from_utf8_lossy(text.unwrap_or_default());
                    let message = printable_lines(&message).into_owned();
                    return Err(LaunchError::OtherRank { rank, message });
                }
            }
        }
        Ok((mine, parts))
    }
}

/// Checks that all ranks have the same value. `values` has one value per rank.
pub(super) fn same(subject: &'static str, values: &[String]) -> Result<(), LaunchError> {
    let mut groups: Vec<(Vec<usize>, &String)> = Vec::new();
    for (rank, value) in values.iter().enumerate() {
        match groups.iter_mut().find(|(_, other)| *other == value) {
            Some((ranks, _)) => ranks.push(rank),
            None => groups.push((vec![rank], value)),
        }
    }
    if groups.len() <= 1 {
        return Ok(());
    }
    let values = groups.into_iter().map(|(ranks, value)| (ranks, value.clone())).collect();
    Err(LaunchError::Disagreement { subject, values })
}
