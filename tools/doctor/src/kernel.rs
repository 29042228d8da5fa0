//! The probes' kernel: its text, and its compilation.

use hpmoe_build::DeviceObject;
use hpmoe_runtime::printable::printable_path;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;

/// The name by which the loader finds the kernel.
pub(crate) const SYMBOL: &str = "hpmoe_doctor";

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../probes/", $name)))),*]
    };
}

/// The kernel's files, in an order in which each follows the files that it needs.
const FILES: [(&str, &str); 10] = files![
    "core.cpp",
    "poll.cpp",
    "adds.cpp",
    "order.cpp",
    "sums.cpp",
    "rows.cpp",
    "flags.cpp",
    "peers.cpp",
    "time.cpp",
    "kernel.cpp"
];

/// Compiles the kernel with the installed CANN, unless it is compiled already.
pub(crate) fn compiled(folder: &Path) -> Result<DeviceObject, String> {
    let cannot = |error: std::io::Error| format!("can't write to `{}`: {error}", printable_path(folder));
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let text: String =
        FILES.iter().map(|(name, text)| format!("#line 1 \"tools/doctor/probes/{name}\"\n{text}\n")).collect();
    // Another process may be doing the same, with the same number if it runs in another container.
    let random = RandomState::new().build_hasher().finish();
    let source = folder.join(format!("{SYMBOL}.{random:016x}.cpp"));
    std::fs::write(&source, text).map_err(cannot)?;
    let object = hpmoe_build::device_object(&source, SYMBOL, folder);
    // An error of the compiler names the file, which then stays.
    if object.is_ok() {
        let _ = std::fs::remove_file(&source);
    }
    object
}
