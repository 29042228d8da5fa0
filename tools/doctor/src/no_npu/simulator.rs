//! CANN's operator simulator, `msprof op simulator`: its command line and its output. All of it is described by guides; `docs/npu.md` lists
//! their pages.

use super::machine::for_toolkit;
use super::step::{Ran, descendants, run_and_look};
use hpmoe_runtime::printable::printable_path;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Chips that kernels are generated for, as prefixes of the simulator's folder names. The first existing folder is used. The first chip is
/// that of CANN's samples. Since CANN 9.0, a folder can also have the name of the architecture of these chips.
const CHIPS: [&str; 4] = ["Ascend910B1", "Ascend910B", "Ascend910_93", ARCHITECTURE];

/// The folder with the name of an architecture. `msprof` knows no chip of this name, but finds the folder by `LD_LIBRARY_PATH`.
const ARCHITECTURE: &str = "dav_2201";

/// The limit for the waits of a simulated program, in seconds: on the simulator, a launch takes minutes instead of microseconds. A program
/// that waits longer is ended by the time limit of the step.
pub(super) const LONGEST_WAIT: &str = "600";

/// Folders of a toolkit that can contain `msprof`; its `set_env.sh` adds them to `PATH`.
const PROGRAMS: [&str; 2] = ["bin", "tools/profiler/bin"];

/// Maximum length of the path of `--output` in bytes.
const LONGEST_OUTPUT: usize = 200;

/// The simulator's runtime library.
const RUNTIME: &str = "libruntime_camodel.so";
/// The simulator's driver library.
const SIMULATED_DRIVER: &str = "libnpu_drv_camodel.so";

/// The driver's library. Before CANN 9.2, `msprof` can't be loaded without it.
const DRIVER: &str = "libascend_hal.so";

/// The advice that is printed for a path with spaces.
const WITHOUT_SPACES: &str = "name another folder by --objects, or run a doctor (or --layer) whose own path has none";

/// Additional time of the step after the simulated program, in which the simulator reads its own output.
const AFTER: Duration = Duration::from_secs(300);

/// An installed simulator.
pub(super) struct Simulator {
    toolkit: PathBuf,
    msprof: PathBuf,
    pub(super) chip: String,
    /// The folder of the chip's libraries.
    libraries: PathBuf,
}

/// Libraries that were seen in the memory of the simulated program.
#[derive(Clone, Copy)]
pub(super) struct Libraries {
    /// Whether the program itself was seen.
    started: bool,
    /// Whether it had the simulator's runtime library at any time.
    runtime: bool,
    /// Whether it was the second attempt, with preloaded libraries.
    preloaded: bool,
    /// Number of calls of `look`.
    looks: u32,
}

impl Libraries {
    /// Looks for the program among the processes that `msprof` has started. `msprof` itself opens the simulator's runtime library, too.
    fn look(&mut self, msprof: u32, program: &Path) {
        // Fifty times a second at first, then twice: it reads the states of all processes.
        self.looks += 1;
        if self.runtime || (self.looks > 250 && self.looks % 25 != 0) {
            return;
        }
        for process in descendants(msprof) {
            let folder = Path::new("/proc").join(process.to_string());
            if fs::read_link(folder.join("exe")).is_ok_and(|path| path == program) {
                self.started = true;
                let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default();
                self.runtime |= maps.lines().any(|line| line.ends_with(RUNTIME));
            }
        }
    }

    /// Whether the simulator's runtime library was used: yes, no, or not known because the program was not seen.
    pub(super) fn json(self) -> Value {
        let runtime = self.started.then_some(self.runtime);
        json!({ "runtime_of_simulator": runtime, "preloaded_by_doctor": self.preloaded })
    }

    /// The sentence that the step adds if the program ran without the simulator.
    pub(super) fn said(self) -> &'static str {
        match self.started && !self.runtime {
            true => {
                "; the program ran without the simulator's libruntime_camodel.so, so calls of CANN fail (docs/npu.md)"
            }
            false => "",
        }
    }
}

/// A program to simulate.
pub(super) struct Simulated<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: Vec<OsString>,
    /// The folder for the simulator's files, which is created.
    pub(super) folder: PathBuf,
    /// The file that the program writes or appends to, which is removed first.
    pub(super) result: PathBuf,
    pub(super) minutes: u32,
}

