//! The CANN toolkit of this machine.

use hpmoe_cxx::Asker;
use std::env::{self, consts::ARCH};
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names the toolkit's folder. The toolkit's script `set_env.sh` sets it.
const VARIABLE: &str = "ASCEND_HOME_PATH";

/// Default places of an installed toolkit, for all users and for one user (below `HOME`).
const FOLDERS: [&str; 2] = ["/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest"];
const FOLDERS_OF_HOME: [&str; 2] = ["Ascend/cann", "Ascend/ascend-toolkit/latest"];

/// The first version of CANN whose programs accept hpmoe's command lines, whose headers declare what kernels call, and whose library has
/// what the runtime calls.
fn first_version() -> (u32, u32) {
    numbers(hpmoe_kernels::CANN_VERSIONS[0]).expect("a promised version begins with two numbers")
}

/// An installed toolkit of a supported version.
pub(super) struct Toolkit {
    pub(super) home: PathBuf,
    /// The version as the toolkit's own file states it.
    pub(super) version: String,
}

impl Toolkit {
    /// Finds the toolkit in a folder, or the installed one, and declares its inputs to cargo.
    pub(super) fn find(named: Option<&Path>, asker: Asker) -> Result<Self, String> {
        let home = match named {
            Some(folder) => folder.to_owned(),
            None => home(asker)?,
        };
        let (file, version) = version(&home)?;
        asker.depends_on(format_args!("rerun-if-changed={}", file.display()));
        let (major, minor) = first_version();
        match numbers(&version) {
            Some(numbers) if numbers >= (major, minor) => Ok(Self { home, version }),
            Some(_) => Err(format!(
                "`{}` is CANN {version}, and kernels need {major}.{minor} or later: install one and run its set_env.sh, or build \
                 without HPMOE_DEVICE=cann",
                home.display(),
            )),
            None => Err(format!(
                "`{}` says that its version is `{version}`, which doesn't begin with two numbers like 8.5: is it a CANN toolkit?",
                file.display()
            )),
        }
    }

    /// A program of the toolkit, in one of the folders that its `set_env.sh` or its CMake modules name.
    pub(super) fn program(&self, name: &str) -> Result<PathBuf, String> {
        let folders = [
            "bin".to_owned(),
            "tools/ccec_compiler/bin".to_owned(),
            format!("{ARCH}-linux/ccec_compiler/bin"),
            "compiler/ccec_compiler/bin".to_owned(),
        ];
        let paths = folders.map(|folder| self.home.join(folder).join(name));
        paths.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
            format!(
                "the CANN toolkit `{}` has no {name} (looked for {}): install the whole toolkit, with its compiler",
                self.home.display(),
                listed(&paths)
            )
        })
    }
}

fn home(asker: Asker) -> Result<PathBuf, String> {
    asker.depends_on(format_args!("rerun-if-env-changed={VARIABLE}"));
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return match named.is_dir() {
            true => Ok(named),
            false => Err(format!(
                "{VARIABLE} is `{}`, which is not a folder: run set_env.sh of a CANN toolkit, which sets it",
                named.display()
            )),
        };
    }
    asker.depends_on("rerun-if-env-changed=HOME");
    let mut folders = FOLDERS.map(PathBuf::from).to_vec();
    if let Some(user) = env::var_os("HOME").filter(|user| !user.is_empty()) {
        folders.extend(FOLDERS_OF_HOME.map(|folder| Path::new(&user).join(folder)));
    }
    folders.iter().find(|folder| folder.is_dir()).cloned().ok_or_else(|| {
        let (major, minor) = first_version();
        format!(
            "there is no CANN toolkit: {VARIABLE} is not set, and there is no {}\n\
             help: install CANN {major}.{minor} or later and run its set_env.sh, or build without HPMOE_DEVICE=cann",
            listed(&folders),
        )
    })
}

/// The file that states a toolkit's version, and that version.
fn version(home: &Path) -> Result<(PathBuf, String), String> {
    let files = [
        (home.join(format!("{ARCH}-linux/ascend_toolkit_install.info")), "version="),
        (home.join("compiler/version.info"), "Version="),
    ];
    for (file, key) in &files {
        let Ok(text) = fs::read_to_string(file) else { continue };
        if let Some(version) = text.lines().find_map(|line| line.trim().strip_prefix(key)) {
            return Ok((file.clone(), version.trim().to_owned()));
        }
    }
    Err(format!(
        "`{}` is not a CANN toolkit for {ARCH}: none of {} says its version; run the toolkit's set_env.sh, which sets {VARIABLE} \
         to its folder",
        home.display(),
        listed(&files.map(|(file, _)| file))
    ))
}

/// The first two numbers of a version like `8.5.0`, `8.5.RC1` or `9.1.0-beta.1`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    Some((digits(parts.next()?)?, digits(parts.next()?)?))
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promised_version_is_one_that_is_taken() {
        assert!(hpmoe_kernels::CANN_VERSIONS.iter().all(|version| numbers(version) >= Some(first_version())));
        assert_eq!(first_version(), (8, 5));
    }

    #[test]
    fn versions_of_releases_and_candidates_are_read() {
        let read = ["8.5.0", "8.5.RC1", "9.1.0-beta.1", "8.3.RC2", "8.5", "next", "8"].map(numbers);
        assert_eq!(read, [Some((8, 5)), Some((8, 5)), Some((9, 1)), Some((8, 3)), Some((8, 5)), None, None]);
    }
}
