//! Finds and opens the SHMEM library.

use std::env;
use std::path::PathBuf;

use hpmoe_kernels::printable::printable_path;
use libloading::Library;

use super::bindings::ShmemCalls;
use super::error::ShmemError;
use crate::backend::npu::acl::reason;

const NAME: &str = "libshmem.so";

/// Opens the library: by its name, which the loader finds after set_env.sh, or else in SHMEM's folder, or in that of the toolkit.
pub(super) fn open() -> Result<ShmemCalls, ShmemError> {
    let inside = |(variable, folder): (&str, &str)| {
        let home = env::var_os(variable).filter(|home| !home.is_empty())?;
        Some(PathBuf::from(home).join(folder).join(NAME))
    };
    let folders = [("SHMEM_HOME_PATH", "shmem/lib"), ("ASCEND_HOME_PATH", "lib64")];
    let paths: Vec<PathBuf> = [PathBuf::from(NAME)].into_iter().chain(folders.into_iter().filter_map(inside)).collect();
    let mut cause = String::new();
    for path in &paths {
        // SAFETY: the library of the installed toolkit, whose initialisers may run in any program.
        match unsafe { Library::new(path) } {
            Ok(library) => {
                // SAFETY: the calls are declared as the library's documentation has them.
                let calls = unsafe { ShmemCalls::from_library(library) };
                let (library, old) = (printable_path(path), |error| reason(&error));
                return calls.map_err(|error| ShmemError::OldLibrary { library, cause: old(error) });
            }
            Err(error) if cause.is_empty() || path.is_file() => cause = reason(&error),
            Err(_) => {}
        }
    }
    let tried = paths.iter().map(|path| format!("`{}`", printable_path(path))).collect::<Vec<_>>().join(", ");
    Err(ShmemError::NoLibrary { tried, cause })
}
