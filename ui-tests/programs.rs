//! Part of the build script: random programs, which a test runs. `HPMOE_PROGRAMS` is their number, and
//! `HPMOE_PROGRAMS_FROM` the first one.

use hpmoe_programs::{Program, SETTINGS, seeds};
use std::path::PathBuf;

/// Number of programs, unless the environment sets another.
const USUAL: u64 = 3;

/// Writes the modules, one file each, and a file with all of their tests; returns the modules' files.
pub fn write() -> Vec<PathBuf> {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (mut files, mut tests) = (Vec::new(), String::new());
    SETTINGS.iter().for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
    for seed in seeds(USUAL) {
        let Program { name, source, check } = Program::new(seed);
        let path = out_dir.join(format!("{name}.rs"));
        std::fs::write(&path, source).expect("OUT_DIR can be written");
        tests += &format!("include!(concat!(env!(\"OUT_DIR\"), \"/{name}.rs\"));\n{check}");
        tests += &format!(
            "proptest! {{\n    #![proptest_config(config(6))]\n\n    #[test]\n    \
             fn {name}_is_its_reference(case in check_{name}::cases()) {{\n        check_{name}::check(&case)?;\n    }}\n}}\n"
        );
        files.push(path);
    }
    std::fs::write(out_dir.join("programs.rs"), tests).expect("OUT_DIR can be written");
    files
}
