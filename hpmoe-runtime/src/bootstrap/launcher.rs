//! The variables that launchers set in the processes they start.

/// A launcher, described by the environment variables that it sets.
pub(super) struct Launcher {
    /// Variable with the rank of the process.
    pub(super) rank: &'static str,
    /// Variable with the number of ranks.
    pub(super) ranks: &'static str,
    /// Variables with the number of ranks on the process's machine; versions of the launcher differ in its name.
    here: &'static [&'static str],
    /// Names of the job; the first one that is set is used.
    jobs: &'static [JobName],
}

/// A name that a launcher gives a job.
struct JobName {
    /// The kind of name, part of the job's name, so that names of different kinds differ.
    kind: &'static str,
    /// Variables whose values make up the name. All must be set.
    variables: &'static [&'static str],
}

impl JobName {
    const fn new(kind: &'static str, variables: &'static [&'static str]) -> Self {
        Self { kind, variables }
    }
}

/// Slurm's job, for launchers that run inside it. The Slurm step is left out, because such a launcher may start an agent as a step per
/// machine.
const SLURM_JOB: JobName = JobName::new("Slurm's job", &["SLURM_JOB_ID"]);

/// The launchers: this crate's own variables, torchrun, Open MPI, MPICH and its relatives, and srun.
///
/// A job is named by torchrun's run id, by the PMIx namespace (Open MPI 4 and 5, srun with PMIx), by Open MPI 4's own number, by the id of
/// Intel MPI's Hydra, or by `PMI_JOBID` (Cray PALS, Slurm with PMI2). MPICH's own Hydra names no job.
pub(super) const LAUNCHERS: [Launcher; 5] = [
    Launcher { rank: "HPMOE_RANK", ranks: "HPMOE_RANKS", here: &[], jobs: &[] },
    Launcher {
        rank: "RANK",
        ranks: "WORLD_SIZE",
        here: &["LOCAL_WORLD_SIZE"],
        jobs: &[JobName::new("torchrun's run", &["TORCHELASTIC_RUN_ID"]), SLURM_JOB],
    },
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        here: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        jobs: &[
            JobName::new("PMIx's namespace", &["PMIX_NAMESPACE"]),
            JobName::new("Open MPI's job", &["OMPI_MCA_ess_base_jobid"]),
            SLURM_JOB,
        ],
    },
    Launcher {
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
        here: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
        jobs: &[
            JobName::new("Hydra's job", &["I_MPI_HYDRA_UUID"]),
            JobName::new("PMI's job", &["PMI_JOBID"]),
            JobName::new("PMIx's namespace", &["PMIX_NAMESPACE"]),
            SLURM_JOB,
        ],
    },
    Launcher {
        rank: "SLURM_PROCID",
        ranks: "SLURM_NTASKS",
        here: &[],
        jobs: &[JobName::new("Slurm's job and step", &["SLURM_JOB_ID", "SLURM_STEP_ID"]), SLURM_JOB],
    },
];

/// Variable with the number of machines of a Slurm step.
const SLURM_MACHINES: &str = "SLURM_STEP_NUM_NODES";

/// torchrun's run id if the user sets none.
const NO_RUN_ID: &str = "none";

impl Launcher {
    /// The launcher that started this process: the first one whose variables for rank and number of ranks are both set.
    pub(super) fn find(value: impl Fn(&str) -> Option<String>) -> Option<&'static Self> {
        LAUNCHERS.iter().find(|launcher| value(launcher.rank).is_some() && value(launcher.ranks).is_some())
    }

    /// The name of the job that the launcher started, if it has one.
    pub(super) fn job(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        self.jobs.iter().find_map(|name| {
            let said = |variable: &&str| value(variable).filter(|said| said != NO_RUN_ID);
            let parts: Vec<String> = name.variables.iter().map(said).collect::<Option<_>>()?;
            Some(format!("{} {}", name.kind, parts.join(".")))
        })
    }

    /// Whether all ranks of the group are on the machine of this process.
    pub(super) fn is_one_machine(&self, value: impl Fn(&str) -> Option<String>) -> bool {
        let ranks = value(self.ranks);
        let is_slurm = self.rank == "SLURM_PROCID";
        self.here.iter().any(|here| value(here).is_some() && value(here) == ranks)
            || is_slurm && value(SLURM_MACHINES).is_some_and(|machines| machines == "1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Option<String> {
        let value = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_owned());
        Launcher::find(value).unwrap().job(value)
    }

    #[test]
    fn jobs_have_the_names_of_their_launchers() {
        let torchrun = [("RANK", "0"), ("WORLD_SIZE", "2"), ("TORCHELASTIC_RUN_ID", "a1")];
        assert_eq!(job(&torchrun).as_deref(), Some("torchrun's run a1"));
        // Open MPI 4.1.4 sets both.
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_NAMESPACE", "908656641")];
        assert_eq!(job(&open_mpi).as_deref(), Some("PMIx's namespace 908656641"));
        let older = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_MCA_ess_base_jobid", "7")];
        assert_eq!(job(&older).as_deref(), Some("Open MPI's job 7"));
        let intel = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("I_MPI_HYDRA_UUID", "e1"), ("PMI_JOBID", "x")];
        assert_eq!(job(&intel).as_deref(), Some("Hydra's job e1"));
        assert_eq!(
            job(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PMI_JOBID", "3.0")]).as_deref(),
            Some("PMI's job 3.0")
        );
        assert_eq!(job(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MPI_LOCALNRANKS", "2")]), None, "Hydra of MPICH");
    }

    /// Checks that each srun of a Slurm job is its own job here: each is another Slurm step.
    #[test]
    fn slurm_has_jobs_and_steps() {
        let step =
            |step| [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"), ("SLURM_JOB_ID", "12"), ("SLURM_STEP_ID", step)];
        assert_eq!(job(&step("3")).as_deref(), Some("Slurm's job and step 12.3"));
        assert_ne!(job(&step("3")), job(&step("4")));
        // Each machine's torchrun can be a step.
        let inside = [("RANK", "0"), ("WORLD_SIZE", "2"), ("TORCHELASTIC_RUN_ID", "none"), ("SLURM_JOB_ID", "12")];
        assert_eq!(job(&inside).as_deref(), Some("Slurm's job 12"));
        assert_eq!(job(&inside[..3]), None, "torchrun's default is no name");
        let own = [("HPMOE_RANK", "0"), ("HPMOE_RANKS", "2"), ("SLURM_JOB_ID", "12")];
        assert_eq!(job(&own), None, "whoever numbers the processes names their job");
    }
}
