//! The files and folders that cargo watches for a build script.
//!
//! Cargo runs a script again if a watched path is newer than the script's last run, and in every build as long as a watched path is missing. A
//! file that arrives with an old time stamp, or replaces another one, changes the time stamp of its folder alone. So each input of a
//! build is watched together with its folder, whether or not the file exists.

use std::path::{Path, PathBuf};

/// Watches a file that the build reads, or would read if it existed. Returns `false` if cargo can't notice that the file arrives.
pub(crate) fn input(file: &Path) -> bool {
    let out_dir = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let watched = watched(file, out_dir.as_deref());
    for path in &watched.paths {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    watched.arrival
}

/// Watches a file that doesn't exist and whose absence fails the build. Cargo runs the script in every build until the file exists.
pub(crate) fn missing(file: &Path) {
    println!("cargo::rerun-if-changed={}", file.display());
    // If it arrives with an old time stamp, only its folder changes.
    input(file);
}

/// The paths to watch for one file.
#[derive(PartialEq, Eq, Debug, Default)]
struct Watched {
    paths: Vec<PathBuf>,
    /// Whether one of the paths changes if the file arrives or is replaced.
    arrival: bool,
}

fn watched(file: &Path, out_dir: Option<&Path>) -> Watched {
    // A file below `OUT_DIR` is written by the build script itself: it is newer than the script's last start, for ever.
    if out_dir.is_some_and(|out_dir| file.starts_with(out_dir)) {
        return Watched { arrival: true, ..Watched::default() };
    }
    let mut paths = Vec::new();
    if file.exists() {
        paths.push(file.to_path_buf());
    }
    let folder = nearest_folder(file);
    // Cargo looks at everything below a folder, and a build changes what is below `OUT_DIR`.
    let arrival = !out_dir.is_some_and(|out_dir| holds(&folder, out_dir));
    if arrival {
        paths.push(folder);
    }
    Watched { paths, arrival }
}

/// The folder of a file, or its nearest ancestor that exists.
fn nearest_folder(file: &Path) -> PathBuf {
    let mut folders = file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.find(|folder| folder.is_dir()).unwrap_or(Path::new(".")).to_path_buf()
}

fn holds(folder: &Path, out_dir: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    real(out_dir).starts_with(real(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_watched_with_its_folder_unless_the_build_writes_there() {
        let package = tempfile::tempdir().unwrap();
        let path = |name: &str| package.path().join(name);
        std::fs::create_dir_all(path("src/layers")).unwrap();
        std::fs::create_dir_all(path("target/out")).unwrap();
        std::fs::write(path("src/moe.rs"), "").unwrap();
        std::fs::write(path("moe.rs"), "").unwrap();
        let out_dir = path("target/out");
        let watched = |name: &str| watched(&path(name), Some(&out_dir));
        let both = |paths: &[&str]| Watched { paths: paths.iter().map(|name| path(name)).collect(), arrival: true };
        assert_eq!(watched("src/moe.rs"), both(&["src/moe.rs", "src"]));
        assert_eq!(watched("src/moe.tuned.toml"), both(&["src"]));
        assert_eq!(watched("src/layers/new/moe.h"), both(&["src/layers"]));
        assert_eq!(watched("target/out/moe.rs"), both(&[]));
        // Below the package's own folder lies what the build writes.
        assert_eq!(watched("moe.rs"), Watched { paths: vec![path("moe.rs")], arrival: false });
        assert_eq!(watched("moe.tuned.toml"), Watched { paths: vec![], arrival: false });
    }

    #[test]
    fn without_a_folder_of_outputs_every_folder_is_watched() {
        let watched = watched(Path::new("no-such-file.toml"), None);
        assert_eq!(watched, Watched { paths: vec![PathBuf::from(".")], arrival: true });
    }
}
