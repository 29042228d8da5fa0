//! The state that the steps share: the options, this program, folders, cores.

use crate::options::Options;
use std::path::PathBuf;
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
    pub(super) cores: u32,
}

impl Machine<'_> {
    /// The longest that a step may take.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(u64::from(self.options.minutes) * 60)
    }
}

/// The folder of what steps write, which no other user may write to.
pub(super) fn folder(options: &Options) -> PathBuf {
    objects(options).join("no-npu")
}

/// The folder of objects.
pub(super) fn objects(options: &Options) -> PathBuf {
    options.objects.clone().unwrap_or_else(|| std::env::temp_dir().join("hpmoe-doctor"))
}
