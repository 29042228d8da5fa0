//! A stand-in for the CANN toolkit, for tests and for people without hardware.
//!
//! It is a folder with the same layout as the toolkit. Its programs take exactly the command lines that `hpmoe-build` issues, and make
//! objects with the contract of device objects. The code in these objects is that of the host's AscendC. Nothing in `hpmoe-build` depends
//! on the stand-in: it is found in the same way as CANN, by `ASCEND_HOME_PATH`.
//!
//! ```no_run
//! hpmoe_standin::Toolkit::new("target/cann").install().unwrap();
//! ```

#![forbid(unsafe_code)]

use std::env::consts::ARCH;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Names and texts of the toolkit's programs.
const PROGRAMS: [(&str, &str); 3] = [
    ("bisheng", include_str!("../toolkit/bisheng")),
    ("ld.lld", include_str!("../toolkit/ld.lld")),
    ("msprof", include_str!("../toolkit/msprof")),
];
/// Chips of the operator simulator.
const SIMULATORS: [&str; 2] = ["Ascend310P3", "Ascend910B1"];
/// Its runtime library and its driver, which do nothing here.
const SIMULATOR_LIBRARIES: [&str; 2] = ["libruntime_camodel.so", "libnpu_drv_camodel.so"];

/// The libraries that the stand-in implements.
const LIBRARIES: [&str; 3] = ["libacl_rt.so", "libascendcl.so", "libshmem.so"];
/// Libraries of CANN that are empty in the stand-in: collective communication, the operator compiler, graphs, channels.
const OTHER_LIBRARIES: [&str; 5] =
    ["libhccl.so", "libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so"];
/// Libraries in `devlib`, which do nothing. Programs are linked with them on machines without a driver.
const EMPTY_LIBRARIES: [&str; 2] = ["libascend_hal.so", "libacl_rt.so"];
/// Empty folders whose existence programs check.
const FOLDERS: [&str; 3] = ["opp", "runtime", "compiler"];

/// `e_machine` of objects for NPUs, their `e_flags` for Ascend A2 and A3, and `e_type` of linked and unlinked objects.
const NPU: u16 = 0x1029;
const A2_AND_A3: u32 = 0x94_0000;
const EXECUTABLE: u16 = 2;
const RELOCATABLE: u16 = 1;

