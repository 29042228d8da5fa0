//! The place of a process in its group.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::num::NonZero;

use super::BootstrapError;
use super::address_file::{AddressFile, Told};
use super::launcher::{LAUNCHERS, Launcher};
use super::variables::with_variables;

/// Default port of rank 0: not registered, and below the ports that systems assign automatically.
const PORT: u16 = 28_471;

pub(super) const OWN_PORT: &str = "HPMOE_PORT";

pub(super) const ADDRESS_FILE: &str = "HPMOE_ADDRESS_FILE";

/// The maximum number of ranks of a group. For more, there are neither enough ports nor enough file descriptors.
const MOST_RANKS: usize = 1 << 16;

const LOOPBACK: &str = "127.0.0.1";

/// Names of the variables that hold a rank's number among those of its machine.
const LOCAL_RANKS: [&str; 4] = ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];

/// Number of this process among the ranks of its machine, from the launcher's variable (such as `LOCAL_RANK`); `rank` itself if there is no
/// such variable, because all ranks are then on one machine.
///
/// # Errors
///
/// If the variable's value is not a number.
pub fn local_rank(rank: usize) -> Result<usize, BootstrapError> {
    with_variables(|value| {
        let said = |name: &'static str| Some((name, value(name)?));
        let Some((name, value)) = LOCAL_RANKS.into_iter().find_map(said) else { return Ok(rank) };
        parse(name, &value, "a number from 0 on")
    })
}

/// The rank of a process, and the address at which rank 0 of its group listens.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Place {
    /// The rank of this process, counted from 0.
    pub rank: usize,
    /// Number of ranks in the group.
    pub ranks: usize,
    /// Host and port on which rank 0 listens. With an address file, the port is 0: rank 0 picks a free port, and the other ranks read the
    /// address from the file.
    pub address: String,
    /// The file to which rank 0 writes its address.
    pub(super) file: Option<AddressFile>,
    /// The source of the address, for the advice in errors.
    pub(super) origin: Origin,
}

/// The source of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// Environment variables.
    Variables,
    /// The program.
    Program,
}

impl Place {
    /// The place of rank `rank` of `ranks`, in a group whose rank 0 listens on `address`, such as `127.0.0.1:28471`.
    #[must_use]
    pub fn new(rank: usize, ranks: usize, address: impl Into<String>) -> Self {
        Self { rank, ranks, address: address.into(), file: None, origin: Origin::Program }
    }

    /// Makes the other ranks learn the address of rank 0 from a file. Rank 0 listens on a free port of the address's host, writes its
    /// address to the file, and removes the file when all ranks have joined. Each job needs a path of its own, which all its ranks can
    /// read.
    #[must_use]
    pub fn with_address_file(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        let host = self.address.rsplit_once(':').map_or(self.address.as_str(), |(host, _)| host);
        self.address = format!("{host}:0");
        self.file = Some(AddressFile::new(path));
        self
    }

    /// Makes a place whose address comes from environment variables.
    pub(super) const fn by_variables(rank: usize, ranks: usize, address: String) -> Self {
        Self { rank, ranks, address, file: None, origin: Origin::Variables }
    }

    /// The place that a launcher gave this process by environment variables: `HPMOE_RANK` and `HPMOE_RANKS`, or those of torchrun, MPI or
    /// srun. `None` if none of these are set, or if the group has one rank.
    ///
    /// Rank 0's host is `MASTER_ADDR`; it is this machine's loopback interface if `MASTER_ADDR` is not set, or if the launcher says that
    /// all ranks are on one machine.
    ///
    /// Rank 0's port is `HPMOE_PORT`; if that is not set, `MASTER_PORT` plus one, because torchrun uses `MASTER_PORT` itself; otherwise
    /// 28471. With `HPMOE_ADDRESS_FILE`, rank 0 picks a free port instead, and the other ranks learn it from that file
    /// ([`with_address_file`](Self::with_address_file)).
    ///
    /// # Errors
    ///
    /// If the value of a variable is not a valid number, if only one of `HPMOE_RANK` and `HPMOE_RANKS` is set, if there are more than
    /// 65,536 ranks, or if the rank is not below the number of ranks.
    pub fn from_launcher() -> Result<Option<Self>, BootstrapError> {
        with_variables(|value| Self::from_variables(value))
    }

