//! Builds for NPUs, with the stand-in for CANN's programs.

use hpmoe_build::Device;
use hpmoe_standin::{Fault, Toolkit};
use libloading::Library;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Environment variable that makes this test process act as a build script; the value says whether the script names the device itself.
const BUILD: &str = "HPMOE_TEST_BUILD_SCRIPT";
const KERNEL: &str = include_str!("../../../ui-tests/kernels/echo.rs");

/// A package with a kernel and a toolkit.
struct Package(TempDir);

/// The output of a build for cargo, or its error.
type Said = Result<String, String>;

impl Package {
    fn new() -> Self {
        let package = Self(tempfile::tempdir().unwrap());
        fs::write(package.path("echo.rs"), KERNEL).unwrap();
        package.toolkit().install().unwrap();
        package
    }

    fn with(fault: Fault) -> Self {
        let package = Self::new();
        fs::remove_dir_all(package.path("cann")).unwrap();
        package.toolkit().fault(fault).install().unwrap();
        package
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn toolkit(&self) -> Toolkit {
        Toolkit::new(self.path("cann"))
    }

    /// A build for the device.
    fn build(&self) -> Said {
        self.build_with(&[("HPMOE_DEVICE", "cann")])
    }

    /// Runs [`a_build_script`] in a separate process.
    fn build_with(&self, variables: &[(&str, &str)]) -> Said {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_build_script", "--nocapture"]).current_dir(self.0.path());
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        command.env("TARGET", &target).env("HOST", &target).env("CARGO_PKG_NAME", "user");
        command.env("OUT_DIR", self.path("out")).env(BUILD, "as the environment says");
        command.env("ASCEND_HOME_PATH", self.path("cann"));
        command.env_remove("HPMOE_DEVICE").env_remove("HPMOE_SET").env("HOME", self.0.path());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text =
            |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&self.0.path().display().to_string(), "…");
        if !output.status.success() {
            return Err(text(output.stderr));
        }
        let printed = text(output.stdout);
        // Errors that cargo prints for a build script.
        let errors: Vec<&str> =
            printed.lines().filter_map(|line| line.split_once("cargo::error=")).map(|(_, error)| error).collect();
        match errors.is_empty() {
            true => Ok(printed),
            false => Err(format!("error: {}", errors.join("\n"))),
        }
    }

    /// The kernel's generated file with the given ending, if there is exactly one. The list of the package's kernels does not count.
    fn made(&self, ending: &str) -> Option<PathBuf> {
        let mut files = self.files("out/hpmoe", ending);
        files.retain(|path| !path.ends_with("exports.rs"));
        (files.len() == 1).then(|| files.remove(0))
    }

    /// The text of the file that [`Self::made`] finds.
    fn text(&self, ending: &str) -> String {
        fs::read_to_string(self.made(ending).unwrap_or_else(|| panic!("there is no file {ending}"))).unwrap()
    }

    fn files(&self, folder: &str, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.to_str().is_some_and(|path| path.ends_with(ending))).collect()
    }

    /// The device objects of a package that keeps its own objects.
    fn device_objects(&self) -> Vec<PathBuf> {
        self.files("objects", ".aicore.o")
    }
}

/// The build script of a [`Package`]. Does nothing in other processes.
#[test]
fn a_build_script() {
    let Ok(named) = std::env::var(BUILD) else { return };
    let kernels = hpmoe_build::kernels(["echo.rs"]).matrix_cores(3);
    match named.as_str() {
        "for cann" => kernels.device(Device::Cann).build(),
        _ => kernels.build(),
    }
}

#[test]
fn both_halves_are_compiled_once_and_embedded() {
    let package = Package::new();
    let own = package.path("objects");
    let name = "package-whose-kernels-take-more-than-a-line";
    let variables = [("HPMOE_DEVICE", "cann"), ("HPMOE_OBJECTS", own.to_str().unwrap()), ("CARGO_PKG_NAME", name)];
    let build = || package.build_with(&variables);
    let printed = build().unwrap();
    for told in ["rerun-if-env-changed=HPMOE_DEVICE", "rerun-if-env-changed=ASCEND_HOME_PATH", "…/cann/bin/bisheng"] {
        assert!(printed.contains(told), "{told} is missing in\n{printed}");
    }
    assert!(package.made(".fault").is_none(), "{}", package.text(".fault"));
    assert_eq!(package.text(".device"), "CANN 9.1.0, dav-2201\n");
    let object = package.made(".device.o").unwrap();
    let stem = object.file_name().unwrap().to_str().unwrap().strip_suffix(".device.o").unwrap();
    let symbol = format!("hpmoe5_{}_{stem}", name.replace('-', "_"));
    assert!(package.text(".cpp").contains(&format!("void {symbol}(\n    GM_ADDR launch) {{")));
    let bytes = fs::read(&object).unwrap();
    // e_type, e_machine and e_flags: no loader of this machine takes it.
    assert_eq!((&bytes[16..20], &bytes[48..52]), (&[2, 0, 0x29, 0x10][..], &[0, 0, 0x94, 0][..]));
    // SAFETY: nothing is loaded.
    assert!(unsafe { Library::new(&object) }.is_err());
    let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    for half in ["_mix_aic", "_mix_aiv"] {
        assert!(has(&format!("{symbol}{half}\0")), "{symbol}{half}");
    }
    let made = |paths: &[PathBuf]| fs::metadata(&paths[0]).unwrap().modified().unwrap();
    let first = made(&package.device_objects());
    build().unwrap();
    assert_eq!((made(&package.device_objects()), package.device_objects().len()), (first, 1));
    // Another version of the compiler makes another object.
    package.toolkit().version("9.2.0").install().unwrap();
    build().unwrap();
    assert_eq!(package.device_objects().len(), 2);
    assert_eq!(package.text(".device"), "CANN 9.2.0, dav-2201\n");
}

