//! The state that the steps share: the options, this program, folders, cores.

use crate::options::Options;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The state that the steps share.
pub(super) struct Machine<'a> {
    pub(super) options: &'a Options,
    /// This program.
    pub(super) program: PathBuf,
    /// The folder of objects, as `--objects` names it.
    pub(super) objects: PathBuf,
    /// The folder of everything else.
    pub(super) folder: PathBuf,
    /// The folder of the CANN toolkit.
    pub(super) toolkit: PathBuf,
    pub(super) cores: u32,
}

impl Machine<'_> {
    /// The longest that a step may take.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(u64::from(self.options.minutes) * 60)
    }
}

/// Sets the variables by which programs of CANN find a toolkit, as its `set_env.sh` does: it may not have been run in this shell.
pub(super) fn for_toolkit(command: &mut Command, toolkit: &Path) {
    command.env("ASCEND_HOME_PATH", toolkit).env("ASCEND_TOOLKIT_HOME", toolkit);
}

/// The folder of what steps write, which no other user may write to.
pub(super) fn folder(options: &Options) -> PathBuf {
    objects(options).join("no-npu")
}

/// The folder of objects.
pub(super) fn objects(options: &Options) -> PathBuf {
    absolute(options.objects.clone().unwrap_or_else(|| std::env::temp_dir().join("hpmoe-doctor")))
}

/// A path for programs that run in another folder, or that look for programs without a leading `/` or `./` in `PATH`.
pub(super) fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
