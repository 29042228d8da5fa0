//! From a mutation to libraries: one for each kernel.

use crate::kernels::ALL;
use crate::sites::Site;
use crate::source::Source;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Headers of the device library that these kernels include, then the generated files in the order of [`ALL`].
pub fn sources() -> Vec<Source> {
    let folder = Path::new(hpmoe_kernels::INCLUDE_DIR).join("hpmoe");
    let headers = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("the device library's headers");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a header").path()).collect();
        paths.retain(|path| path.is_file());
        paths.sort();
        paths
    };
    let paths = [headers(&folder), headers(&folder.join("routing"))].concat();
    let header = |path: PathBuf| {
        let name = path.strip_prefix(&folder).expect("a file of the folder").to_string_lossy().into_owned();
        Source::new(name, std::fs::read_to_string(&path).expect("a header"))
    };
    let generated = ALL.iter().map(|kernel| Source::new(format!("{}.cpp", kernel.name), kernel.text.to_owned()));
    paths.into_iter().map(header).chain(generated).collect()
}

/// Writes what is changed into a folder, which must exist; nothing, for kernels as they are.
pub fn write(sources: &[Source], site: Option<&Site>, folder: &Path) {
    std::fs::create_dir_all(folder.join("hpmoe/routing")).expect("a folder for headers");
    for (number, source) in sources.iter().enumerate() {
        let edits = site.into_iter().flat_map(|site| &site.edits).filter(|(of, ..)| *of == number);
        let edits: Vec<_> = edits.map(|(_, range, with)| (range.clone(), with.clone())).collect();
        let generated = source.name.ends_with(".cpp");
        if generated || !edits.is_empty() {
            let path = if generated { folder.join(&source.name) } else { folder.join("hpmoe").join(&source.name) };
            std::fs::write(path, source.changed(edits.into_iter())).expect("a file of the mutant");
        }
    }
}

/// A kernel's library.
pub struct Built {
    pub library: PathBuf,
    /// What is in it: the same for the same code, whatever the folder.
    pub bytes: Vec<u8>,
}

/// Compiles one kernel. Calls of AscendC stay open: the process that loads the library has them.
pub fn compile(folder: &Path, kernel: &str) -> Result<Built, String> {
    let library = folder.join(format!("{kernel}.so"));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    // Changed headers come first. `-Bsymbolic`: the process has unchanged routines of the same names.
    let output = Command::new(&compiler)
        .args(
            [folder, Path::new(hpmoe_kernels::INCLUDE_DIR)]
                .map(|from| format!("-ffile-prefix-map={}=.", from.display())),
        )
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-w", "-I"])
        .arg(folder)
        .args(["-I", hpmoe_kernels::INCLUDE_DIR, "-I", hpmoe_kernels::HOST_DIR, "-I", env!("CARGO_MANIFEST_DIR")])
        .arg(folder.join(format!("{kernel}.cpp")))
        .arg("-o")
        .arg(&library)
        .output()
        .map_err(|error| format!("can't start `{compiler}`: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let bytes = std::fs::read(&library).map_err(|error| format!("can't read `{}`: {error}", library.display()))?;
    Ok(Built { library, bytes })
}
