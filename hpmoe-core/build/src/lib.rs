//! hpmoe for build scripts: schedules the kernels of the named files, writes their AscendC and tables, compiles the AscendC and links it.
//!
//! A `build.rs` is one line:
//!
//! ```no_run
//! hpmoe_build::kernels(["src/moe.rs"]).build();
//! ```
//!
//! Faults of a kernel don't end the script, and neither do files that are not valid Rust: rustc shows both at their place in the source.
//! All other problems end the script, such as a missing tool, a file that can't be read, faults of a target file, and a constant that no
//! kernel declares.
//!
//! Constants of the kernels can be set for a build, and kernels can be made for another machine:
//!
//! ```no_run
//! let router = hpmoe_build::kernels(["src/router.rs"]).matrix_cores(4);
//! hpmoe_build::kernels(["src/moe.rs"]).set("HIDDEN", 4096).target("machine.toml").and(router).build();
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `HPMOE_SET` | constants of this build, `HPMOE_SET="HIDDEN=96,EXPERTS=12"`, or of one kernel, `rms::HIDDEN=32`; wins over [`Kernels::set`] |
//! | `HPMOE_DEVICE` | `cann` compiles kernels for Ascend NPUs as well, `off` for this machine's CPU only; wins over [`Kernels::device`] |
//! | `HPMOE_MATRIX_CORES` | matrix cores of the dies that kernels are scheduled for; wins over [`Kernels::matrix_cores`] |
//! | `HPMOE_TIME_STAMPS` | `on` makes kernels keep time stamps of their tiles, `off` does not; wins over [`Kernels::time_stamps`] |
//! | `ASCEND_HOME_PATH` | the CANN toolkit, unless [`Kernels::toolkit`] names one |
//! | `CXX` | the C++ compiler of the host run |
//! | `HPMOE_OBJECTS` | a folder of compiled objects that several builds share |
//!
//! A file `moe.tuned.toml` next to a kernel's source holds the schedules that `hpmoe tune` has found. A build uses the one for its
//! constants and its target. If the build sets other tile sizes than those that the schedule was found with, it uses the default schedule,
//! and a warning says so.
//!
//! Cargo runs the script again when an input of the build arrives, changes or goes: a kernel, its `.tuned.toml`, a target, an operator or a
//! file that it includes. It does so even if the file has an old time stamp, because the folders of these files are watched too. Cargo
//! compares only time stamps. If an archive or `rsync --archive` restores the time stamps of both file and folder, cargo notices nothing;
//! `touch build.rs` then builds again.

#![forbid(unsafe_code)]

mod cann;
mod compiler_output;
mod cxx;
mod device;
mod expansions;
mod exports;
mod files;
mod module;
mod operators;
mod refused_operator;
mod sources;
mod target;
#[cfg(test)]
mod tests;
mod tile_sizes;
mod time_stamps;
mod tuned;
mod units;
mod watch;

use hpmoe_core::artifacts;
use hpmoe_core::schedule::MAX_RANKS;
use hpmoe_core::sizes::Expected;
use hpmoe_core::syntax::{Constant, Overrides};
use hpmoe_expansion::expansion::{BUILT, FOLDER};
use hpmoe_kernels::printable::printable_lines;
use module::Build;
use sources::{KernelGroup, Sources, read_sources, refuse_settings};
use std::path::{Path, PathBuf};
use target::Machine;
use units::{Built, DeviceBuild, Unit};

pub use cann::{DeviceKernel, DeviceObject, InstalledToolkit, device_kernels, device_object, installed_toolkit};
pub use device::Device;
pub use module::settings_of;
pub use target::{fit_for_kernels, read_target};
pub use tuned::{Kept, ReplacedConstant, TunedBuild, kept_for, read_tuned, tuned_file, with_tuned};

/// Names the source files that hold `#[megakernel]` modules, relative to the package.
pub fn kernels<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Kernels {
    Kernels {
        files: files.into_iter().map(Into::into).collect(),
        settings: Overrides::new(),
        machine: Machine::default(),
        expected: Expected::default(),
        ranks: Vec::new(),
        device: None,
        toolkit: None,
        time_stamps: false,
        allow_slow_tile_sizes: false,
        others: Vec::new(),
    }
}

