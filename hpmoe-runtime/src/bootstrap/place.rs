//! The place of a process in its group.

use super::BootstrapError;
use std::num::NonZero;

/// The port where rank 0 listens unless told otherwise: below those that systems hand out, and not registered.
const PORT: u16 = 28_471;

const OWN_PORT: &str = "HPMOE_PORT";

/// Names of the variables that hold rank and number of ranks: this crate's own, those of torchrun, Open MPI, MPICH and srun.
const LAUNCHERS: [(&str, &str); 5] = [
    ("HPMOE_RANK", "HPMOE_RANKS"),
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// Names of the variables that hold a rank's number among those of its machine.
const LOCAL_RANKS: [&str; 4] = ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];

/// A rank's number among those of its machine, as a launcher says it; all ranks are on one machine where none does.
///
/// # Errors
///
/// If the variable is not a number.
pub fn local_rank(rank: usize) -> Result<usize, BootstrapError> {
    let said = |name: &'static str| Some((name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
    let Some((name, value)) = LOCAL_RANKS.into_iter().find_map(said) else { return Ok(rank) };
    parse(name, &value, "a number from 0 on")
}

/// What a process must know to join its group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The rank that this process is, from 0.
    pub rank: usize,
    /// Number of ranks of the group.
    pub ranks: usize,
    /// Host and port where rank 0 listens.
    pub address: String,
}

impl Place {
    /// The place that a launcher gave this process by environment variables: `HPMOE_RANK` and `HPMOE_RANKS`, or those of
    /// torchrun, MPI or srun. `None` if there are none, or if they say that the group has one rank.
    ///
    /// Rank 0 listens on `MASTER_ADDR`, else on this machine's loopback, and on the port `HPMOE_PORT`, else on the one
    /// after `MASTER_PORT` (which torchrun uses itself), else on 28471.
    ///
    /// # Errors
    ///
    /// If a variable is not a number, or the rank is not one of the group's.
    pub fn from_launcher() -> Result<Option<Self>, BootstrapError> {
        Self::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(value: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, BootstrapError> {
        // Launchers that are used as something else set one of the two; only this crate's own must come together.
        let own = LAUNCHERS[0];
        for (set, unset) in [own, (own.1, own.0)] {
            if value(set).is_some() && value(unset).is_none() {
                let wanted = "a number, because its counterpart is set";
                return Err(BootstrapError::Variable { variable: unset.to_owned(), value: String::new(), wanted });
            }
        }
        let is_set = |(rank, ranks): &&(&str, &str)| value(rank).is_some() && value(ranks).is_some();
        let Some((rank, ranks)) = LAUNCHERS.iter().find(is_set) else { return Ok(None) };
        let number = |name: &str| parse::<usize>(name, &value(name).unwrap_or_default(), "a number from 0 on");
        let (rank, ranks) = (number(rank)?, number(ranks)?);
        if rank >= ranks {
            return Err(BootstrapError::Rank { rank, ranks });
        }
        let port = |name: &str| value(name).map(|text| port(name, &text)).transpose();
        let port = match (port(OWN_PORT)?, port("MASTER_PORT")?) {
            (Some(port), _) => port,
            (None, Some(u16::MAX)) => u16::MAX - 1,
            (None, Some(master)) => master + 1,
            (None, None) => PORT,
        };
        let host = value("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".to_owned());
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        Ok((ranks > 1).then(|| Self { rank, ranks, address: format!("{host}:{port}") }))
    }
}

/// The port where this crate's variable says that rank 0 listens, if it is set.
///
/// # Errors
///
/// If it is not a port.
pub(crate) fn own_port() -> Result<Option<u16>, BootstrapError> {
    std::env::var(OWN_PORT).ok().filter(|text| !text.is_empty()).map(|text| port(OWN_PORT, &text)).transpose()
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
        Ok(Some(Place { rank, ranks, address: address.to_owned() }))
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
    }
}
