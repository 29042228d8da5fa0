//! How the processes of a group find each other and exchange small messages.
//!
//! A [`Bootstrap`] joins the processes of a group whose ranks are processes. [`TcpBootstrap`] is the one of this crate;
//! [`Place`] says which rank a process is and where the group meets, [`Joining`] who may join. Both are taken from arguments or from the
//! variables that launchers set.

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
    /// The rank that this process is, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks of the group.
    fn ranks(&self) -> usize;

    /// Returns the bytes that each rank passed, rank 0 first, once all ranks have called it.
    ///
    /// # Errors
    ///
    /// If a rank is gone, or has not called it after `limit`, or there are more bytes than an exchange takes.
    fn all_gather(&self, bytes: &[u8], limit: Duration) -> Result<Vec<Vec<u8>>, BootstrapError>;

    /// Returns once all ranks have called it.
    ///
    /// # Errors
    ///
    /// As [`all_gather`](Self::all_gather).
    fn barrier(&self, limit: Duration) -> Result<(), BootstrapError> {
        self.all_gather(&[], limit).map(drop)
    }

    /// Says which rank is gone, if one is known to be: its process ended, or its connection closed. A launch asks while
    /// its kernel runs, from a thread of its own. An implementation should know within a second.
    fn gone(&self) -> Option<BootstrapError>;

    /// The handle that ends its waits early, if it has one: launches of the group end by it, too.
    fn cancel(&self) -> Option<Cancel> {
        None
    }

    /// Connections that were not those of ranks, while these joined: the same on all ranks. Reports tell of them.
    fn strangers(&self) -> Strangers {
        Strangers::default()
    }
}
