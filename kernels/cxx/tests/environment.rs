//! Tests that a build script's environment determines how C++ is compiled, and that objects are kept.

use hpmoe_cxx::{Compiler, Effort, Settings, archive_and_link};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Variable that is set in a process that acts as a build script, to its `OUT_DIR`.
const BUILD: &str = "HPMOE_TEST_OUT_DIR";

/// A package with a C++ file and a header, and a folder that its build scripts share.
struct Package(TempDir);

impl Package {
    fn new() -> Self {
        let package = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(package.path("include")).unwrap();
        package.write("include/number.h", "inline int number() { return NUMBER; }\n");
        package.write("source.cpp", "#include \"number.h\"\nint twice() { return 2 * number(); }\n");
        package
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Makes an executable file, and returns its path.
    fn executable(&self, name: &str) -> String {
        let executable = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(self.path(name), executable).unwrap();
        self.path(name).into_os_string().into_string().unwrap()
    }

    /// Runs [`a_build_script`] in a separate process. Returns what it prints for cargo, or its message if it fails.
    fn build(&self, variables: &[(&str, &str)]) -> Result<String, String> {
        self.build_by(Command::new(std::env::current_exe().unwrap()), variables)
    }

    /// Like `build`, but in new namespaces (flags of `unshare`), after a shell command.
    fn build_apart(&self, namespaces: &str, first: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let mut command = Command::new("unshare");
        command.args([namespaces, "sh", "-c", &format!("{first} && exec \"$0\" \"$@\"")]);
        command.arg(std::env::current_exe().unwrap());
        self.build_by(command, variables)
    }

    fn build_by(&self, mut command: Command, variables: &[(&str, &str)]) -> Result<String, String> {
        command.args(["--exact", "a_build_script", "--nocapture"]).current_dir(self.0.path());
        for inherited in ["CXX", "CXXFLAGS", "HOST_CXXFLAGS", "HPMOE_OBJECTS", "HPMOE_CXX_RUNTIME"] {
            command.env_remove(inherited);
        }
        let target = target();
        command.env("TARGET", &target).env("HOST", &target).env("OPT_LEVEL", "0").env("DEBUG", "false");
        command.env(BUILD, self.path("out"));
        let output = command.envs(variables.iter().copied()).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Number of objects in a folder.
    fn objects(&self, folder: &str) -> usize {
        let entries = std::fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "o")).count()
    }
}

fn target() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = String::from_utf8(Command::new(rustc).arg("-vV").output().unwrap().stdout).unwrap();
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// Acts as the build script of a [`Package`]; does nothing unless [`BUILD`] is set.
#[test]
fn a_build_script() {
    let Some(out_dir) = std::env::var_os(BUILD).map(PathBuf::from) else { return };
    std::fs::create_dir_all(&out_dir).unwrap();
    let package = std::env::current_dir().unwrap();
    let settings = Settings { warnings: true, includes: &[&package.join("include")], macros: &[], effort: Effort::Run };
    let result = Compiler::new(&settings, &out_dir).and_then(|compiler| {
        let objects = compiler.objects(&[&package.join("source.cpp")])?;
        archive_and_link("twice", &objects, &out_dir)
    });
    result.unwrap_or_else(|problem| panic!("{problem}"));
    assert!(out_dir.join("libtwice.a").exists());
}

#[test]
fn cargo_is_told_what_is_read_of_the_environment() {
    let package = Package::new();
    let printed = package.build(&[("CXXFLAGS", "-DNUMBER=1")]).unwrap();
    for variable in ["CXX", "CXXFLAGS", "AR", "HPMOE_OBJECTS", "HPMOE_CXX_RUNTIME"] {
        let told = |line: &str| line.ends_with(&format!(":rerun-if-env-changed={variable}"));
        assert!(printed.lines().any(told), "{variable} is missing in\n{printed}");
    }
    let headers = format!("cargo::rerun-if-changed={}", package.path("include").display());
    assert!(printed.lines().any(|line| line == headers), "{printed}");
}

