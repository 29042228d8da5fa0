//! Checks generated code with the C++ compiler.

const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// The C++ compiler's messages about generated code, including warnings; empty if there are none.
pub(crate) fn said_of(cpp: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.cpp");
    std::fs::write(&path, cpp).unwrap();
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(0).host(TARGET).target(TARGET).out_dir(folder.path());
    build.include(hpmoe_kernels::INCLUDE_DIR).include(hpmoe_kernels::HOST_DIR);
    let mut command = build.get_compiler().to_command();
    let output = command.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "the C++ compiler can't be run: {said}");
    said
}
