//! What compilers get.

use crate::Device;
use hpmoe_language::artifacts::Artifact;
use std::path::PathBuf;

/// A generated file and what it becomes.
pub(crate) struct Unit {
    pub(crate) artifact: Artifact,
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