#[test]
fn other_flags_headers_and_sources_make_other_objects() {
    let package = Package::new();
    for flags in ["-DNUMBER=1", "-DNUMBER=2", "-DNUMBER=1"] {
        package.build(&[("CXXFLAGS", flags)]).unwrap();
    }
    assert_eq!(package.objects("out/objects"), 2);
    package.write("include/number.h", "inline int number() { return 3; }\n");
    package.build(&[]).unwrap();
    assert_eq!(package.objects("out/objects"), 3);
    package.write("source.cpp", "int twice() { return 4; }\n");
    package.build(&[]).unwrap();
    assert_eq!(package.objects("out/objects"), 4);
}

#[test]
fn objects_and_archives_are_the_same_in_any_folder() {
    let built = || {
        let package = Package::new();
        package.write("include/number.h", "#include <cstdio>\ninline void number() { std::puts(__builtin_FILE()); }\n");
        package.write("source.cpp", "#include \"number.h\"\nvoid twice() { number(); std::puts(__FILE__); }\n");
        package.build(&[]).unwrap();
        let mut objects = std::fs::read_dir(package.path("out/objects")).unwrap().map(|entry| entry.unwrap().path());
        let object = objects.find(|path| path.extension().is_some_and(|end| end == "o")).unwrap();
        let [object, archive] = [&object, &package.path("out/libtwice.a")].map(|path| std::fs::read(path).unwrap());
        let folder = package.0.path().to_str().unwrap().to_owned();
        assert!(!object.windows(folder.len()).any(|bytes| bytes == folder.as_bytes()), "the object names {folder}");
        (object, archive)
    };
    assert!(built() == built());
}

#[test]
fn what_lies_in_the_shared_folder_is_not_compiled_again() {
    let package = Package::new();
    let shared = package.path("shared").into_os_string().into_string().unwrap();
    let variables = [("CXXFLAGS", "-DNUMBER=1"), ("HPMOE_OBJECTS", shared.as_str())];
    package.build(&variables).unwrap();
    assert_eq!(package.objects("shared"), 1);
    let object = std::fs::read_dir(&shared).unwrap().next().unwrap().unwrap().path();
    let compiled = std::fs::metadata(&object).unwrap().modified().unwrap();
    std::fs::remove_dir_all(package.path("out")).unwrap();
    package.build(&variables).unwrap();
    assert_eq!(std::fs::metadata(&object).unwrap().modified().unwrap(), compiled);
    assert_eq!(package.objects("shared"), 1);
}

#[test]
fn faults_name_the_file_and_the_way_out() {
    let package = Package::new();
    let said = package.build(&[]).unwrap_err();
    let refused = format!("refused `{}`; this is a fault of hpmoe", package.path("source.cpp").display());
    assert!(said.contains(&refused) && said.contains("NUMBER"), "{said}");
    assert_eq!(package.objects("out/objects"), 0);
    let said = package.build(&[("CXX", "no-such-compiler")]).unwrap_err();
    assert!(said.contains("no-such-compiler"), "{said}");
    let said = package.build(&[("HPMOE_OBJECTS", "objects")]).unwrap_err();
    assert!(said.contains("HPMOE_OBJECTS is `objects`: name the folder of objects by an absolute path"), "{said}");
}

/// Whether users of this machine may make namespaces. Most machines allow it, containers may not.
fn has_namespaces() -> bool {
    Command::new("unshare").args(["-rmpf", "true"]).status().is_ok_and(|status| status.success())
}

#[test]
fn a_folder_without_room_is_named_instead_of_hpmoe() {
    if !has_namespaces() {
        return;
    }
    let package = Package::new();
    let large = format!("extern const char large[];\nconst char large[] = \"{}\";\n", "x".repeat(1 << 20));
    package.write("source.cpp", &large);
    for (folder, variable) in [("shared", "HPMOE_OBJECTS"), ("temporary", "TMPDIR")] {
        std::fs::create_dir(package.path(folder)).unwrap();
        let path = package.path(folder).into_os_string().into_string().unwrap();
        let mount = format!("mount -t tmpfs -o size=512k none '{path}'");
        let said = package.build_apart("-rm", &mount, &[(variable, &path)]).unwrap_err();
        let named =
            format!("there is no room for 32 MiB in `{path}` (No space left on device (os error 28)); free some");
        assert!(said.contains(&named) && said.contains(&format!("by {variable}")), "{said}");
        assert!(!said.contains("fault of hpmoe"), "{said}");
        package.build(&[(variable, &path)]).unwrap();
        std::fs::remove_dir_all(package.path("out")).unwrap();
    }
}