/// Kernels of a package that are built with the same settings, and kernels that [`and`](Kernels::and) adds with their own settings.
#[derive(Clone, Debug)]
#[must_use = "kernels are built by `.build()`"]
pub struct Kernels {
    files: Vec<PathBuf>,
    settings: Overrides,
    machine: Machine,
    expected: Expected,
    /// Numbers of ranks that the build script names.
    ranks: Vec<u32>,
    device: Option<Device>,
    toolkit: Option<PathBuf>,
    time_stamps: bool,
    allow_slow_tile_sizes: bool,
    /// Kernels of the same build with other settings.
    others: Vec<Self>,
}

impl Kernels {
    /// Sets a constant (`usize` or `f32`) for this build, in each of these kernels that declares it; at least one must. With a kernel's
    /// name in front (`rms::HIDDEN`), sets it in that kernel only. A constant that a kernel computes from others can't be set, except for
    /// `SPARE` and `CHUNKS_AT_MOST`. Kernels that [`and`](Self::and) adds keep their own settings.
    pub fn set(mut self, name: &str, value: impl Into<Constant>) -> Self {
        self.settings.insert(name.to_owned(), value.into());
        self
    }

    /// Adds kernels that have other build settings, for instance another number of cores. Each kernel keeps its own
    /// settings; `HPMOE_SET` still sets constants of all kernels.
    ///
    /// ```no_run
    /// let small = hpmoe_build::kernels(["src/router.rs"]).matrix_cores(4);
    /// hpmoe_build::kernels(["src/moe.rs"]).and(small).build();
    /// ```
    pub fn and(mut self, others: Self) -> Self {
        self.others.push(others);
        self
    }

    /// Schedules the kernels for dies with `count` matrix cores, from 1 to 512, and twice as many vector cores. The default is 24 matrix
    /// cores and 48 vector cores. The environment variable `HPMOE_MATRIX_CORES` overrides this setting for all kernels.
    pub fn matrix_cores(mut self, count: u32) -> Self {
        self.machine.matrix_cores = Some(count);
        self
    }

    /// Schedules the kernels for the machine that `file` describes (core counts and costs) instead of the built-in
    /// `ascend-a3`. The build uses the schedules that `hpmoe tune --target FILE` has stored under the target's name.
    ///
    /// The path is relative to the package, like the paths of kernels. The file states the number of cores, so calling
    /// `matrix_cores` with a different number is an error.
    pub fn target(mut self, file: impl Into<PathBuf>) -> Self {
        self.machine.file = Some(file.into());
        self
    }

    /// Adds a number of ranks, from 1 to 256, that the kernels can run on. They also run on every number in this range that divides their
    /// experts. With a number that does not divide them, some places for experts stay empty.
    ///
    /// Open tile sizes (`pub const TILE_N: usize = _;`), the roles of cores, the bands and rotation of tiles, and the phases whose experts
    /// share descriptors are chosen for the number that was added first. If none is added, they are chosen for the largest number up to eight
    /// that divides the experts.
    ///
    /// ```no_run
    /// // 288 experts on 20 ranks.
    /// hpmoe_build::kernels(["src/moe.rs"]).ranks(20).build();
    /// ```
    pub fn ranks(mut self, count: u32) -> Self {
        self.ranks.push(count);
        self
    }

    /// Gives each rank `places` spare places for experts beyond its share. A [`Placement`](hpmoe_kernels::Placement)
    /// can put copies of experts there. This sets the constant `SPARE`; `HPMOE_SET` can set it too.
    ///
    /// ```no_run
    /// hpmoe_build::kernels(["src/moe.rs"]).spare(1).build();
    /// ```
    pub fn spare(self, places: usize) -> Self {
        self.set("SPARE", places)
    }

    /// Lets each launch choose the number of chunks: the smallest of 1, 2, 4 and 8, up to `count`, with which every rank has room for the
    /// rows of each chunk ([`Group::capacity_rows`](https://docs.rs/hpmoe-runtime)). `count` must be 1, 2, 4 or 8, and a kernel must have a
    /// loop over `route.chunks::<N>()`. The number in that loop then applies to the reference only; if chunks add to experts' matrices, it
    /// must be `count`. A kernel that makes its route also chooses the number of chunks itself, and can have at most 2,048 experts times
    /// `count`. This method sets the constant `CHUNKS_AT_MOST`, which a kernel can also declare itself and `HPMOE_SET` can set. With
    /// `CHUNKS_AT_MOST` = 0, launches use the number in the loop.
    ///
    /// ```no_run
    /// hpmoe_build::kernels(["src/moe.rs"]).chunks_at_most(8).build();
    /// ```
    pub fn chunks_at_most(self, count: usize) -> Self {
        self.set("CHUNKS_AT_MOST", count)
    }

