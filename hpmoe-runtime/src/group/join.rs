//! Groups whose ranks are processes.

use std::sync::PoisonError;
use std::time::Duration;

use hpmoe_kernels::Ranks;
use hpmoe_kernels::route::Exchange;

use super::member::{Member, same};
use super::options::LaunchOptions;
use super::{Group, GroupState};
use crate::LaunchError;
use crate::abi::HPMOE_ABI;
use crate::bootstrap::{Bootstrap, Joining, Place, TcpBootstrap};
use crate::engine::OpenShmem;

/// Maximum time that a process waits for the first messages of the other ranks, after all have joined.
const GREETING: Duration = Duration::from_secs(60);

impl Group {
    /// Makes a group in which this process is one rank, and every other rank is another process that joins in the same way. All ranks must
    /// make the same calls in the same order. [`PerRank`](hpmoe_kernels::PerRank) holds only the part of this rank, and routes come from
    /// [`Route::gather`](hpmoe_kernels::Route::gather). On the host, rows that peers write are in memory that all processes map.
    ///
    /// Before a launch starts, the ranks compare what each of them launches. A launch returns the same report or the same error on all
    /// ranks. If a process ends, the launches of all other processes end within a second, with an error that names the rank of that
    /// process.
    ///
    /// # Errors
    ///
    /// If another rank is gone, does not make this call within 60 seconds, or runs another version of this crate.
    pub fn join(bootstrap: impl Bootstrap + 'static) -> Result<Self, LaunchError> {
        Self::of(Member::new(Box::new(bootstrap)))
    }

    fn of(member: Member) -> Result<Self, LaunchError> {
        let version = concat!("hpmoe-runtime ", env!("CARGO_PKG_VERSION"));
        let all = member.exchange("a group", format!("{version}, ABI {HPMOE_ABI}").as_bytes(), GREETING)?;
        let versions: Vec<String> = all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
        same("their version", &versions)?;
        let ranks = member.ranks().count();
        let options = LaunchOptions { cancel: member.cancel(), ..LaunchOptions::default() };
        Ok(Self::of_ranks(ranks, Some(member), options))
    }

    /// Joins the group that a launcher (torchrun, MPI, srun) started this process for, according to [`Place::from_launcher`]; `None` if no
    /// launcher did, or if it started only one rank. The processes are joined by [`TcpBootstrap`], with the settings of
    /// [`Joining::from_environment`].
    ///
    /// With `HPMOE_ENGINE=openshmem`, processes that `oshrun` has started can be on several machines: kernels on the host write the memory
    /// of other processes through the system's OpenSHMEM library. The call then sets environment variables, so make it before you start
    /// threads that read the environment through C.
    ///
    /// # Errors
    ///
    /// If a launcher's variable is invalid, if the OpenSHMEM library can't be used, or as [`join`](Self::join).
    pub fn from_launcher() -> Result<Option<Self>, LaunchError> {
        Self::from_launcher_by(|| Ok(Joining::from_environment()?))
    }

    /// Like [`from_launcher`](Self::from_launcher), but joins with the given settings instead of those of the environment.
    ///
    /// # Errors
    ///
    /// As [`from_launcher`](Self::from_launcher).
    pub fn from_launcher_with(joining: &Joining) -> Result<Option<Self>, LaunchError> {
        Self::from_launcher_by(|| Ok(joining.clone()))
    }

    fn from_launcher_by(joining: impl FnOnce() -> Result<Joining, LaunchError>) -> Result<Option<Self>, LaunchError> {
        if let Some(engine) = OpenShmem::chosen()? {
            let bootstrap = Box::new(engine.join(&joining()?)?);
            return Self::of(Member::of_engine(bootstrap, engine)).map(Some);
        }
        let join = |place: Place| Self::join(TcpBootstrap::join(&place, &joining()?)?);
        Place::from_launcher()?.map(join).transpose()
    }

    /// Exchanges bytes between processes, and returns the bytes that each rank passed, rank 0 first. All ranks must make this call. If all
    /// ranks run in this process, nothing is exchanged, and the result has `bytes` as its only entry. A [`TcpBootstrap`] accepts up to 256
    /// MiB from each rank.
    ///
    /// # Errors
    ///
    /// If `bytes` is too long, or a rank is gone or does not make this call within [`time_limit`](Self::time_limit). The group can't be
    /// used after that.
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LaunchError> {
        let Some(member) = &self.joint.member else { return Ok(vec![bytes.to_vec()]) };
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, GroupState::Broken) {
            return Err(LaunchError::Broken);
        }
        let all = member.exchange("bytes of the caller", bytes, self.options.patience(1));
        if all.is_err() {
            *state = GroupState::Broken;
        }
        all
    }
}

impl Exchange for Group {
    type Error = LaunchError;

    fn ranks(&self) -> Ranks {
        self.ranks()
    }

    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LaunchError> {
        self.all_gather(bytes)
    }
}