#[test]
fn a_build_without_the_device_is_as_if_there_were_none() {
    let package = Package::new();
    let printed = package.build_with(&[("ASCEND_HOME_PATH", "/no/such/folder")]).unwrap();
    assert!(!printed.contains("ASCEND_HOME_PATH") && package.made(".device").is_none());
    let tables = package.text(".rs");
    // The build script can name the device, and the environment can switch it off.
    package.build_with(&[(BUILD, "for cann"), ("HPMOE_DEVICE", "off")]).unwrap();
    assert!(package.made(".device").is_none());
    package.build_with(&[(BUILD, "for cann")]).unwrap();
    assert!(package.made(".device").is_some());
    assert_eq!(package.text(".rs"), tables);
    // A build without a device ignores the objects that an earlier build made for one.
    package.build_with(&[]).unwrap();
    assert!(package.made(".device").is_none());
    let said = package.build_with(&[("HPMOE_DEVICE", "npu")]).unwrap_err();
    assert!(
        said.contains(
            "HPMOE_DEVICE is `npu`, but should be `cann`, to compile kernels for Ascend NPUs as well, or `off`,"
        ),
        "{said}"
    );
}

#[test]
fn a_toolkit_that_is_missing_or_too_old_is_told_in_one_message() {
    let package = Package::new();
    let refused = |variables: &[(&str, &str)]| {
        package.build_with(&[&[("HPMOE_DEVICE", "cann")], variables].concat()).unwrap_err()
    };
    let said = refused(&[("ASCEND_HOME_PATH", "/no/such/folder")]);
    assert_eq!(
        said.trim_end(),
        "error: ASCEND_HOME_PATH is `/no/such/folder`, which is not a folder: run set_env.sh of a CANN toolkit, which sets it"
    );
    if ["/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest"]
        .iter()
        .all(|path| !Path::new(path).exists())
    {
        let said = refused(&[("ASCEND_HOME_PATH", "")]);
        assert!(
            said.starts_with("error: there is no CANN toolkit: ASCEND_HOME_PATH is not set, and there is no "),
            "{said}"
        );
        assert!(said.contains("`…/Ascend/cann`") && said.contains("install CANN 8.5 or later"), "{said}");
    }
    fs::create_dir(package.path("empty")).unwrap();
    let empty = package.path("empty");
    let said = refused(&[("ASCEND_HOME_PATH", empty.to_str().unwrap())]);
    assert!(said.starts_with("error: `…/empty` is not a CANN toolkit for "), "{said}");
    package.toolkit().version("8.3.RC2").install().unwrap();
    assert_eq!(
        refused(&[]).trim_end(),
        "error: `…/cann` is CANN 8.3.RC2, and kernels need 8.5 or later: install one and run its set_env.sh, or build without \
         HPMOE_DEVICE=cann"
    );
    package.toolkit().version("latest").install().unwrap();
    assert!(refused(&[]).contains("says that its version is `latest`, which doesn't begin with two numbers like 8.5"));
    // A toolkit in a default folder of the user is found.
    Toolkit::new(package.path("Ascend/cann")).version("8.5.0").install().unwrap();
    if !Path::new("/usr/local/Ascend").exists() {
        package.build_with(&[("HPMOE_DEVICE", "cann"), ("ASCEND_HOME_PATH", "")]).unwrap();
        assert_eq!(package.text(".device"), "CANN 8.5.0, dav-2201\n");
    }
}

