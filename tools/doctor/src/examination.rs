//! The state that probes share: later probes use the results of earlier ones.

use crate::answer::Failure;
use crate::cores::Cores;
use crate::heap::Heaps;
use crate::launch::Die;
use crate::options::Options;
use crate::team::Team;
use hpmoe_build::DeviceObject;
use hpmoe_runtime::npus::{Npu, symmetric_memory};
use std::path::PathBuf;
use std::time::Duration;

/// The state that probes share.
pub(crate) struct Examination {
    pub(crate) team: Team,
    pub(crate) tries: u32,
    pub(crate) limit: Duration,
    /// Maximum number of matrix cores of a launch.
    pub(crate) most_cores: u32,
    /// Probes to skip.
    pub(crate) skip: Vec<String>,
    /// The file that each answer is written to.
    pub(crate) answers: Option<PathBuf>,
    pub(crate) folder: PathBuf,
    /// The compiled kernel.
    pub(crate) object: Option<DeviceObject>,
    /// The NPUs of the local ranks, until the kernel is loaded.
    pub(crate) npus: Vec<Npu>,
    /// The location of each rank's NPU.
    pub(crate) places: Vec<NpuPlace>,
    /// Number of cores of a launch: the smallest number that the NPU of any rank has.
    pub(crate) cores: Cores,
    /// The NPUs of the local ranks, with the kernel.
    pub(crate) dies: Vec<Die>,
    /// Heaps that peers can write.
    pub(crate) heaps: Option<Heaps>,
    /// Whether an NPU may still be running a kernel.
    pub(crate) lost: bool,
    /// The reason why the connection to the other processes was lost.
    pub(crate) gone: Option<String>,
}

/// The location of an NPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NpuPlace {
    pub(crate) host: String,
    pub(crate) number: i32,
    pub(crate) chip: String,
}

impl NpuPlace {
    /// Returns whether two NPUs are dies of the same package. A package of an A3 has two, with consecutive numbers.
    pub(crate) fn shares_package(&self, other: &Self) -> bool {
        let of_two = self.chip.starts_with("Ascend910_93");
        of_two && self.host == other.host && self.number / 2 == other.number / 2
    }
}

impl Examination {
    pub(crate) fn new(team: Team, options: &Options) -> Self {
        Self {
            team,
            tries: options.tries,
            limit: options.limit(),
            most_cores: options.matrix_cores.unwrap_or(u32::MAX),
            skip: options.skip.clone(),
            answers: options.answers.clone(),
            folder: options.objects.clone().unwrap_or_else(|| std::env::temp_dir().join("hpmoe-doctor")),
            object: None,
            npus: Vec::new(),
            places: Vec::new(),
            cores: Cores { matrix: 0 },
            dies: Vec::new(),
            heaps: None,
            lost: false,
            gone: None,
        }
    }

    /// Returns whether the toolkit is the one of `hpmoe-standin`.
    pub(crate) fn is_stand_in(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.toolkit.join("standin.conf").is_file())
    }

    /// Examines the NPU of each local rank, one after another.
    pub(crate) fn each_die<T>(
        &self,
        mut examine: impl FnMut(usize, &Die) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let of_rank = |(rank, die)| examine(rank, die).map_err(|failure| failure.of_rank(rank, self.team.ranks));
        self.team.own().zip(&self.dies).map(of_rank).collect()
    }

    /// Frees the memory and the NPUs.
    pub(crate) fn end(self) {
        if self.lost {
            // A kernel may still be using what it was given.
            std::mem::forget((self.heaps, self.dies, self.npus));
        } else if let (true, Some(die), Ok(shared)) = (self.heaps.is_some(), self.dies.first(), symmetric_memory()) {
            drop(self.heaps);
            shared.end(&die.npu);
        }
    }
}