impl Simulator {
    /// The simulator of a toolkit for the named chip, or else for a chip that kernels are generated for.
    pub(super) fn find(toolkit: &Path, chip: Option<&str>) -> Result<Self, String> {
        let inside = PROGRAMS.map(|folder| toolkit.join(folder).join("msprof"));
        let msprof = inside.into_iter().chain(in_path("msprof")).find(|path| path.is_file());
        let all = toolkit.join("tools/simulator");
        let names =
            fs::read_dir(&all).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| all.join(name).join("lib").is_dir()).collect();
        names.sort();
        let way_out = "install the whole toolkit, Ascend-cann-toolkit, or run this in one of CANN's containers";
        let Some(msprof) = msprof else {
            let folders = PROGRAMS.join(" and ");
            return Err(format!("`{}` has no msprof in {folders}: {way_out}", printable_path(toolkit)));
        };
        let first = |prefix: &&str| names.iter().find(|name| name.starts_with(prefix)).cloned();
        let found = match chip {
            Some(chip) => names.iter().find(|name| *name == chip).cloned(),
            None => CHIPS.iter().find_map(first),
        };
        let Some(chip) = found else {
            let wanted = chip.unwrap_or("Ascend910B…, Ascend910_93… or dav_2201");
            return Err(format!(
                "`{}` has no simulator of {wanted}, but {}: {way_out}, or name another chip (--chip)",
                printable_path(&all),
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            ));
        };
        let libraries = all.join(&chip).join("lib");
        Ok(Self { toolkit: toolkit.to_owned(), msprof, chip, libraries })
    }

    /// Simulates a program whose results are written to its own files, because the simulator's exit status says nothing about the program.
    ///
    /// If `msprof` has started the program without the simulator's runtime library, simulates it once more, with the simulator's libraries
    /// preloaded as the guide of its samples preloads them.
    pub(super) fn run(&self, simulated: &Simulated<'_>) -> Result<(Ran, Libraries), String> {
        let attempt = |preloaded: bool| {
            let _ = fs::remove_file(&simulated.result);
            simulated.check_paths()?;
            let command = self.command(simulated, preloaded);
            let command =
                command.map_err(|error| format!("can't write to `{}`: {error}", printable_path(&simulated.folder)))?;
            let limit = Duration::from_secs(u64::from(simulated.minutes) * 60) + AFTER;
            let program = fs::canonicalize(simulated.program).unwrap_or_else(|_| simulated.program.to_owned());
            let mut libraries = Libraries { started: false, runtime: false, preloaded, looks: 0 };
            let mut look = |msprof| libraries.look(msprof, &program);
            let ran = run_and_look(command, limit, &simulated.folder.join("log"), &mut look);
            Ok((ran, libraries))
        };
        let (ran, libraries) = attempt(false)?;
        match libraries.started && !libraries.runtime && self.preloads().iter().all(|library| library.is_file()) {
            true => attempt(true),
            false => Ok((ran, libraries)),
        }
    }

    /// The libraries that take the place of CANN's if a program is started by hand.
    fn preloads(&self) -> [PathBuf; 2] {
        [RUNTIME, SIMULATED_DRIVER].map(|name| self.libraries.join(name))
    }

    fn command(&self, simulated: &Simulated<'_>, preloaded: bool) -> io::Result<Command> {
        // No other user may write to it, or to the folder that it is in.
        let _ = fs::remove_dir_all(&simulated.folder);
        let folder = |name: &str| -> io::Result<PathBuf> {
            let path = simulated.folder.join(name);
            DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
            fs::canonicalize(path)
        };
        let (output, links) = (folder("output")?, folder("links")?);
        // For a program that was not linked with the simulator.
        symlink(self.libraries.join(RUNTIME), links.join("libruntime.so"))?;
        let mut command = Command::new(&self.msprof);
        for_toolkit(&mut command, &self.toolkit);
        command.args(["op", "simulator"]);
        if self.chip != ARCHITECTURE {
            command.arg(format!("--soc-version={}", self.chip));
        }
        command.arg(format!("--timeout={}", simulated.minutes));
        command.arg(prefixed("--output=", &output)).arg(simulated.program).args(&simulated.arguments);
        command.env("LD_LIBRARY_PATH", env::join_paths(self.search(links)).map_err(io::Error::other)?);
        if preloaded {
            // `msprof` adds its own libraries to these.
            command.env("LD_PRELOAD", env::join_paths(self.preloads()).map_err(io::Error::other)?);
        }
        // It knows device 0, and fails if other devices are made visible.
        command.env_remove("ASCEND_RT_VISIBLE_DEVICES");
        Ok(command)
    }

    /// The folders in which libraries are searched, starting with those of the simulator. Without a driver, the toolkit's empty libraries
    /// come last, as in `set_env.sh`.
    fn search(&self, links: PathBuf) -> Vec<PathBuf> {
        let before = env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty());
        let mut folders = vec![links, self.libraries.clone()];
        folders.extend(before.iter().flat_map(env::split_paths));
        folders.push(self.toolkit.join("lib64"));
        if !folders.iter().any(|folder| folder.join(DRIVER).is_file()) {
            folders.push(self.toolkit.join("devlib"));
        }
        folders
    }
}

