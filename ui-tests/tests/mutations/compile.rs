//! From sources to libraries: one per kernel, with all mutations that can be chosen at run time, or with a single
//! mutation.

use crate::choices::Choices;
use crate::kernels::ALL;
use crate::pieces::cut;
use crate::sites::Site;
use crate::source::Source;
use std::collections::BTreeSet;
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

/// Whether a file is part of a kernel.
pub fn is_part(source: &Source, kernel: usize) -> bool {
    if source.generated() {
        return source.name == format!("{}.cpp", ALL[kernel].name);
    }
    match source.name.as_str() {
        "stamps.h" => ALL[kernel].compiled.tables().time_stamps,
        name => !name.starts_with("routing/") || ALL[kernel].text.contains("routing/kernel.h"),
    }
}

/// Writes the changed files into an existing folder; for unchanged kernels, only generated files.
pub fn write(sources: &[Source], site: Option<&Site>, folder: &Path) {
    for (number, source) in sources.iter().enumerate() {
        let edits = site.into_iter().flat_map(|site| &site.edits).filter(|(of, ..)| *of == number);
        let edits: Vec<_> = edits.map(|(_, range, with)| (range.clone(), with.clone())).collect();
        if source.generated() || !edits.is_empty() {
            put(folder, source, &source.changed(edits.into_iter()));
        }
    }
}

fn put(folder: &Path, source: &Source, text: &str) {
    let path = if source.generated() { folder.join(&source.name) } else { folder.join("hpmoe").join(&source.name) };
    std::fs::create_dir_all(path.parent().expect("a file of a folder")).expect("a folder for sources");
    let text = if source.generated() { cut(text) } else { text.to_owned() };
    std::fs::write(path, text).expect("a file of the mutant");
}

/// A kernel's library.
pub struct Built {
    pub library: PathBuf,
    /// A hash of its contents: equal for equal code, whatever the folder.
    pub bytes: Vec<u8>,
}

/// The header that comes before all others if mutations are chosen at run time.
const CHOICES: &str = "choices.h";

/// Writes some of the sources into a folder, with the mutations that can be chosen.
pub fn write_choices(
    sources: &[Source],
    choices: &Choices,
    apart: &BTreeSet<usize>,
    asked: impl Fn(&Source) -> bool,
    folder: &Path,
) {
    for (number, source) in sources.iter().enumerate().filter(|(_, source)| asked(source)) {
        put(folder, source, &choices.text(number, source, apart));
    }
    std::fs::write(folder.join(CHOICES), choices.header()).expect("a file of choices");
}

/// Compiles one kernel with all mutations that can be chosen at run time. Returns those that can't be chosen.
pub fn compile_choices(
    sources: &[Source],
    choices: &Choices,
    kernel: usize,
    folder: &Path,
) -> Result<(Built, BTreeSet<usize>), String> {
    let mut apart = choices.overlapping.clone();
    loop {
        write_choices(sources, choices, &apart, |source| is_part(source, kernel), folder);
        match compile(folder, ALL[kernel].name, &["-include", CHOICES]) {
            Ok(built) => return Ok((built, apart)),
            Err(text) => {
                let places = complaints(&text).into_iter().filter_map(|(file, line)| {
                    let name = file.strip_prefix("hpmoe/").unwrap_or(&file);
                    Some((sources.iter().position(|source| source.name == name)?, line))
                });
                let places: Vec<(usize, usize)> = places.collect();
                let known = apart.len();
                apart.extend(places.iter().flat_map(|&(number, line)| choices.at_line(number, &sources[number], line)));
                if apart.len() == known {
                    apart.extend(places.iter().flat_map(|&(at, line)| choices.of_constants(sources, at, line)));
                }
                if apart.len() == known {
                    return Err(format!("{}, with mutations to be chosen: {text}", ALL[kernel].name));
                }
            }
        }
    }
}

/// Files and lines of a compiler's errors; for an expression that is not constant, the line of its declaration.
fn complaints(text: &str) -> Vec<(String, usize)> {
    let (mut all, mut told_by_use) = (Vec::new(), false);
    for line in text.lines() {
        let mut parts = line.splitn(4, ':');
        let (Some(file), Some(number), Some(_), Some(words)) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let Ok(number) = number.parse() else { continue };
        let place = (file.trim_start_matches("./").to_owned(), number);
        if words.starts_with(" error:") {
            all.push(place);
            told_by_use = true;
        } else if words.contains("was not initialized with a constant expression") {
            if std::mem::take(&mut told_by_use) {
                all.pop();
            }
            all.push(place);
        }
    }
    all
}

/// Compiles one kernel. Calls of AscendC stay undefined: the process that loads the library has them.
pub fn compile(folder: &Path, kernel: &str, more: &[&str]) -> Result<Built, String> {
    let name = format!("{kernel}.so");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let prefix = format!("-ffile-prefix-map={}=.", hpmoe_kernels::INCLUDE_DIR);
    // Changed headers come first. `-Bsymbolic` is needed because the process has unchanged routines of the same names.
    let output = Command::new(&compiler)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-w", "-Wno-narrowing"])
        .args(["-DHPMOE_INLINE=inline", prefix.as_str(), "-fdiagnostics-color=never", "-fno-diagnostics-show-caret"])
        .args(["-I", ".", "-I", hpmoe_kernels::INCLUDE_DIR, "-I", hpmoe_kernels::HOST_DIR])
        .args(["-I", env!("CARGO_MANIFEST_DIR")])
        .args(more)
        .args([&format!("{kernel}.cpp"), "-o", &name])
        .output()
        .map_err(|error| format!("can't start `{compiler}`: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let library = folder.join(name);
    let bytes = std::fs::read(&library).map_err(|error| format!("can't read `{}`: {error}", library.display()))?;
    Ok(Built { library, bytes })
}
