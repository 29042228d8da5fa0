//! How processes join a group: who may join, and the time limit.

use std::net::{TcpListener, ToSocketAddrs as _};
use std::process::Command;
use std::time::Duration;

use super::launcher::{LAUNCHERS, Launcher};
use super::place::OWN_PORT;
use super::secret::SECRET_FILE;
use super::starter::{STARTED_BY, Starter};
use super::tcp::lengthen;
use super::variables::with_variables;
use super::{BootstrapError, Cancel, Place, Secret};

/// The variable that names the job of a process.
const JOB: &str = "HPMOE_JOB";

/// The variable that lets rank 0 listen to other machines without a secret.
const LET_ANYONE_JOIN: &str = "HPMOE_LET_ANYONE_JOIN";

/// The variable that limits the time of joining, in seconds.
const TIME_LIMIT: &str = "HPMOE_JOIN_TIME_LIMIT";

/// The default time limit of joining.
const USUAL_LIMIT: Duration = Duration::from_secs(60);

/// Settings for joining a group: the job's name and secret, which decide who may join, and the time limit.
///
/// Rank 0 accepts only ranks of its own job. With a secret, both sides prove that they know it before any other data is read. Without a
/// secret, rank 0 listens only on this machine's loopback interface, unless [`let_anyone_join`](Self::let_anyone_join) is set.
///
/// ```
/// use std::time::Duration;
/// use hpmoe_runtime::{Joining, Secret};
///
/// let joining = Joining::new().job("layer 7").secret(Secret::generate()?).limit(Duration::from_secs(600));
/// let listener = joining.listen("0.0.0.0:0")?;
/// println!("the other ranks connect to port {}", listener.local_addr().unwrap().port());
/// # Ok::<(), hpmoe_runtime::BootstrapError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Joining {
    pub(super) job: String,
    pub(super) secret: Option<Secret>,
    pub(super) limit: Duration,
    pub(super) anyone: bool,
    pub(super) cancel: Cancel,
    /// The process that started this process as a rank, if one did.
    pub(super) starter: Option<Starter>,
    pub(super) knobs: Knobs,
}

/// How a user can change these settings, for the advice in errors: by an environment variable, or only in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Knobs {
    /// Whether a variable sets the secret.
    pub(super) secret_variable: bool,
    /// Whether a variable sets the job's name.
    pub(super) job_variable: bool,
    /// Whether a variable sets the time limit.
    pub(super) limit_variable: bool,
}

impl Default for Joining {
    fn default() -> Self {
        Self::new()
    }
}

impl Joining {
    /// Settings without a job name and without a secret. The time limit is 60 seconds. Ignores the environment.
    #[must_use]
    pub fn new() -> Self {
        Self {
            job: String::new(),
            secret: None,
            limit: USUAL_LIMIT,
            anyone: false,
            cancel: Cancel::new(),
            starter: None,
            knobs: Knobs { secret_variable: false, job_variable: false, limit_variable: false },
        }
    }

    /// Settings from environment variables:
    ///
    /// - `HPMOE_JOB` names the job. If it is not set, the name is torchrun's run id, the MPI job, or Slurm's job and step. Without any of
    ///   these, the job has no name.
    /// - `HPMOE_SECRET_FILE` names a file with the secret.
    /// - `HPMOE_JOIN_TIME_LIMIT` is the time limit in seconds; 60 if it is not set.
    /// - `HPMOE_LET_ANYONE_JOIN=1` has the effect of [`let_anyone_join`](Self::let_anyone_join).
    ///
    /// # Errors
    ///
    /// If a variable has an invalid value, or the secret can't be read from its file ([`Secret::from_file`]).
    pub fn from_environment() -> Result<Self, BootstrapError> {
        with_variables(|value| Self::from_variables(value))
    }

    fn from_variables(value: impl Fn(&str) -> Option<String>) -> Result<Self, BootstrapError> {
        let meaningless = |variable: &str, value: String, wanted| BootstrapError::Variable {
            variable: variable.to_owned(),
            value,
            wanted,
        };
        let job = value(JOB).or_else(|| Launcher::find(&value)?.job(&value)).unwrap_or_default();
        let secret = value(SECRET_FILE).map(|file| Secret::from_file(file.as_ref())).transpose()?;
        let limit = match value(TIME_LIMIT) {
            None => USUAL_LIMIT,
            Some(text) => match text.trim().parse::<f64>().ok().map(Duration::try_from_secs_f64) {
                Some(Ok(limit)) if !limit.is_zero() => limit,
                _ => return Err(meaningless(TIME_LIMIT, text, "a number of seconds above 0")),
            },
        };
        let anyone = match value(LET_ANYONE_JOIN) {
            None => false,
            Some(text) if text == "1" => true,
            Some(text) => return Err(meaningless(LET_ANYONE_JOIN, text, "1, or not set")),
        };
        let starter = value(STARTED_BY).map(|text| Starter::read(&text)).transpose()?;
        let knobs = Knobs { secret_variable: true, job_variable: true, limit_variable: true };
        Ok(Self { job, secret, limit, anyone, cancel: Cancel::new(), starter, knobs })
    }