    /// On rank 0: writes a listener's address into the address file, if there is one. It stays there while the result
    /// lives.
    pub(super) fn tell(&self, listener: &TcpListener) -> Result<Option<Told<'_>>, BootstrapError> {
        let Some(file) = &self.file else { return Ok(None) };
        let told = listener.local_addr().and_then(|address| file.tell(&address.to_string()));
        told.map(Some).map_err(|error| {
            if let Some(none) = BootstrapError::no_descriptor("writing the address of rank 0", &error) {
                return none;
            }
            let by = if self.origin == Origin::Variables { "by HPMOE_ADDRESS_FILE" } else { "as the address" };
            let problem = format!("rank 0 can't write {} ({error}): name another file {by}", file.named());
            BootstrapError::Failed(problem)
        })
    }

    /// The error for rank 0 if it can't listen on this address.
    pub(super) fn no_listener(&self, error: &io::Error) -> BootstrapError {
        BootstrapError::no_descriptor("listening as rank 0", error).unwrap_or_else(|| BootstrapError::Listen {
            address: self.address.clone(),
            cause: error.to_string(),
            way_out: match error.kind() {
                ErrorKind::AddrInUse | ErrorKind::PermissionDenied => self.other_port(),
                _ => self.other_host(),
            },
        })
    }

    /// Advice: how the user can move rank 0 to another host.
    const fn other_host(&self) -> &'static str {
        match self.origin {
            Origin::Variables => {
                "set MASTER_ADDR to a name or address of the machine that rank 0 runs on, for all ranks"
            }
            Origin::Program => "choose another address, for all ranks",
        }
    }

    /// Advice: how the user can avoid an address at which another program answers.
    pub(super) const fn elsewhere(&self) -> &'static str {
        match self.origin {
            Origin::Variables if self.file.is_some() => {
                "remove the file that HPMOE_ADDRESS_FILE names if it is left from another job, or name another one, for all ranks"
            }
            _ => self.other_port(),
        }
    }

    /// Advice: how the user can move rank 0 to another port.
    pub(super) const fn other_port(&self) -> &'static str {
        match self.origin {
            Origin::Variables => "choose another port by HPMOE_PORT, for all ranks",
            Origin::Program => "choose another address, for all ranks",
        }
    }

    /// Advice: how the user can give all ranks one address.
    pub(super) const fn one_address(&self) -> &'static str {
        match self.origin {
            Origin::Variables if self.file.is_some() => {
                "start rank 0, set HPMOE_ADDRESS_FILE to a file that all ranks can read, and give all ranks the same MASTER_ADDR if it is set"
            }
            Origin::Variables => "start rank 0, and give all ranks the same address by MASTER_ADDR and HPMOE_PORT",
            Origin::Program => "start rank 0, and give all ranks the same address",
        }
    }

    fn from_variables(value: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, BootstrapError> {
        // Launchers that are used as something else set one of the two; only this crate's own must come together.
        let own = &LAUNCHERS[0];
        for (set, unset) in [(own.rank, own.ranks), (own.ranks, own.rank)] {
            if value(set).is_some() && value(unset).is_none() {
                let wanted = "a number, because only the other one of HPMOE_RANK and HPMOE_RANKS is set";
                return Err(BootstrapError::Variable { variable: unset.to_owned(), value: String::new(), wanted });
            }
        }
        let Some(launcher) = Launcher::find(&value) else { return Ok(None) };
        let number = |name: &str| parse::<usize>(name, &value(name).unwrap_or_default(), "a number from 0 on");
        let (rank, ranks) = (number(launcher.rank)?, number(launcher.ranks)?);
        check_number(rank, ranks)?;
        let port = |name: &str| value(name).map(|text| port(name, &text)).transpose();
        let port = match (port(OWN_PORT)?, port("MASTER_PORT")?) {
            (Some(port), _) => port,
            (None, Some(u16::MAX)) => u16::MAX - 1,
            (None, Some(master)) => master + 1,
            (None, None) => PORT,
        };
        let host = value("MASTER_ADDR").filter(|_| !launcher.is_one_machine(&value));
        let host = host.unwrap_or_else(|| LOOPBACK.to_owned());
        let is_bare = host.contains(':') && !host.starts_with('[');
        let host = if is_bare { format!("[{host}]") } else { host };
        let place = Self::by_variables(rank, ranks, format!("{host}:{port}"));
        let place = match value(ADDRESS_FILE) {
            None => place,
            Some(file) => place.with_address_file(file),
        };
        Ok((ranks > 1).then_some(place))
    }
}

/// Checks that `ranks` is within the limits of a group, and that `rank` is below it.
pub(super) const fn check_number(rank: usize, ranks: usize) -> Result<(), BootstrapError> {
    match ranks {
        1..=MOST_RANKS if rank < ranks => Ok(()),
        1..=MOST_RANKS => Err(BootstrapError::Rank { rank, ranks }),
        _ => Err(BootstrapError::Ranks { ranks, most: MOST_RANKS }),
    }
}

/// The port of rank 0 according to this crate's variable, if it is set.
///
/// # Errors
///
/// If it is not a port.
pub(crate) fn own_port() -> Result<Option<u16>, BootstrapError> {
    with_variables(|value| value(OWN_PORT).map(|text| port(OWN_PORT, &text)).transpose())
}

fn port(variable: &str, text: &str) -> Result<u16, BootstrapError> {
    parse::<NonZero<u16>>(variable, text, "a port from 1 to 65535").map(NonZero::get)
}