#[test]
fn a_toolkit_without_a_linker_is_told() {
    let said = Package::with(Fault::NoLinker).build().unwrap_err();
    assert!(
        said.starts_with(
            "error: the CANN toolkit `…/cann` has no ld.lld (looked for `…/cann/bin/ld.lld`, `…/cann/tools/ccec_compiler/bin/ld.lld`, "
        ),
        "{said}"
    );
}

#[test]
fn an_error_of_the_compiler_is_at_the_users_line() {
    // The only operation of the task `sum`.
    let package = Package::with(Fault::Refuses("// weighted_sum"));
    let own = package.path("objects");
    let line = 1 + KERNEL.lines().position(|line| line.contains(".weighted_sum(")).unwrap();
    package.build_with(&[("HPMOE_DEVICE", "cann"), ("HPMOE_OBJECTS", own.to_str().unwrap())]).unwrap();
    let fault = package.text(".fault");
    let first = fault.lines().next().unwrap();
    assert_eq!(
        first,
        format!("CANN's compiler refused the kernel at `echo.rs:{line}`: the stand-in was told to refuse this line")
    );
    assert!(fault.contains("/cann/bin/bisheng` of line ") && fault.contains("(CANN 9.1.0, `"), "{fault}");
    assert!(fault.contains("help: ") && fault.contains("HPMOE_DEVICE=off"), "{fault}");
    assert!(package.made(".device").is_none() && package.device_objects().is_empty());
    // Nothing of the failed attempt stays.
    assert!(package.files("objects", "draft").is_empty() && package.files("objects", "part.o").is_empty());
}

#[test]
fn an_object_that_breaks_the_contract_is_refused() {
    let cases = [
        (Fault::Lacks("aiv"), "it has no code for vector cores, `hpmoe5_user_echo_forward_"),
        (Fault::Lacks("aic"), "it has no code for matrix cores, `hpmoe5_user_echo_forward_"),
        (Fault::Empty("aiv"), "its half for vector cores is empty (`.ascend.meta.hpmoe5_user_echo_forward_"),
        (Fault::Empty("aic"), "CANN's compiler has found no code for matrix cores in `hpmoe5_user_echo_forward_"),
        (
            Fault::KernelType(5),
            "has kernel type 5, both kinds of core counted by vector cores instead of kernel type 4, both kinds of core (CANN",
        ),
        (Fault::Alone(2), "has kernel type 2, matrix cores alone instead of kernel type 4, both kinds of core (CANN"),
        (
            Fault::Machine(62),
            "its e_machine is 0x3e instead of 0x1029, an Ascend NPU: it is an object for another machine",
        ),
        (
            Fault::Chip(0x99_0000),
            "its e_flags are 0x990000, Ascend 950, instead of 0x940000, both kinds of core of Ascend A2 and A3",
        ),
        (Fault::Unlinked, "it is not linked, and CANN's runtime library loads linked objects only"),
        (Fault::Ratio(1, 1), "has a ratio of 1 matrix to 1 vector cores instead of 1 to 2"),
    ];
    for (fault, said) in cases {
        let package = Package::with(fault);
        package.build().unwrap();
        let text = package.text(".fault");
        let start = "CANN compiled the kernel of `echo.rs` to an object that can't be launched: ";
        assert!(text.starts_with(start) && text.contains(said), "{text}");
        assert!(package.made(".device").is_none());
    }
}

#[test]
fn no_other_command_line_is_taken() {
    let package = Package::new();
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(package.path("cann/bin").join(program)).args(words).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (done, said) = run("bisheng", &["-x", "asc", "--npu-arch=dav-2201", "-c", "k.cpp", "-o", "k.o"]);
    assert!(!done && said.contains("7 words instead of 24"), "{said}");
    let (done, said) = run("ld.lld", &["-m", "aicorelinux", "-Ttext=0", "k.part.o", "-shared", "-o", "k.o"]);
    assert!(!done && said.contains("instead of -m aicorelinux -Ttext=0 k.part.o -shared -o k.o"), "{said}");
}

/// An operator for the task `sum`, and the header that it includes.
const OPERATOR: &str = "#pragma once
#include \"zeros.h\"
HPMOE_INLINE void sum(const hpmoe::View<bfloat16_t> &, const hpmoe::View<float> &, const hpmoe::View<float> &y) {
    Zeros(y);
}
";
const ZEROS: &str = "#include \"hpmoe/kernel.h\"
HPMOE_INLINE void Zeros(const hpmoe::View<float> &y) {
    using namespace hpmoe;
    Duplicate(Ub<float>(0, UB_TASKS), 0.0f, UbCount(y.rows, y.cols));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    StoreRows(y, 0, y.rows, Ub<float>(0, UB_TASKS));
}
";