#[test]
fn drafts_of_processes_with_one_number_have_two_names() {
    if !has_namespaces() {
        return;
    }
    let package = Package::new();
    package.write(
        "logging",
        &format!("#!/bin/sh\necho \"$PPID $*\" >> '{}'\nexec c++ \"$@\"\n", package.path("log").display()),
    );
    let variables = [("CXX", &*package.executable("logging")), ("CXXFLAGS", "-DNUMBER=1")];
    let drafts: Vec<String> = (0..2)
        .map(|_| {
            package.build_apart("-rpf", "true", &variables).unwrap();
            let log = std::fs::read_to_string(package.path("log")).unwrap();
            let line = log.lines().find(|line| line.contains(" -c ") && line.contains(".draft")).unwrap();
            let (process, rest) = line.split_once(' ').unwrap();
            assert_eq!(process, "1", "the build script is the first process of its container");
            std::fs::remove_dir_all(package.path("out")).unwrap();
            std::fs::remove_file(package.path("log")).unwrap();
            rest.split(' ').find(|word| word.ends_with(".draft")).unwrap().to_owned()
        })
        .collect();
    assert_ne!(drafts[0], drafts[1]);
}

#[test]
fn the_standard_library_is_linked_as_the_environment_says() {
    let package = Package::new();
    // A compiler that has the shared library alone.
    package.write(
        "lacking",
        "#!/bin/sh\ncase \"$*\" in *-print-file-name=*) echo libstdc++.a;; *) exec c++ \"$@\";; esac\n",
    );
    let lacking = package.executable("lacking");
    let linked = |variables: &[(&str, &str)]| {
        let variables = [&[("CXXFLAGS", "-DNUMBER=1")], variables].concat();
        let printed = package.build(&variables)?;
        let of_library = |line: &&str| line.contains("rustc-link-lib=") && line.ends_with("stdc++");
        let lines = printed.lines().filter(of_library).map(|line| line.rsplit_once("lib=").unwrap().1.to_owned());
        Ok::<_, String>(lines.collect::<Vec<_>>())
    };
    let (shared, archive) = (["stdc++"], ["static:-bundle=stdc++"]);
    assert_eq!(linked(&[]).unwrap(), shared);
    assert_eq!(linked(&[("HPMOE_CXX_RUNTIME", "static")]).unwrap(), archive);
    assert_eq!(linked(&[("HPMOE_CXX_RUNTIME", "prefer-static")]).unwrap(), archive);
    assert_eq!(linked(&[("HPMOE_CXX_RUNTIME", "prefer-static"), ("CXX", &lacking)]).unwrap(), shared);
    let said = linked(&[("HPMOE_CXX_RUNTIME", "static"), ("CXX", &lacking)]).unwrap_err();
    assert!(said.contains("lacking` has no libstdc++.a: install it"), "{said}");
    let said = linked(&[("HPMOE_CXX_RUNTIME", "none")]).unwrap_err();
    assert!(said.contains("HPMOE_CXX_RUNTIME is `none`"), "{said}");
}

#[test]
fn a_compiler_that_compiles_nothing_is_named_instead_of_hpmoe() {
    let package = Package::new();
    package.write("broken", "#!/bin/sh\nfor word; do case $word in --version|-?version|-E|-dumpmachine) exec c++ \"$@\";; esac; done\necho 'no space left' >&2\nexit 1\n");
    let broken = package.executable("broken");
    let problem = package.build(&[("CXX", &broken)]).unwrap_err();
    assert!(problem.contains("can't compile a C++17 file of a few lines:\nno space left"), "{problem}");
    assert!(problem.contains("CXXFLAGS") && !problem.contains("fault of hpmoe"), "{problem}");
    assert_eq!(package.objects("out/objects"), 0);
}

