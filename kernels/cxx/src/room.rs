//! Checks the room that is left in a folder, by writing to it.

use std::io::Write as _;
use std::path::Path;

/// Number of bytes that are written as a test: more than the largest object of a kernel and the temporary files of its
/// compiler.
const BYTES: usize = 32 << 20;

/// The reason why a folder has no room for another file of 32 MiB; `None` if it has. The test file is removed.
pub(crate) fn lacking(folder: &Path, name: &str) -> Option<String> {
    let path = folder.join(name);
    let block = vec![0_u8; 1 << 20];
    let written = std::fs::File::create(&path)
        .and_then(|mut file| (0..BYTES / block.len()).try_for_each(|_| file.write_all(&block)));
    // A file that was never made can't be removed either.
    let _ = std::fs::remove_file(&path);
    written.err().map(|error| error.to_string())
}