/// A package whose task `sum` has an operator, which is declared with the given additional arguments.
fn with_operator(declared: &str) -> Package {
    let package = Package::new();
    let attribute = format!("#[aiv_task(external = \"ops/sum.h\"{declared})]");
    fs::write(package.path("echo.rs"), KERNEL.replace("#[aiv_task]", &attribute)).unwrap();
    fs::create_dir(package.path("ops")).unwrap();
    fs::write(package.path("ops/sum.h"), OPERATOR).unwrap();
    fs::write(package.path("ops/zeros.h"), ZEROS).unwrap();
    package
}

#[test]
fn operators_are_built_for_both_machines_and_again_when_a_file_of_theirs_changes() {
    let package = with_operator("");
    let printed = package.build().unwrap();
    for told in ["rerun-if-changed=ops/sum.h", "rerun-if-changed=ops/zeros.h"] {
        assert!(printed.contains(told), "{told} is missing in\n{printed}");
    }
    assert!(package.made(".fault").is_none(), "{}", package.text(".fault"));
    let first = package.made(".device.o").unwrap();
    assert!(fs::read_to_string(first.with_extension("").with_extension("cpp")).unwrap().contains("::sum(slots,"));
    fs::write(package.path("ops/zeros.h"), ZEROS.replace("0.0f", "0.5f")).unwrap();
    package.build().unwrap();
    let objects = package.files("out/hpmoe", ".device.o");
    assert_eq!(objects.len(), 2, "another file makes another kernel");
}

#[test]
fn an_operator_for_devices_is_not_given_to_the_host() {
    let package = with_operator(", device_only");
    // A header that only the device's compiler accepts.
    fs::write(package.path("ops/zeros.h"), format!("#ifndef __NPU_ARCH__\n#error \"for devices\"\n#endif\n{ZEROS}"))
        .unwrap();
    package.build_with(&[]).unwrap();
    assert!(package.made(".fault").is_none(), "{}", package.text(".fault"));
    let host: Vec<PathBuf> = package.files("out/hpmoe", ".cpp");
    let (device, host): (Vec<_>, Vec<_>) =
        host.iter().partition(|path| path.to_str().unwrap().ends_with(".device.cpp"));
    let text = |paths: &[&PathBuf]| fs::read_to_string(paths[0]).unwrap();
    assert!(!text(&host).contains("ops/sum.h") && text(&host).contains("WeightedSum("), "{}", text(&host));
    assert!(text(&device).contains("#include \"ops/sum.h\""), "{}", text(&device));
    // The device build compiles the header. Here the host's compiler does so and refuses it: the fault is the operator's.
    package.build().unwrap();
    let fault = package.text(".fault");
    assert!(
        fault.starts_with("@sum\n`ops/sum.h`, the file of the external operator `sum` of `sum`")
            && fault.contains("for devices"),
        "{fault}"
    );
    fs::write(package.path("ops/zeros.h"), ZEROS).unwrap();
    package.build().unwrap();
    assert!(package.made(".fault").is_none() && package.made(".device").is_some());
}

#[test]
fn what_is_wrong_with_an_operator_is_told_at_its_task() {
    let package = with_operator("");
    let fault = |operator: &str| {
        fs::write(package.path("ops/sum.h"), operator).unwrap();
        package.build_with(&[]).unwrap();
        let fault = package.text(".fault");
        assert!(fault.starts_with("@sum\n") && fault.contains(" [HP20]") && fault.contains("\nhelp: "), "{fault}");
        fault
    };
    let declared = "HPMOE_INLINE void sum(const hpmoe::View<bfloat16_t> &slots, const hpmoe::View<float> &weights, const \
        hpmoe::View<float> &y)";
    for (operator, problem) in [
        (
            OPERATOR.replace("hpmoe::View<bfloat16_t> &,", "hpmoe::View<float> &,"),
            "doesn't take the task's arguments: ",
        ),
        (OPERATOR.replace("const hpmoe::View<float> &, ", ""), "doesn't take the task's arguments: "),
        (OPERATOR.replace("void sum(", "void total("), "has no such function: "),
        (OPERATOR.replace("Zeros(y)", "Ones(y)"), "does not compile: "),
        (OPERATOR.replace("zeros.h", "nothing.h"), "does not compile: "),
    ] {
        let fault = fault(&operator);
        let first = fault.lines().nth(1).unwrap();
        assert!(first.contains("`ops/sum.h`, the file of the external operator `sum` of `sum`"), "{fault}");
        assert!(first.contains(problem) && fault.contains(declared), "{problem}: {fault}");
    }
    fs::remove_file(package.path("ops/sum.h")).unwrap();
    package.build_with(&[]).unwrap();
    let fault = package.text(".fault");
    assert!(
        fault.starts_with("@sum\ncan't read `ops/sum.h`, the file of the external operator of `sum`: No such"),
        "{fault}"
    );
}
