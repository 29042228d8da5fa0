//! What compilers get.

use crate::Device;
use hpmoe_language::artifacts::Artifact;
use hpmoe_language::syntax::Constant;
use std::path::PathBuf;

/// What a build makes of one kernel module.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) units: Vec<Unit>,
    /// The name of the kernel, once for each stage that found faults.
    pub(crate) faulty: Vec<String>,
}

/// A generated file and what it becomes.
pub(crate) struct Unit {
    pub(crate) artifact: Artifact,
    /// The name of the kernel module.
    pub(crate) kernel: String,
    /// The constants of the module, as this build has them.
    pub(crate) constants: Vec<(String, Constant)>,
    pub(crate) source: PathBuf,
    /// The file that it was generated from, as the build script names it.
    pub(crate) file: String,
    /// What it is compiled for in addition to this machine's CPU.
    pub(crate) device: Option<DeviceBuild>,
}

/// A device, and the toolkit that the build script names for it.
#[derive(Clone, Debug)]
pub(crate) struct DeviceBuild {
    pub(crate) device: Device,
    pub(crate) toolkit: Option<PathBuf>,
}
