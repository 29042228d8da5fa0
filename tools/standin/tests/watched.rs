//! Checks that changes around a package make cargo run its build script again. Uses cargo itself, and a script that builds a kernel.

use hpmoe_standin::Toolkit;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Environment variable that makes this test process act as a build script.
const SCRIPT: &str = "HPMOE_TEST_WATCHED";
const KERNEL: &str = include_str!("../../../ui-tests/kernels/echo.rs");
const TARGET: &str = include_str!("../../../hpmoe-core/targets/ascend-a3.toml");

const MANIFEST: &str = "[package]
name = \"user\"
version = \"0.1.0\"
edition = \"2024\"
[lib]
path = \"lib.rs\"
[workspace]
";

/// Runs [`the_build_script`], counts the run, and passes the output on to cargo.
const BUILD: &str = r#"
fn main() {
    let runs = std::fs::read_to_string("runs").unwrap_or_default();
    std::fs::write("runs", runs + "x").unwrap();
    let program = std::env::var("PROGRAM").unwrap();
    let script = std::process::Command::new(program).args(["--exact", "the_build_script", "--nocapture"]).output().unwrap();
    for line in String::from_utf8(script.stdout).unwrap().lines() {
        if let Some(start) = line.find("cargo:") {
            println!("{}", &line[start..]);
        }
    }
    eprint!("{}", String::from_utf8(script.stderr).unwrap());
    if !script.status.success() {
        std::process::exit(1);
    }
}
"#;

const OPERATOR: &str = "#pragma once
#include \"zeros.h\"
#include <ops/more/types.h>
HPMOE_INLINE void sum(const hpmoe::View<bfloat16_t> &, const hpmoe::View<float> &, const hpmoe::View<float> &y) {
    Zeros(y);
}
";
const ZEROS: &str = "#pragma once
#include \"hpmoe/kernel.h\"
HPMOE_INLINE void Zeros(const hpmoe::View<float> &y) {
    using namespace hpmoe;
    Duplicate(Ub<float>(0, UB_TASKS), 0.0f, UbCount(y.rows, y.cols));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    StoreRows(y, 0, y.rows, Ub<float>(0, UB_TASKS));
}
";
const TUNED: &str = "[[tuned]]\nkernel = \"another\"\ntarget = \"far\"\nmatrix_cores = 24\nshape = { HIDDEN = 1 }\n";

/// The build script of a [`Package`].
#[test]
fn the_build_script() {
    if std::env::var_os(SCRIPT).is_some() {
        let kernels = hpmoe_build::kernels(["src/echo.rs"]);
        // A target states its own number of cores, which the variable must not contradict.
        match std::env::var_os("HPMOE_MATRIX_CORES") {
            None => kernels.target("machines/far.toml").build(),
            Some(_) => kernels.build(),
        }
    }
}

/// A package with a kernel, an operator, a target and a toolkit.
struct Package(TempDir);

