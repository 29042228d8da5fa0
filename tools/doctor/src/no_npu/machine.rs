//! The state that the steps share: the options, this program, folders, cores.

use crate::options::Options;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The state that the steps share.
pub(super) struct Machine<'a> {
    pub(super) options: &'a Options,
    /// Path of this program.
    pub(super) program: PathBuf,
    /// The folder of objects, as given by `--objects`.
    pub(super) objects: PathBuf,
    /// The folder of all other files.
    pub(super) folder: PathBuf,
    /// The folder of the CANN toolkit.
    pub(super) toolkit: PathBuf,
    pub(super) cores: u32,
}

impl Machine<'_> {
    /// Maximum duration of a step.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(u64::from(self.options.minutes) * 60)
    }
}

/// Sets the variables by which CANN's programs find a toolkit, as its `set_env.sh` does, because that script may not have been run in this
/// shell.
pub(super) fn for_toolkit(command: &mut Command, toolkit: &Path) {
    command.env("ASCEND_HOME_PATH", toolkit).env("ASCEND_TOOLKIT_HOME", toolkit);
}

/// The folder for the files of steps; no other user can write to it.
pub(super) fn folder(options: &Options) -> PathBuf {
    objects(options).join("no-npu")
}

/// The folder of objects.
pub(super) fn objects(options: &Options) -> PathBuf {
    absolute(options.objects.clone().unwrap_or_else(|| std::env::temp_dir().join("hpmoe-doctor")))
}

/// A path for programs that run in another folder, or that search `PATH` for programs without a leading `/` or `./`.
pub(super) fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
