//! The variables that launchers set in the processes they start.

/// A launcher, by the names of its variables.
pub(super) struct Launcher {
    /// Rank of a process.
    pub(super) rank: &'static str,
    /// Number of ranks.
    pub(super) ranks: &'static str,
    /// Number of ranks on the machine of the process, under the names of several versions.
    here: &'static [&'static str],
    /// Names of the job; the first one that is set counts.
    jobs: &'static [JobName],
}

/// A name that a launcher gives a job.
struct JobName {
    /// The kind of name, so that those of two kinds differ.
    kind: &'static str,
    /// Its parts, all of them set.
    variables: &'static [&'static str],
}

impl JobName {
    const fn new(kind: &'static str, variables: &'static [&'static str]) -> Self {
        Self { kind, variables }
    }
}

/// Slurm's job, for launchers that run in one. Its step is left out, because each machine's agent of such a launcher can be a step.
const SLURM_JOB: JobName = JobName::new("Slurm's job", &["SLURM_JOB_ID"]);

/// This crate's own variables, those of torchrun, Open MPI, MPICH with its relatives, and srun.
///
/// Names of jobs, as the launchers have them: torchrun its run id; Open MPI 4 and 5 and srun with PMIx a namespace, Open MPI 4 its own number,
/// too; Intel MPI an id of its Hydra, Cray PALS and Slurm with PMI2 `PMI_JOBID`. MPICH's own Hydra has none.
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

/// Number of machines of a Slurm step.
const SLURM_MACHINES: &str = "SLURM_STEP_NUM_NODES";

/// torchrun's run id if the user gave none.
const NO_RUN_ID: &str = "none";

impl Launcher {
    /// The launcher that started this process: the first one that has set both numbers.
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

    /// Each srun of a job is a step of it, and two steps are two jobs of ours.
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