    /// Sets the number of tokens per rank that open tile sizes are chosen for, from 1 to `TOKENS`, the maximum that the kernel accepts and
    /// the default. Use this if most launches have fewer tokens.
    ///
    /// ```no_run
    /// // Decoding on 32 ranks, with occasional prompts of up to `TOKENS`.
    /// hpmoe_build::kernels(["src/moe.rs"]).ranks(32).tokens(64).build();
    /// ```
    pub fn tokens(mut self, count: usize) -> Self {
        self.expected.tokens = Some(count);
        self
    }

    /// Compiles the kernels for `device` in addition to this machine's CPU, so that one program can run on either. The
    /// environment variable `HPMOE_DEVICE` (`cann` or `off`) overrides this setting for all kernels.
    ///
    /// The compiler belongs to the CANN toolkit that [`toolkit`](Self::toolkit) or `ASCEND_HOME_PATH` names, or else to one in a default
    /// folder.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Uses the CANN toolkit in this folder instead of the one that `ASCEND_HOME_PATH` names.
    pub fn toolkit(mut self, folder: impl Into<PathBuf>) -> Self {
        self.toolkit = Some(folder.into());
        self
    }

    /// Makes each core record time stamps of the tiles it runs, for `Report::trace` of a launch. Otherwise the
    /// generated code contains nothing for time stamps. The environment variable `HPMOE_TIME_STAMPS` (`on` or `off`)
    /// overrides this setting for all kernels.
    pub const fn time_stamps(mut self) -> Self {
        self.time_stamps = true;
        self
    }

    /// Turns off the warning about slow tile sizes for these kernels. The build otherwise warns once per kernel if its
    /// fixed sizes are estimated to cost more than a tenth of its latency, and suggests better ones. Use this for
    /// kernels whose tiles are small on purpose, for instance in tests.
    ///
    /// ```no_run
    /// hpmoe_build::kernels(["tests/small.rs"]).allow_slow_tile_sizes().build();
    /// ```
    pub const fn allow_slow_tile_sizes(mut self) -> Self {
        self.allow_slow_tile_sizes = true;
        self
    }

    /// Builds all kernels. Call it from `build.rs`.
    ///
    /// rustc reports faults of a kernel at their place in the kernel. The build script itself fails only for other problems, such as a
    /// missing tool or file, an impossible setting, or a constant that no kernel declares.
    pub fn build(self) {
        if let Err(problem) = self.try_build() {
            fail(&printable_lines(&problem));
        }
    }

    fn try_build(self) -> Result<(), String> {
        let out_dir = PathBuf::from(variable("OUT_DIR")?);
        let root = std::env::current_dir().map_err(|error| format!("can't determine the package's folder: {error}"))?;
        let package = variable("CARGO_PKG_NAME")?;
        println!("cargo::rerun-if-env-changed=HPMOE_SET");
        println!("cargo::rerun-if-env-changed=HPMOE_DEVICE");
        println!("cargo::rerun-if-env-changed=HPMOE_MATRIX_CORES");
        println!("cargo::rerun-if-env-changed=HPMOE_TIME_STAMPS");
        let environment = artifacts::parse_settings(&std::env::var("HPMOE_SET").unwrap_or_default())?;
        let cores = target::named_cores(std::env::var("HPMOE_MATRIX_CORES").ok().as_deref())?;
        let (parts, complete) = self.into_parts(cores)?;
        // A file that is not valid Rust may declare the constants.
        if complete {
            refuse_settings(&parts, &environment)?;
        }
        let folder = out_dir.join(FOLDER);
        files::forget(&folder)?;
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let (named_device, named_stamps) = (variable("HPMOE_DEVICE"), variable("HPMOE_TIME_STAMPS"));
        let mut built = Built::default();
        for part in parts {
            let KernelGroup { settings, target, expected, ranks, tune, device, toolkit, sources, .. } = part;
            let settings = settings.into_iter().chain(environment.clone()).collect();
            let device = device::chosen(device, named_device.as_deref())?;
            let device = device.map(|device| DeviceBuild { device, toolkit });
            let time_stamps = time_stamps::chosen(part.time_stamps, named_stamps.as_deref())?;
            let allow_slow_tile_sizes = part.allow_slow_tile_sizes;
            let (package, folder, root) = (package.clone(), folder.clone(), root.clone());
            let build = Build {
                settings,
                target,
                expected,
                ranks,
                tune,
                device,
                time_stamps,
                allow_slow_tile_sizes,
                package,
                folder,
                root,
            };
            for source in &sources {
                let Built { units, faulty, modules, warnings } = build.module(source)?;
                warnings.iter().for_each(|warning| println!("cargo::warning={warning}"));
                built.units.extend(units);
                built.faulty.extend(faulty);
                built.modules.extend(modules);
            }
        }
        built.units = distinct(built.units);
        compile(&built.units, &folder)?;
        exports::write(&built, &folder)?;
        expansions::write(built.modules, &folder)?;
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-env={BUILT}=yes");
        Ok(())
    }