    /// Settings for ranks that this process starts itself on this machine: a new random secret, and a job name with the number of this
    /// process. [`pass_to`](Self::pass_to) passes both to a child process. The time limit is `HPMOE_JOIN_TIME_LIMIT` seconds, or 60 if it
    /// is not set.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes, or `HPMOE_JOIN_TIME_LIMIT` is invalid.
    pub fn of_own_processes() -> Result<Self, BootstrapError> {
        let Self { limit, knobs: Knobs { limit_variable, .. }, .. } =
            with_variables(|value| Self::from_variables(|name| value(name).filter(|_| name == TIME_LIMIT)))?;
        let knobs = Knobs { limit_variable, ..Self::new().knobs };
        let job = format!("processes of process {}", std::process::id());
        Ok(Self { job, secret: Some(Secret::generate()?), limit, knobs, ..Self::new() })
    }

    /// Sets the name of the job: ranks of other jobs are refused.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = name.into();
        self.knobs.job_variable = false;
        self
    }

    /// Sets the secret of the job.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self.knobs.secret_variable = false;
        self
    }

    /// Sets the time limit for joining, which is 60 seconds unless [`from_environment`](Self::from_environment) has found another.
    #[must_use]
    pub const fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self.knobs.limit_variable = false;
        self
    }

    /// Lets rank 0 listen to other machines without a secret: **anyone who can reach its port can become a rank of the
    /// job**, receive the data that ranks exchange, and influence the results of other ranks.
    #[must_use]
    pub const fn let_anyone_join(mut self) -> Self {
        self.anyone = true;
        self
    }

    /// Ends waits of this rank early when `cancel` is cancelled: while it joins, in exchanges, and in launches of the group. The other
    /// ranks then see that this rank has left.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Starts listening as rank 0, on an address such as `127.0.0.1:0`. With port 0, the system picks a free port. The program tells the
    /// port to the other ranks, and then joins by [`TcpBootstrap::host`](super::TcpBootstrap::host).
    ///
    /// # Errors
    ///
    /// If the program can't listen on the address. Also if other machines can reach the address, but there is neither a secret nor
    /// [`let_anyone_join`](Self::let_anyone_join).
    pub fn listen(&self, address: &str) -> Result<TcpListener, BootstrapError> {
        self.listen_at(&Place::new(0, 1, address))
    }

    /// Starts listening as rank 0, on the address of a place.
    pub(super) fn listen_at(&self, place: &Place) -> Result<TcpListener, BootstrapError> {
        let address = &place.address;
        let no_listener = |error: std::io::Error| place.no_listener(&error);
        let found: Vec<_> = address.to_socket_addrs().map_err(no_listener)?.collect();
        // Before the first one listens: a name can have several.
        if let Some(exposed) = found.iter().find(|found| !found.ip().is_loopback()) {
            self.may_listen(&exposed.to_string())?;
        }
        let listener = TcpListener::bind(found.as_slice()).map_err(no_listener)?;
        // Ranks can come before rank 0 hears them.
        lengthen(&listener);
        Ok(listener)
    }

    /// Refuses a listener that other machines can reach, if there is no secret and not anyone may join.
    pub(super) fn may_listen_by(&self, listener: &TcpListener) -> Result<(), BootstrapError> {
        match listener.local_addr() {
            Ok(address) if !address.ip().is_loopback() => self.may_listen(&address.to_string()),
            _ => Ok(()),
        }
    }

    fn may_listen(&self, address: &str) -> Result<(), BootstrapError> {
        if self.secret.is_some() || self.anyone {
            return Ok(());
        }
        let way_out = if self.knobs.secret_variable {
            "name a file with a secret by HPMOE_SECRET_FILE, for all ranks (`openssl rand -hex 32` makes one); if anyone who reaches that port \
             may become a rank, set HPMOE_LET_ANYONE_JOIN=1"
        } else {
            "give all ranks a secret (Joining::secret); if anyone who reaches that port may become a rank, say so by Joining::let_anyone_join"
        };
        Err(BootstrapError::Exposed { address: address.to_owned(), way_out })
    }

    /// Makes this process end when the process that started it ends, if one started it as a rank.
    pub(super) fn end_with_starter(&self, rank: usize) -> Result<(), BootstrapError> {
        self.starter.map_or(Ok(()), |starter| starter.end_with(rank))
    }

    /// Whether a secret is set.
    pub(crate) const fn has_secret(&self) -> bool {
        self.secret.is_some()
    }

    /// Sets the secret, if one is given.
    pub(crate) fn with(self, secret: Option<Secret>) -> Self {
        match secret {
            Some(secret) => self.secret(secret),
            None => self,
        }
    }

    /// Starts listening as rank 0, on an address that comes from environment variables.
    pub(crate) fn listen_on(&self, address: &str) -> Result<TcpListener, BootstrapError> {
        self.listen_at(&Place::by_variables(0, 1, address.to_owned()))
    }

    /// Makes `command` start rank `rank` of a group of `ranks` ranks, whose rank 0 listens on `port` of this machine's loopback interface.
    /// This sets the variables that [`Place::from_launcher`] and [`from_environment`](Self::from_environment) read. If there is a secret,
    /// its unnamed file becomes the child's standard input.
    ///
    /// A child process that joins with [`from_environment`](Self::from_environment) also ends when this process ends, even if this process
    /// alone is killed.
    ///
    /// # Errors
    ///
    /// If there is a secret and the system can't make an unnamed file for it; only Linux can.
    pub fn pass_to(&self, command: &mut Command, rank: usize, ranks: usize, port: u16) -> std::io::Result<()> {
        let own = &LAUNCHERS[0];
        command.env(own.rank, rank.to_string()).env(own.ranks, ranks.to_string());
        command.env(OWN_PORT, port.to_string()).env_remove("MASTER_ADDR").env(JOB, &self.job);
        command.env(STARTED_BY, Starter::of_this_process().number());
        match &self.secret {
            Some(secret) => secret.pass_to(command),
            None => {
                command.env_remove(SECRET_FILE);
                Ok(())
            }
        }
    }

    /// Advice: how the user can raise the time limit.
    pub(super) const fn longer(&self) -> &'static str {
        if self.knobs.limit_variable {
            "raise HPMOE_JOIN_TIME_LIMIT (seconds)"
        } else {
            "raise the time limit of joining, which the program sets"
        }
    }

    /// Advice: how the user can name the job.
    pub(super) const fn naming(&self) -> &'static str {
        if self.knobs.job_variable { "HPMOE_JOB" } else { "the name of the job, which the program sets" }
    }

    /// Advice: how the user can set the secret.
    pub(super) const fn confiding(&self) -> &'static str {
        if self.knobs.secret_variable { "by HPMOE_SECRET_FILE" } else { "by the program" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joining(variables: &[(&str, &str)]) -> Result<Joining, BootstrapError> {
        Joining::from_variables(|name| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_owned()))
    }

    #[test]
    fn the_environment_names_job_and_limit() {
        let none = joining(&[]).unwrap();
        assert_eq!((none.job.as_str(), none.limit, none.secret, none.anyone), ("", USUAL_LIMIT, None, false));
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"), ("SLURM_JOB_ID", "12"), ("SLURM_STEP_ID", "0")];
        assert_eq!(joining(&slurm).unwrap().job, "Slurm's job and step 12.0");
        let own = [&slurm[..], &[(JOB, "mine"), (TIME_LIMIT, "1.5"), (LET_ANYONE_JOIN, "1")]].concat();
        let own = joining(&own).unwrap();
        assert_eq!((own.job.as_str(), own.limit, own.anyone), ("mine", Duration::from_millis(1500), true));
        for limit in ["0", "-1", "soon", "inf", "NaN"] {
            let said = joining(&[(TIME_LIMIT, limit)]).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("HPMOE_JOIN_TIME_LIMIT is `{limit}`, but should be a number of")),
                "{said}"
            );
        }
        let said = joining(&[(LET_ANYONE_JOIN, "yes")]).unwrap_err().to_string();
        assert!(said.starts_with("HPMOE_LET_ANYONE_JOIN is `yes`, but should be 1, or not set"), "{said}");
        let said = joining(&[(SECRET_FILE, "/nowhere")]).unwrap_err().to_string();
        assert!(said.starts_with("there is no secret in /nowhere (No such file"), "{said}");
    }

    #[test]
    fn without_a_secret_other_machines_are_not_listened_to() {
        for address in ["0.0.0.0:0", "[::]:0"] {
            let said = Joining::new().listen(address).unwrap_err().to_string();
            assert!(said.starts_with("rank 0 would listen on ") && said.contains("Joining::let_anyone_join"), "{said}");
            let said = joining(&[]).unwrap().listen(address).unwrap_err().to_string();
            assert!(said.contains("HPMOE_SECRET_FILE") && said.contains("HPMOE_LET_ANYONE_JOIN=1"), "{said}");
        }
        let any = TcpListener::bind("0.0.0.0:0").unwrap();
        assert!(Joining::new().may_listen_by(&any).is_err(), "a listener that the program made");
        assert!(Joining::new().let_anyone_join().listen("0.0.0.0:0").is_ok());
        assert!(Joining::new().secret(Secret::generate().unwrap()).listen("0.0.0.0:0").is_ok());
        assert!(Joining::new().listen("127.0.0.1:0").is_ok() && Joining::new().listen("localhost:0").is_ok());
    }

    #[test]
    fn processes_of_two_programs_are_two_jobs() {
        let [first, second] = [0, 1].map(|_| Joining::of_own_processes().unwrap());
        assert!(first.secret.is_some() && first.secret != second.secret);
    }
}
