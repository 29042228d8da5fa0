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
/// All ranks make the same calls in the same order. Messages are small: they carry routes, addresses and results of launches, but no
/// tensors.
pub trait Bootstrap: Send + Sync {
    /// The rank of this process, counted from 0.
    fn rank(&self) -> usize;

    /// Number of ranks in the group.
    fn ranks(&self) -> usize;

    /// Exchanges `bytes`: waits until all ranks have made this call, and returns the bytes of each rank, rank 0 first.
    ///
    /// # Errors
    ///
    /// If a rank is gone or has not made this call within `limit`, or if `bytes` is longer than an exchange allows.
    fn all_gather(&self, bytes: &[u8], limit: Duration) -> Result<Vec<Vec<u8>>, BootstrapError>;

    /// Waits until all ranks have made this call.
    ///
    /// # Errors
    ///
    /// As [`all_gather`](Self::all_gather).
    fn barrier(&self, limit: Duration) -> Result<(), BootstrapError> {
        self.all_gather(&[], limit).map(drop)
    }

    /// The error for a rank that is known to be gone, because its process ended or its connection closed; `None` if there is no such rank.
    /// A launch polls this from a separate thread while its kernel runs. Implementations should notice the loss of a rank within a second.
    fn gone(&self) -> Option<BootstrapError>;

    /// The handle that ends waits of this connection and launches of its group early; `None` if there is none.
    fn cancel(&self) -> Option<Cancel> {
        None
    }

    /// Counts of connections to rank 0 that were not from ranks of the job, while the ranks joined. All ranks return the same numbers.
    /// Reports include them.
    fn strangers(&self) -> Strangers {
        Strangers::default()
    }
}