    /// Reads these kernels and those added by `and`. The `bool` says whether all files are valid Rust.
    fn into_parts(self, cores: Option<u32>) -> Result<(Vec<KernelGroup>, bool), String> {
        let Self {
            files,
            settings,
            machine,
            expected,
            ranks,
            device,
            toolkit,
            time_stamps,
            allow_slow_tile_sizes,
            others,
        } = self;
        let machine = Machine { matrix_cores: cores.or(machine.matrix_cores), ..machine };
        let (target, tune) = (machine.target()?, machine.options());
        if let Some(ranks) = ranks.iter().find(|&ranks| !(1..=MAX_RANKS).contains(ranks)) {
            return Err(format!("`.ranks({ranks})`: a kernel can be launched on 1 to {MAX_RANKS} ranks"));
        }
        let expected = Expected { ranks: ranks.first().copied(), ..expected };
        let Sources { modules: sources, mut complete } = read_sources(&files)?;
        let part = KernelGroup {
            settings,
            target,
            expected,
            ranks,
            tune,
            device,
            toolkit,
            time_stamps,
            allow_slow_tile_sizes,
            sources,
        };
        let mut parts = vec![part];
        for other in others {
            let (other, of_other) = other.into_parts(cores)?;
            parts.extend(other);
            complete &= of_other;
        }
        Ok((parts, complete))
    }
}

/// The maximum number of lines of a problem for which `fail` makes every line an error of cargo's, which starts with the package's name.
const SHORT: usize = 3;

/// Ends the build. Cargo shows a short problem as errors; for a longer one, such as a compiler's, it shows all output of the script.
fn fail(problem: &str) {
    if problem.lines().count() > SHORT {
        eprintln!("error: {problem}");
        std::process::exit(1);
    }
    problem.lines().for_each(|line| println!("cargo::error={line}"));
}

/// Removes duplicates: one module in two files is one kernel. It is built for the device if it is in one of the files.
fn distinct(mut units: Vec<Unit>) -> Vec<Unit> {
    units.sort_by(|a, b| (&a.artifact.symbol, a.device.is_none()).cmp(&(&b.artifact.symbol, b.device.is_none())));
    units.dedup_by(|a, b| a.artifact.symbol == b.artifact.symbol);
    units
}

fn compile(units: &[Unit], folder: &Path) -> Result<(), String> {
    cxx::compile(units, folder)?;
    let for_cann = |unit: &&Unit| unit.device.as_ref().is_some_and(|build| build.device == Device::Cann);
    let toolkit = |unit: &Unit| unit.device.as_ref().and_then(|build| build.toolkit.clone());
    let mut for_toolkits: Vec<(Option<PathBuf>, Vec<&Unit>)> = Vec::new();
    for unit in units.iter().filter(for_cann) {
        match for_toolkits.iter_mut().find(|(known, _)| *known == toolkit(unit)) {
            Some((_, units)) => units.push(unit),
            None => for_toolkits.push((toolkit(unit), vec![unit])),
        }
    }
    for_toolkits.iter().try_for_each(|(toolkit, units)| cann::compile(units, toolkit.as_deref(), folder))
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: call this from a build script"))
}
