//! Files below `OUT_DIR`, written only when their contents change, so that an unchanged file causes no rebuild.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Once;

/// Suffixes of notices, the files that describe a build.
const NOTICES: [&str; 4] = ["built", "fault", "expansion", "device"];

static FIRST: Once = Once::new();

/// Removes the notices of earlier builds (what was built, for which device, faults), which may be about modules that no longer exist.
/// Objects and sources stay, because they are named by their content.
///
/// A build script may build several times; only its first build removes notices.
pub(crate) fn forget(folder: &Path) -> Result<(), String> {
    let mut result = Ok(());
    FIRST.call_once(|| result = remove_notices(folder));
    result
}

fn remove_notices(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("can't make `{}`: {error}", folder.display()))?;
    let entries = std::fs::read_dir(folder).map_err(|error| format!("can't read `{}`: {error}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let notice = path.extension().and_then(OsStr::to_str);
        if notice.is_some_and(|ending| NOTICES.contains(&ending)) {
            std::fs::remove_file(&path).map_err(|error| format!("can't remove `{}`: {error}", path.display()))?;
        }
    }
    Ok(())
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    write_bytes(path, text.as_bytes())
}

pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    std::fs::write(path, bytes).map_err(|error| format!("can't write `{}`: {error}", path.display()))
}