/// A program that returns 0 if sums, quotients, products, zeros and subnormal numbers have the bits of IEEE 754.
const EXACT: &str = "
volatile float large = 1e8f, one = 1.0f, three = 3.0f, zero = 0.0f, tiny = 1e-39f, factor = 1.0000001f;
int twice() {
    float sums = 0.0f;
    for (int i = 0; i < 64; ++i) sums += i % 2 ? -large : large + one;
    float order = (large + one) - large;
    float quotient = one / three - 0x1.555556p-2f;
    float fused = factor * factor - 0x1.000004p+0f;
    float signs = one / (zero * -one);
    float nan = zero / zero;
    double constant = 0.1;
    bool right = sums == 0.0f && order == 0.0f && quotient == 0.0f && fused == 0.0f && signs < 0.0f && nan != nan && tiny + zero > 0.0f &&
                 constant != double(0.1f);
    return right ? 0 : 1;
}
";

/// Compiles [`EXACT`] with flags in a variable and runs it. Returns whether arithmetic is exact.
fn is_exact(variable: &str, flags: &str, compiler: &str) -> bool {
    let package = Package::new();
    package.write("source.cpp", EXACT);
    package.build(&[(variable, flags), ("CXX", compiler)]).unwrap();
    let mut objects = std::fs::read_dir(package.path("out/objects")).unwrap().map(|entry| entry.unwrap().path());
    let object = objects.find(|path| path.extension().is_some_and(|end| end == "o")).unwrap();
    package.write("main.cpp", "int twice();\nint main() { return twice(); }\n");
    let program = package.path("program");
    let linked = Command::new(compiler).arg(object).arg(package.path("main.cpp")).arg("-o").arg(&program).status();
    assert!(linked.unwrap().success());
    Command::new(program).status().unwrap().success()
}

#[test]
fn no_flags_of_the_environment_change_arithmetic() {
    flags_change_no_arithmetic("CXXFLAGS");
}

#[test]
fn no_flags_of_the_target_change_arithmetic() {
    flags_change_no_arithmetic(&format!("CXXFLAGS_{}", target().replace('-', "_")));
}

#[test]
fn no_flags_of_the_host_change_arithmetic() {
    flags_change_no_arithmetic("HOST_CXXFLAGS");
}

fn flags_change_no_arithmetic(variable: &str) {
    let compilers: Vec<&str> =
        ["g++", "clang++"].into_iter().filter(|name| Command::new(name).arg("--version").output().is_ok()).collect();
    assert!(!compilers.is_empty());
    for compiler in compilers {
        let fused =
            if cfg!(target_arch = "x86_64") { "-O2 -mfma -ffp-contract=fast" } else { "-O2 -ffp-contract=fast" };
        let parts = "-O2 -funsafe-math-optimizations -fassociative-math -fno-signed-zeros -ffinite-math-only -freciprocal-math -fno-trapping-math";
        let registers = if cfg!(target_arch = "x86_64") { "-O2 -mfpmath=387" } else { "-O2" };
        for flags in ["-O2", "-O2 -ffast-math", "-Ofast", fused, parts, registers] {
            assert!(is_exact(variable, flags, compiler), "{compiler}, {variable}={flags}");
        }
    }
}

/// Checks that a compiler which is a script and adds flags after all others is refused by hpmoe's headers, and that it
/// is blamed, not hpmoe.
#[test]
fn a_compiler_that_changes_arithmetic_is_named_instead_of_hpmoe() {
    let package = Package::new();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/ascendc/base.h");
    package.write("source.cpp", &format!("#include \"{header}\"\n"));
    for flag in ["-ffast-math", "-freciprocal-math", "-ffinite-math-only", "-fno-signed-zeros"] {
        package.write("adding", &format!("#!/bin/sh\nexec c++ \"$@\" {flag}\n"));
        let adding = package.executable("adding");
        let said = package.build(&[("CXX", &adding)]).unwrap_err();
        assert!(said.contains(&format!("the C++ compiler `{adding}` can't compile")), "{flag}: {said}");
        assert!(said.contains("changes the results of arithmetic") && !said.contains("fault of hpmoe"), "{said}");
    }
    package.write("adding", "#!/bin/sh\nexec c++ \"$@\" -O3\n");
    package.build(&[("CXX", &package.executable("adding"))]).unwrap();
}