/// A fault of the toolkit, for tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The compiler refuses the first line of the generated file that contains this text.
    Refuses(&'static str),
    /// Objects have no code for these cores, `aic` or `aiv`.
    Lacks(&'static str),
    /// Objects have this kernel type.
    KernelType(u32),
    /// Objects have this ratio of matrix to vector cores.
    Ratio(u16, u16),
    /// One half of each kernel, `aic` or `aiv`, is empty: that half has no symbol, and the other half has the kernel type of such a kernel.
    Empty(&'static str),
    /// Kernels are for cores of one kind, with this kernel type: objects have one section, and no symbols of halves.
    Alone(u32),
    /// Objects have this `e_machine`.
    Machine(u16),
    /// Objects have these `e_flags`.
    Chip(u32),
    /// The linker leaves objects unlinked.
    Unlinked,
    /// There is no linker.
    NoLinker,
    /// There is no operator simulator.
    NoSimulator,
}

/// A stand-in toolkit in a folder.
#[derive(Clone, Debug)]
pub struct Toolkit {
    folder: PathBuf,
    version: String,
    fault: Option<Fault>,
}

impl Toolkit {
    /// A toolkit of version CANN 9.1.0.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), version: "9.1.0".to_owned(), fault: None }
    }

    /// Sets the version that the toolkit reports.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// Adds a fault to the toolkit.
    #[must_use]
    pub const fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The folder, which is the value for `ASCEND_HOME_PATH`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes all files of the toolkit.
    ///
    /// # Errors
    ///
    /// If a file can't be written.
    pub fn install(&self) -> io::Result<()> {
        for (name, text) in PROGRAMS {
            let lacking = match self.fault {
                Some(Fault::NoLinker) => "ld.lld",
                Some(Fault::NoSimulator) => "msprof",
                _ => "",
            };
            if name != lacking {
                self.write(&format!("bin/{name}"), text, 0o755)?;
            }
        }
        let info = format!("package_name=Ascend-cann-toolkit\nversion={}\narch={ARCH}\n", self.version);
        self.write(&format!("{ARCH}-linux/ascend_toolkit_install.info"), &info, 0o644)?;
        self.write("standin.conf", &self.settings(hash_of(Path::new(hpmoe_kernels::HOST_DIR))?), 0o644)?;
        let libraries = self.folder.join("lib64");
        fs::create_dir_all(&libraries)?;
        for library in LIBRARIES {
            fs::copy(format!("{}/{library}", env!("OUT_DIR")), libraries.join(library))?;
        }
        for chip in SIMULATORS {
            let folder = self.folder.join(format!("tools/simulator/{chip}/lib"));
            fs::create_dir_all(&folder)?;
            for library in SIMULATOR_LIBRARIES {
                fs::copy(concat!(env!("OUT_DIR"), "/libother.so"), folder.join(library))?;
            }
        }
        for other in OTHER_LIBRARIES {
            fs::copy(concat!(env!("OUT_DIR"), "/libother.so"), libraries.join(other))?;
        }
        let empty = self.folder.join("devlib");
        fs::create_dir_all(&empty)?;
        for library in EMPTY_LIBRARIES {
            fs::copy(concat!(env!("OUT_DIR"), "/libother.so"), empty.join(library))?;
        }
        FOLDERS.iter().try_for_each(|folder| fs::create_dir_all(self.folder.join(folder)))
    }

    /// The shell variables that the programs read. `contents` differs for different implementations of AscendC.
    fn settings(&self, contents: u64) -> String {
        let (mut refuses, mut lacks, mut kind, mut ratio) = ("", "", 4, String::new());
        let (mut machine, mut chip, mut linked) = (NPU, A2_AND_A3, EXECUTABLE);
        match self.fault {
            Some(Fault::Alone(wrong)) => (lacks, kind) = ("both", wrong),
            Some(Fault::Empty("aic")) => (lacks, kind) = ("aic", 7),
            Some(Fault::Empty(half)) => (lacks, kind) = (half, 6),
            Some(Fault::Machine(wrong)) => machine = wrong,
            Some(Fault::Chip(wrong)) => chip = wrong,
            Some(Fault::Unlinked) => linked = RELOCATABLE,
            Some(Fault::Refuses(text)) => refuses = text,
            Some(Fault::Lacks(half)) => lacks = half,
            Some(Fault::KernelType(wrong)) => kind = wrong,
            Some(Fault::Ratio(aic, aiv)) => ratio = format!("{aic} {aiv}"),
            Some(Fault::NoLinker | Fault::NoSimulator) | None => {}
        }
        let settings = [
            ("version", self.version.as_str()),
            ("cxx", env!("HPMOE_STANDIN_CXX")),
            ("include", hpmoe_kernels::INCLUDE_DIR),
            ("host", hpmoe_kernels::HOST_DIR),
            ("archive", concat!(env!("OUT_DIR"), "/libhpmoe_host.a")),
            ("refuses", refuses),
            ("lacks", lacks),
            ("type", &kind.to_string()),
            ("ratio", &ratio),
            // Fields of an object's ELF header, whose bytes are written as printf's escapes.
            ("elf_type", &escaped(&linked.to_le_bytes())),
            ("elf_machine", &escaped(&machine.to_le_bytes())),
            ("elf_flags", &escaped(&chip.to_le_bytes())),
            // Another implementation of AscendC makes other objects.
            ("contents", &format!("{contents:016x}")),
            // Part of the version that the programs print, because a faulty toolkit makes other objects.
            ("fault", &self.fault.map(|fault| format!("{fault:?}")).unwrap_or_default()),
        ];
        settings.map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', r"'\''"))).concat()
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> io::Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
    }
}

/// Bytes as escape sequences for the shell's `printf`.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
}

/// A hash of all files in a folder and its subfolders.
fn hash_of(folder: &Path) -> io::Result<u64> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    let mut hash = DefaultHasher::new();
    for path in paths {
        match path.is_dir() {
            true => hash_of(&path)?.hash(&mut hash),
            false => fs::read(&path)?.hash(&mut hash),
        }
    }
    Ok(hash.finish())
}
