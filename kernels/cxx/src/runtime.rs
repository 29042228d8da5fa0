//! The way in which programs with C++ objects get the C++ standard library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the way; unset or empty means `shared`.
const VARIABLE: &str = "HPMOE_CXX_RUNTIME";

/// File name of GNU's C++ standard library for static linking.
const ARCHIVE: &str = "libstdc++.a";

/// Way to link the C++ standard library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The shared library of the machine that the program runs on.
    Shared,
    /// A copy in the program or library, which then works next to any shared libstdc++ that other libraries have loaded.
    Static,
    /// A copy if the compiler has an archive to link, otherwise the shared library.
    PreferStatic,
}

impl Way {
    fn read(value: Option<&str>) -> Result<Self, String> {
        match value {
            None | Some("" | "shared") => Ok(Self::Shared),
            Some("static") => Ok(Self::Static),
            Some("prefer-static") => Ok(Self::PreferStatic),
            Some(other) => {
                Err(format!("{VARIABLE} is `{other}`: set it to `shared`, `static` or `prefer-static`, or unset it"))
            }
        }
    }
}

/// The archive to link the C++ standard library from; `None` if the shared one is to be linked.
///
/// # Errors
///
/// [`VARIABLE`] has an unknown value, or asks for an archive that the compiler does not have.
pub(crate) fn archive_to_link(compiler: &cc::Tool) -> Result<Option<PathBuf>, String> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let value = std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let way = Way::read(value.as_deref())?;
    if way == Way::Shared {
        return Ok(None);
    }
    let found = find(compiler)?;
    if way == Way::Static && found.is_none() {
        let compiler = compiler.path().display();
        return Err(format!(
            "{VARIABLE} is `static`, but the C++ compiler `{compiler}` has no {ARCHIVE}: install it (some systems have it in a \
             package of its own, such as libstdc++-static), or set {VARIABLE} to `prefer-static`"
        ));
    }
    Ok(found)
}

/// Tells cargo to link the C++ standard library from an archive.
pub(crate) fn link(archive: &Path) {
    let folder = archive.parent().unwrap_or(Path::new("/"));
    println!("cargo::rustc-link-search=native={}", folder.display());
    // Linked with the program or library, because objects of kernels, which come before it, need it as well.
    println!("cargo::rustc-link-lib=static:-bundle=stdc++");
}

/// Finds the archive; `None` if the compiler has none. The compiler then just repeats the archive's bare file name.
fn find(compiler: &cc::Tool) -> Result<Option<PathBuf>, String> {
    let mut command = Command::new(compiler.path());
    let output = command.args(compiler.args()).arg(format!("-print-file-name={ARCHIVE}")).output();
    let output = output.map_err(|error| format!("can't start `{}`: {error}", compiler.path().display()))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok((output.status.success() && path.is_absolute() && path.exists()).then_some(path))
}

#[cfg(test)]
mod tests {
    use super::Way;

    #[test]
    fn an_unknown_way_is_refused_with_those_that_there_are() {
        for shared in [None, Some(""), Some("shared")] {
            assert_eq!(Way::read(shared), Ok(Way::Shared));
        }
        assert_eq!(Way::read(Some("prefer-static")), Ok(Way::PreferStatic));
        let error = Way::read(Some("dynamic")).unwrap_err();
        assert!(error.contains("`dynamic`") && error.contains("`shared`, `static` or `prefer-static`"), "{error}");
    }
}