impl Package {
    fn new() -> Self {
        let package = Self(tempfile::tempdir().unwrap());
        for folder in ["src", "ops/more", "ops/hpmoe", "machines"] {
            fs::create_dir_all(package.path(folder)).unwrap();
        }
        let kernel = KERNEL.replace("#[aiv_task]", "#[aiv_task(external = \"ops/sum.h\")]");
        let target = TARGET.replace("name = \"ascend-a3\"", "name = \"far\"");
        let files = [
            ("Cargo.toml", MANIFEST),
            ("build.rs", BUILD),
            ("lib.rs", ""),
            ("src/echo.rs", &kernel),
            ("ops/sum.h", OPERATOR),
            ("ops/zeros.h", ZEROS),
            ("ops/more/types.h", "// Types.\n"),
            ("machines/far.toml", &target),
        ];
        for (name, text) in files {
            fs::write(package.path(name), text).unwrap();
        }
        Toolkit::new(package.path("cann")).install().unwrap();
        package
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The default values of variables, for builds that do not set them.
    fn defaults(&self) -> [(&'static str, String); 3] {
        let path = |name: &str| self.path(name).to_str().unwrap().to_owned();
        [("ASCEND_HOME_PATH", path("cann")), ("HPMOE_DEVICE", "cann".to_owned()), ("HPMOE_OBJECTS", path("objects"))]
    }

    /// Builds with the given variables. Returns whether cargo ran the build script, and whether the build was successful.
    fn build(&self, variables: &[(&str, &str)]) -> (bool, bool) {
        let runs = || fs::read(self.path("runs")).map_or(0, |runs| runs.len());
        let before = runs();
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--offline", "--quiet"]).current_dir(self.0.path());
        for inherited in [
            "HPMOE_SET",
            "HPMOE_MATRIX_CORES",
            "HPMOE_TIME_STAMPS",
            "CXX",
            "CXXFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
        ] {
            command.env_remove(inherited);
        }
        command.env(SCRIPT, "yes").env("PROGRAM", std::env::current_exe().unwrap());
        command.envs(self.defaults()).envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert!(runs() - before <= 1, "{}", String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
        (runs() > before, output.status.success())
    }

    /// Replaces a file as `rsync` and archives do: in one step, and with its old time stamp.
    fn put(&self, name: &str, text: &str) {
        let (path, part) = (self.path(name), self.path("part"));
        fs::write(&part, text).unwrap();
        // Some inputs are programs.
        fs::set_permissions(&part, fs::Permissions::from_mode(0o755)).unwrap();
        let year = Duration::from_secs(365 * 24 * 3600);
        File::options().append(true).open(&part).unwrap().set_modified(SystemTime::now() - year).unwrap();
        fs::rename(part, path).unwrap();
    }
}

/// An input of the build.
struct Input {
    file: &'static str,
    texts: [String; 2],
    /// Whether kernels can be built without the file.
    optional: bool,
}

#[test]
#[ignore = "a minute of builds: .ci/sweep watched"]
fn every_input_that_arrives_changes_or_goes_is_noticed_whatever_its_time_stamp() {
    let package = Package::new();
    let required = |file| {
        let text = fs::read_to_string(package.path(file)).unwrap();
        Input { file, texts: [format!("{text}\n"), text], optional: false }
    };
    let optional = |file, text: &str| Input { file, texts: [format!("{text}\n"), text.to_owned()], optional: true };
    let inputs = [
        optional("src/echo.tuned.toml", TUNED),
        required("src/echo.rs"),
        required("machines/far.toml"),
        required("ops/sum.h"),
        required("ops/zeros.h"),
        required("ops/more/types.h"),
        // Found before the header of hpmoe.
        optional("ops/hpmoe/kernel.h", "#include_next <hpmoe/kernel.h>\n"),
        required("cann/bin/bisheng"),
        required("cann/bin/ld.lld"),
    ];
    assert_eq!(package.build(&[]), (true, true));
    assert_eq!(package.build(&[]), (false, true), "nothing has changed");
    for Input { file, texts: [text, other], optional } in inputs {
        let expect = |what: &str, there: bool| {
            assert!(package.build(&[]).0, "{file} {what}");
            // A build that lacks a required file looks for it each time.
            assert_eq!(package.build(&[]).0, !there && !optional, "nothing has changed after {file} {what}");
        };
        package.put(file, &text);
        expect("arrived or changed", true);
        package.put(file, &other);
        expect("changed", true);
        fs::remove_file(package.path(file)).unwrap();
        expect("went", false);
        package.put(file, &text);
        expect("came back", true);
    }
}

#[test]
#[ignore = "cargo builds a package for each variable: .ci/sweep watched"]
fn every_variable_that_decides_a_result_is_noticed() {
    let package = Package::new();
    let path = |name: &str| package.path(name).to_str().unwrap().to_owned();
    Toolkit::new(package.path("other cann")).install().unwrap();
    let cases = [
        ("HPMOE_SET", ["TOP_K=1".to_owned(), "TOP_K=2".to_owned()]),
        ("HPMOE_DEVICE", ["off".to_owned(), "cann".to_owned()]),
        ("HPMOE_MATRIX_CORES", ["1".to_owned(), "2".to_owned()]),
        ("HPMOE_TIME_STAMPS", ["off".to_owned(), "on".to_owned()]),
        ("HPMOE_OBJECTS", [path("more objects"), path("objects")]),
        ("ASCEND_HOME_PATH", [path("other cann"), path("cann")]),
        ("CXX", ["g++".to_owned(), "c++".to_owned()]),
        ("CXXFLAGS", ["-DONE=1".to_owned(), "-DONE=2".to_owned()]),
    ];
    package.build(&[]);
    for (variable, values) in &cases {
        let [one, other] = values.each_ref().map(|value| (*variable, value.as_str()));
        for (set, what) in [(Some(one), "arrived"), (Some(other), "changed"), (None, "went")] {
            let set = set.as_slice();
            let differs =
                what != "went" || package.defaults().iter().all(|(name, value)| (*name, value.as_str()) != other);
            assert_eq!(package.build(set), (differs, true), "{variable} {what}");
            assert_eq!(package.build(set), (false, true), "nothing has changed after {variable} {what}");
        }
    }
}
