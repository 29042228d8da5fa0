//! The results of four small kernels, byte for byte: one golden per arrow of the pipeline. A changed golden is a change
//! that users see. Review it before renewing the goldens with
//! `INSTA_UPDATE=always cargo test -p hpmoe-core --test all goldens`.

use hpmoe_core::artifacts::Artifact;
use hpmoe_core::compile::back;
use hpmoe_core::emit::contract;
use hpmoe_core::fingerprint::Fingerprint;
use hpmoe_core::front::{front, modules};
use hpmoe_core::program::Program;
use hpmoe_core::schedule::Choices;
use hpmoe_core::syntax::Overrides;
use hpmoe_core::target::Target;

/// Name, file as the user names it, and source.
const KERNELS: [(&str, &str, &str); 4] = [
    ("ffn", "kernels/ffn.rs", include_str!("../../../ui-tests/kernels/ffn.rs")),
    ("echo", "kernels/echo.rs", include_str!("../../../ui-tests/kernels/echo.rs")),
    ("coarse", "kernels/coarse.rs", include_str!("../../../ui-tests/kernels/coarse.rs")),
    ("once", "kernels/once.rs", include_str!("../../../ui-tests/kernels/once.rs")),
];

fn program(name: &str, file: &str, source: &str) -> Program {
    program_with(name, file, source, false)
}

fn program_with(name: &str, file: &str, source: &str, time_stamps: bool) -> Program {
    let module = modules(source).unwrap().remove(0);
    let front = front(&module, &Overrides::new()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let artifact = Artifact::new("goldens", name, "forward", Fingerprint::default());
    back(&front.flows[0], (&Target::ascend_a3(), &Choices::default()), file, &artifact, "0", time_stamps).unwrap()
}

fn text(program: &Program, ending: &str) -> String {
    let file = program.files.iter().find(|file| file.name.ends_with(ending)).expect("a program has this file");
    String::from_utf8(file.bytes.clone()).expect("it is a text")
}

fn check(ending: &str) {
    println!(
        "a golden that should change is renewed by\n  INSTA_UPDATE=always cargo test -p hpmoe-core --test all goldens"
    );
    for (name, file, source) in KERNELS {
        let text = text(&program(name, file, source), ending);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../goldens");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{name}.{ending}"), text));
    }
}

#[test]
fn graphs() {
    check("graph.txt");
}

#[test]
fn flowcharts() {
    check("graph.mmd");
}

#[test]
fn schedules() {
    check("schedule.txt");
}

#[test]
fn numbers() {
    check("2.summary.txt");
}

#[test]
fn ascendc() {
    check("cpp");
}

#[test]
fn the_same_source_gives_the_same_bytes() {
    for (name, file, source) in KERNELS {
        let (first, second) = (program(name, file, source), program(name, file, source));
        for (a, b) in first.files.iter().zip(&second.files) {
            assert!(a.name == b.name && a.bytes == b.bytes, "{} differs from run to run", a.name);
        }
    }
}

#[test]
fn the_ascendc_compiles_without_a_warning() {
    for (name, file, source) in KERNELS {
        for time_stamps in [false, true] {
            let said = crate::support::said_of(&text(&program_with(name, file, source, time_stamps), "cpp"));
            assert!(said.is_empty(), "{name}, time stamps {time_stamps}: {said}");
        }
    }
}

#[test]
fn skeletons_of_operators_are_cpp_without_a_warning() {
    let module = modules(include_str!("../../../ui-tests/kernels/external.rs")).unwrap().remove(0);
    let front = front(&module, &Overrides::new()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let graph = front.flows[0].graph();
    let mut contracts = 0;
    for (id, task) in graph.tasks.iter() {
        let Some(contract) = contract(graph, id, "kernels/external.rs:1") else { continue };
        // A template is only checked when it is used: here, its arguments are constants.
        let arguments = task.arguments.iter().map(|(name, value)| format!("constexpr uint32_t {name} = {value};\n"));
        let arguments = format!("#include \"hpmoe/kernel.h\"\n{}", arguments.collect::<String>());
        let contract = contract.replace("template <uint32_t K> ", "").replace("#pragma once\n", &arguments);
        let said = crate::support::said_of(&contract);
        assert!(said.is_empty(), "{said}\n{contract}");
        contracts += 1;
    }
    assert_eq!(contracts, 5);
}
