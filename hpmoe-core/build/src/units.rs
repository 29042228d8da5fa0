//! The compilation units that are passed to compilers.

use crate::Device;
use crate::expansions::ModuleToTell;
use crate::operators::Operator;
use hpmoe_core::artifacts::Artifact;
use hpmoe_core::syntax::Constant;
use std::path::{Path, PathBuf};

/// The build's results for one kernel module.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) units: Vec<Unit>,
    /// The name of the kernel, once for each stage that found faults in it.
    pub(crate) faulty: Vec<String>,
    pub(crate) modules: Vec<ModuleToTell>,
    /// Warnings about kernels that work, but not as well as they might.
    pub(crate) warnings: Vec<String>,
}

/// A generated file, and everything that is known about the kernel that it is compiled into.
pub(crate) struct Unit {
    pub(crate) artifact: Artifact,
    /// The name of the kernel module.
    pub(crate) kernel: String,
    /// The constants of the module, as this build has them.
    pub(crate) constants: Vec<(String, Constant)>,
    pub(crate) source: PathBuf,
    /// The file for compilers of devices: the same file, or another one if an operator is device-only.
    pub(crate) device_source: PathBuf,
    /// Needs of the kernel's route code, as a C++ expression; `None` if the kernel does not make a route.
    pub(crate) route_needs: Option<String>,
    /// The external operators of the kernel's tasks.
    pub(crate) operators: Vec<Operator>,
    /// The folder that paths of operators' files are relative to: the package's.
    pub(crate) package: PathBuf,
    /// The file that holds the kernel module, as the build script names it.
    pub(crate) file: String,
    /// The device that the kernel is compiled for in addition to this machine's CPU; `None` if there is none.
    pub(crate) device: Option<DeviceBuild>,
}

impl Unit {
    /// The folder of the headers of the kernel's external operators; `None` if it has no such operator.
    pub(crate) fn headers(&self) -> Option<&Path> {
        (!self.operators.is_empty()).then_some(self.package.as_path())
    }
}

/// A device, and the toolkit that the build script names for it.
#[derive(Clone, Debug)]
pub(crate) struct DeviceBuild {
    pub(crate) device: Device,
    pub(crate) toolkit: Option<PathBuf>,
}