impl Simulated<'_> {
    /// Refuses paths that the simulator does not support: it splits the program's command line at spaces, and limits the length of
    /// `--output`.
    fn check_paths(&self) -> Result<(), String> {
        let spaced = |text: &&OsStr| text.to_string_lossy().contains(char::is_whitespace);
        let paths = [self.program.as_os_str(), self.folder.as_os_str()].into_iter();
        if let Some(path) = paths.chain(self.arguments.iter().map(OsString::as_os_str)).find(spaced) {
            let shown = printable_path(Path::new(path));
            return Err(format!("CANN's simulator takes no path with spaces, such as `{shown}`: {WITHOUT_SPACES}"));
        }
        let output = self.folder.join("output");
        let bytes = output.as_os_str().len();
        if bytes > LONGEST_OUTPUT {
            let shown = printable_path(&output);
            return Err(format!(
                "`{shown}` has {bytes} bytes, but CANN's simulator takes at most {LONGEST_OUTPUT}: name a shorter folder by --objects"
            ));
        }
        Ok(())
    }
}

fn prefixed(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}

/// All paths of a program in the folders of `PATH`.
fn in_path(name: &str) -> Vec<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(name)).collect()
}

/// The simulator's output for the first kernel, core by core: the number of instructions on each pipe, and their cycles.
pub(super) fn collected(simulated: &Simulated<'_>) -> Result<Value, String> {
    let output = simulated.folder.join("output");
    let lacking = || format!("no OPPROF_*/simulator/core*/core*_instr_exe*.csv in `{}`", printable_path(&output));
    let run = folders(&output).into_iter().find(|path| begins(path, "OPPROF_")).ok_or_else(lacking)?;
    let mut cores = Map::new();
    for core in folders(&run.join("simulator")).iter().filter(|path| begins(path, "core")) {
        let name = core.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = files(core).into_iter().find(|path| path.to_string_lossy().contains("_instr_exe"));
        let Some(text) = file.and_then(|path| fs::read_to_string(path).ok()) else { continue };
        cores.insert(name, pipes(&text)?);
    }
    if cores.is_empty() { Err(lacking()) } else { Ok(Value::Object(cores)) }
}

/// Number of instructions and cycles of each pipe, read from a table of instructions.
fn pipes(table: &str) -> Result<Value, String> {
    let mut lines = table.lines();
    let head = cells(lines.next().unwrap_or_default());
    let column = |name: &str| {
        let found = head.iter().position(|cell| cell == name);
        found.ok_or_else(|| format!("the table of instructions has no column `{name}`, but {}", head.join(", ")))
    };
    let (pipe, count, cycles) = (column("pipe")?, column("call_count")?, column("cycles")?);
    let mut pipes: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for line in lines {
        let cells = cells(line);
        let number = |at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok()).unwrap_or(0.0);
        let sums = pipes.entry(cells.get(pipe).cloned().unwrap_or_default()).or_default();
        *sums = (sums.0 + number(count), sums.1 + number(cycles));
    }
    let pipes =
        pipes.into_iter().map(|(name, (count, cycles))| (name, json!({ "instructions": count, "cycles": cycles })));
    Ok(Value::Object(pipes.collect()))
}

/// The cells of a line of a table; some may be quoted.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.trim_end().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut().into_iter().for_each(|cell| cell.push(other)),
        }
    }
    cells
}

fn begins(path: &Path, with: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(with))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_instructions_are_summed_by_pipe() {
        let table = "instr,addr,pipe,call_count,cycles,running_time(us),detail\n\
                     MOV,0x10,SCALAR,2,8,0.1,\"a, b\"\nADD,0x14,SCALAR,1,4,0.1,\nMMAD,0x18,CUBE,3,90,0.2,x\n";
        let pipes = pipes(table).unwrap();
        assert_eq!(pipes["SCALAR"], json!({ "instructions": 3.0, "cycles": 12.0 }));
        assert_eq!(pipes["CUBE"]["cycles"], 90.0);
        assert!(super::pipes("instr,pipe\n").unwrap_err().contains("no column `call_count`"));
    }
}