fn parse<N: std::str::FromStr>(variable: &str, value: &str, wanted: &'static str) -> Result<N, BootstrapError> {
    value.trim().parse().map_err(|_| BootstrapError::Variable {
        variable: variable.to_owned(),
        value: value.to_owned(),
        wanted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Option<Place>, BootstrapError> {
        Place::from_variables(|name| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_owned()))
    }

    fn at(rank: usize, ranks: usize, address: &str) -> Result<Option<Place>, BootstrapError> {
        Ok(Some(Place::by_variables(rank, ranks, address.to_owned())))
    }

    #[test]
    fn every_launcher_is_understood() {
        assert_eq!(place(&[]), Ok(None));
        assert_eq!(place(&[("SLURM_NTASKS", "8")]), Ok(None), "a batch script outside of srun");
        assert_eq!(place(&[("RANK", "0"), ("WORLD_SIZE", "1")]), Ok(None));
        let torchrun = [("RANK", "2"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "host"), ("MASTER_PORT", "29500")];
        assert_eq!(place(&torchrun), at(2, 4, "host:29501"));
        assert_eq!(place(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")]), at(1, 2, "127.0.0.1:28471"));
        assert_eq!(place(&[("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("HPMOE_PORT", "7")]), at(1, 2, "127.0.0.1:7"));
        let inside = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4"), ("HPMOE_RANK", "0"), ("HPMOE_RANKS", "2")];
        assert_eq!(place(&inside), at(0, 2, "127.0.0.1:28471"), "the project's own variables come first");
        assert_eq!(place(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MASTER_ADDR", "::1")]), at(0, 2, "[::1]:28471"));
        let bracketed = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MASTER_ADDR", "[::1]")];
        assert_eq!(place(&bracketed), at(0, 2, "[::1]:28471"));
    }

    #[test]
    fn ranks_of_one_machine_meet_where_no_other_machine_comes() {
        let torchrun = |here| [("RANK", "2"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "host"), ("LOCAL_WORLD_SIZE", here)];
        assert_eq!(place(&torchrun("4")), at(2, 4, "127.0.0.1:28471"));
        assert_eq!(place(&torchrun("2")), at(2, 4, "host:28471"));
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("MASTER_ADDR", "host")];
        let local = ("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
        assert_eq!(place(&[&open_mpi[..], &[local]].concat()), at(1, 2, "127.0.0.1:28471"));
        let hydra = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MPI_LOCALNRANKS", "2"), ("MASTER_ADDR", "host")];
        assert_eq!(place(&hydra), at(0, 2, "127.0.0.1:28471"));
        let slurm = |machines| {
            let task = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"), ("MASTER_ADDR", "host")];
            place(&[&task[..], &[("SLURM_STEP_NUM_NODES", machines)]].concat())
        };
        assert_eq!((slurm("1"), slurm("2")), (at(0, 2, "127.0.0.1:28471"), at(0, 2, "host:28471")));
    }

    #[test]
    fn a_file_takes_the_place_of_a_port() {
        let variables = [("HPMOE_RANK", "1"), ("HPMOE_RANKS", "2"), ("HPMOE_ADDRESS_FILE", "/shared/rank0")];
        let expected = |address| Place::by_variables(1, 2, String::from(address)).with_address_file("/shared/rank0");
        assert_eq!(place(&variables), Ok(Some(expected("127.0.0.1:28471"))));
        assert_eq!(expected("127.0.0.1:7").address, "127.0.0.1:0");
        assert_eq!(expected("[::1]:7").address, "[::1]:0");
    }

    #[test]
    fn variables_without_meaning_are_named() {
        let error = |variables: &[(&str, &str)]| place(variables).unwrap_err().to_string();
        assert!(error(&[("RANK", "one"), ("WORLD_SIZE", "2")]).starts_with("RANK is `one`, but should be a number"));
        assert!(error(&[("RANK", "2"), ("WORLD_SIZE", "2")]).contains("number the processes from 0 to 1"));
        assert!(error(&[("HPMOE_RANK", "2")]).starts_with("HPMOE_RANKS is ``, but should be a number"));
        for port in ["0", "70000"] {
            let said = error(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("HPMOE_PORT", port)]);
            assert!(said.starts_with(&format!("HPMOE_PORT is `{port}`, but should be a port from 1")), "{said}");
        }
        for ranks in ["0", "65537", "99999999999"] {
            let said = error(&[("RANK", "0"), ("WORLD_SIZE", ranks)]);
            assert!(said.starts_with(&format!("a group has 1 to 65536 ranks, and not {ranks}: ")), "{said}");
        }
        let said = error(&[("RANK", "\u{1b}[2J"), ("WORLD_SIZE", "2")]);
        assert!(said.starts_with(r"RANK is `\u{1b}[2J`"), "{said}");
    }
}
