//! Finds and opens the runtime library.

use std::env::{self, consts::ARCH};
use std::error::Error as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use hpmoe_kernels::printable::{printable, printable_path};
use libloading::Library;

use super::bindings::AclCalls;
use super::to_undo::ToUndo;
use super::{Acl, NpuError};

/// The library's file name, and its name in older versions of CANN.
const NAMES: [&str; 2] = ["libacl_rt.so", "libascendcl.so"];

/// A symbol that only the library of `hpmoe-standin` has, not that of CANN.
const STAND_IN: &[u8] = b"hpmoe_standin";

static OPENED: OnceLock<Result<Acl, NpuError>> = OnceLock::new();

impl Acl {
    /// CANN's runtime library, opened once per process and initialised. It is never closed, because others may use it
    /// too.
    pub(in super::super) fn get() -> Result<&'static Self, NpuError> {
        let acl = OPENED.get_or_init(open).as_ref().map_err(Clone::clone)?;
        acl.initialize_once()?;
        Ok(acl)
    }

    /// The library, if it was opened.
    pub(in super::super) fn opened() -> Option<&'static Self> {
        OPENED.get()?.as_ref().ok()
    }
}

/// Opens the library: first by its name, which the system's loader finds after set_env.sh, then in the toolkit's
/// folders.
fn open() -> Result<Acl, NpuError> {
    let mut paths: Vec<PathBuf> = NAMES.map(PathBuf::from).to_vec();
    if let Some(home) = env::var_os("ASCEND_HOME_PATH").filter(|home| !home.is_empty()) {
        let folders = ["lib64".to_owned(), format!("{ARCH}-linux/lib64")];
        let inside = |folder: &String| NAMES.map(|name| PathBuf::from(&home).join(folder).join(name));
        paths.extend(folders.iter().flat_map(inside));
    }
    let mut cause = String::new();
    for path in &paths {
        // SAFETY: the library of the installed toolkit, whose initialisers may run in any program.
        match unsafe { Library::new(path) } {
            Ok(library) => {
                // SAFETY: nothing is read.
                let stand_in = unsafe { library.get::<*const u8>(STAND_IN) }.is_ok();
                // SAFETY: the calls are declared as the library's documentation has them.
                let calls = unsafe { AclCalls::from_library(library) };
                let missing = |error: libloading::Error| NpuError::OldLibrary {
                    library: printable_path(path),
                    cause: reason(&error),
                };
                return calls.map(|calls| Acl { calls, stand_in, to_undo: ToUndo::default() }).map_err(missing);
            }
            Err(error) if cause.is_empty() || path.is_file() => cause = reason(&error),
            Err(_) => {}
        }
    }
    let tried = paths.iter().map(|path| format!("`{}`", printable_path(path))).collect::<Vec<_>>().join(", ");
    Err(NpuError::NoLibrary { tried, cause })
}

/// The message of the system's loader, without the library's own text around it.
pub(in super::super) fn reason(error: &libloading::Error) -> String {
    printable(&error.source().map_or_else(|| error.to_string(), ToString::to_string)).into_owned()
}
