//! How the processes of a group find each other and exchange small messages.
//!
//! A [`Bootstrap`] connects the processes of a group; this crate implements it as [`TcpBootstrap`]. [`Place`] says
//! which rank a process is and where the group meets, and [`Joining`] says who may join. Both can be built from
//! arguments or from the variables that launchers set.

mod address_file;
mod cancel;
mod error;
mod joining;
mod launcher;
mod place;
mod random;
mod secret;
mod starter;
mod strangers;
mod tcp;
mod variables;
pub(crate) mod wire;

pub use cancel::Cancel;
pub(crate) use error::list as rank_list;
pub use error::{Besides, BootstrapError};
pub use joining::Joining;
pub(crate) use place::own_port;
pub use place::{Place, local_rank};
pub use secret::Secret;
pub use strangers::Strangers;
pub use tcp::TcpBootstrap;

use std::time::Duration;

/// A process's connection to the other processes of its group.
///
/// All ranks make the same calls in the same order. Messages are small: routes, addresses and results of launches, but
/// no tensors.
pub trait Bootstrap: Send + Sync {
    /// The rank of this process, counted from 0.
    fn rank(&self) -> usize;

    /// Number of ranks in the group.
    fn ranks(&self) -> usize;

    /// Returns the bytes that each rank passed, rank 0 first, once all ranks have called it.
    ///
    /// # Errors
    ///
    /// If a rank is gone or has not called it within `limit`, or if `bytes` is longer than an exchange allows.
    fn all_gather(&self, bytes: &[u8], limit: Duration) -> Result<Vec<Vec<u8>>, BootstrapError>;

    /// Returns once all ranks have called it.
    ///
    /// # Errors
    ///
    /// As [`all_gather`](Self::all_gather).
    fn barrier(&self, limit: Duration) -> Result<(), BootstrapError> {
        self.all_gather(&[], limit).map(drop)
    }

    /// The error for a rank that is known to be gone: its process ended, or its connection closed. A launch polls this
    /// while its kernel runs, from a separate thread. Implementations should notice within a second.
    fn gone(&self) -> Option<BootstrapError>;

    /// The handle that ends this connection's waits early, if it has one. It also ends launches of the group.
    fn cancel(&self) -> Option<Cancel> {
        None
    }

    /// Connections to rank 0 that were not ranks of the job, counted while the ranks joined. All ranks return the same
    /// numbers. Reports include them.
    fn strangers(&self) -> Strangers {
        Strangers::default()
    }
}
