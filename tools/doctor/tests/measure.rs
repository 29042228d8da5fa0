//! Measures constants of a machine with the stand-in for CANN. Simulations and builds accept the file, which says that its times are
//! meaningless.

use hpmoe_core::target::{Provenance, Target};
use hpmoe_standin::Toolkit;
use std::path::Path;
use std::process::{Command, Output};

fn measure(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let toolkit = Toolkit::new(folder.join("cann"));
    toolkit.install().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hpmoe-doctor"));
    command
        .args(["--tries", "8", "--limit", "5", "--measure", "--hbm-mib", "2", "--objects"])
        .arg(folder.join("objects"));
    command.arg("--out").arg(folder.join("machine.toml")).args(arguments).envs(variables.iter().copied());
    command.env("ASCEND_HOME_PATH", toolkit.folder()).env("HPMOE_STANDIN_CORES", "2");
    command.output().unwrap()
}

/// The constants that are measured on one NPU, and those of links.
const OWN: [&str; 12] = [
    "cores.aic",
    "cores.aiv",
    "vector.bytes_per_cycle",
    "memory.gm_ub_bytes_per_cycle",
    "memory.hbm_gb_per_s",
    "memory.hbm_bytes_per_cycle_core",
    "memory.l2_read_bytes_per_cycle_core",
    "fitted.gemm_fused_efficiency",
    "launch.kernel_us",
    "sync.counter_visible_ns",
    "sync.wait_ns",
    "sync.signal_ns",
];
const LINKS: [&str; 5] = [
    "launch.rank_sync_us",
    "link.same_package_gb_per_s",
    "link.same_package_ns",
    "link.put_gb_per_s_per_aiv",
    "sync.fence_remote_ns",
];

/// The constants that were measured, according to the file.
fn timed(target: &Target) -> Vec<String> {
    let own = target.constants().iter().filter(|constant| constant.comment.starts_with("assumed, meaningless: "));
    own.map(|constant| format!("{}.{}", constant.section, constant.key)).collect()
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names
}

/// Environment variable that makes this test process act as a build script; the value is the folder of the target file.
const BUILD: &str = "HPMOE_TEST_BUILD_SCRIPT";

/// The build script for [`build`], which runs in a separate process.
#[test]
fn a_build_script() {
    let Some(folder) = std::env::var_os(BUILD) else { return };
    std::env::set_current_dir(folder).unwrap();
    hpmoe_build::kernels(["echo.rs"]).target("machine.toml").build();
}

/// Builds a kernel for the machine whose target file is in a folder. Returns the text of the kernel's tables.
fn build(folder: &Path) -> String {
    std::fs::write(folder.join("echo.rs"), include_str!("../../../ui-tests/kernels/echo.rs")).unwrap();
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_build_script", "--nocapture"]).env(BUILD, folder).env("OUT_DIR", folder.join("out"));
    command.env("TARGET", &host).env("HOST", &host).env("CARGO_PKG_NAME", "user").env_remove("HPMOE_SET");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = std::fs::read_dir(folder.join("out/hpmoe")).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    tables.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn a_machine_is_what_was_timed_and_the_rest_of_its_base() {
    let folder = tempfile::tempdir().unwrap();
    for (ranks, expected) in [("--ranks", OWN.to_vec()), ("--processes", [&OWN[..], &LINKS].concat())] {
        let count = if ranks == "--ranks" { "1" } else { "2" };
        let output = measure(folder.path(), &[ranks, count], &[]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(folder.path().join("machine.toml")).unwrap();
        let target = Target::read(&text).unwrap_or_else(|faults| panic!("{faults:?}: {text}"));
        assert!(target.unfit_for_kernels().is_empty(), "{text}");
        let mut found = timed(&target);
        found.sort();
        assert_eq!(found, sorted(&expected), "{text}");
        assert_eq!((target.name.as_str(), target.cores.aic, target.cores.aiv), ("stand-in", 2, 4));
        assert!(text.contains("the times mean nothing") && said.contains("the times mean nothing"), "{text}{said}");
        // Constants that were not timed keep their values and their provenance.
        let base = Target::ascend_a3();
        let is_untimed = |name: &str| !found.iter().any(|timed| timed == name);
        for constant in base.constants().iter().filter(|it| is_untimed(&format!("{}.{}", it.section, it.key))) {
            let here = target.constants().iter().find(|it| (it.section, it.key) == (constant.section, constant.key));
            let (section, key) = (constant.section, constant.key);
            assert_eq!(here.map(|here| here.provenance), Some(constant.provenance), "{section}.{key}");
            assert_eq!(target.get(section, key), base.get(section, key), "{section}.{key}");
        }
        assert!(target.constants().iter().any(|constant| constant.provenance == Provenance::Assumed));
        assert_eq!(said.contains("links need a second rank"), count == "1", "{said}");
        if count == "2" {
            let tables = build(folder.path());
            assert!(tables.replace(' ', "").contains("aic:2u32,aiv:4u32"), "{tables}");
        }
    }
}

#[test]
fn nothing_is_timed_on_npus_that_break_an_assumption_or_for_a_base_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], variables: &[(&str, &str)], why: &str| {
        let output = measure(folder.path(), arguments, variables);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
        assert!(!folder.path().join("machine.toml").exists());
    };
    refused(&[], &[("HPMOE_STANDIN_BREAK", "adds")], "nothing was timed: `adds` does not hold");
    refused(&["--target", "nowhere.toml"], &[], "target `nowhere.toml` is neither built in (ascend-a3) nor a file");
}
