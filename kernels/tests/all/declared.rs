//! Checks that the host's AscendC declares nothing that a supported version of CANN lacks. Every declaration has a line in
//! `host/versions.txt`, with a mark for each version that has it.

mod scan;

use super::model::{compiler, folder};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::Stdio;

/// The table: for each declaration, which of the supported versions have it.
fn table() -> BTreeMap<String, Vec<bool>> {
    let text = std::fs::read_to_string(folder("host").join("versions.txt")).expect("host/versions.txt");
    read(&text)
}

fn read(text: &str) -> BTreeMap<String, Vec<bool>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let head: Vec<&str> = lines.next().expect("a line of versions").split_whitespace().collect();
    assert_eq!(head, hpmoe_kernels::CANN_VERSIONS, "the versions of the table are those that are promised");
    let mut table = BTreeMap::new();
    for line in lines {
        let mut rest = line.trim_start();
        let mut marks = Vec::new();
        for _ in &head {
            let (mark, after) = rest.split_once(' ').expect("a mark for each version");
            marks.push(match mark {
                "x" => true,
                "-" => false,
                _ => panic!("a mark is x or -, in `{line}`"),
            });
            rest = after.trim_start();
        }
        assert!(table.insert(rest.trim_end().to_owned(), marks).is_none(), "`{rest}` is there twice");
    }
    table
}

/// Differences between the declarations and the table, and declarations that a version lacks.
fn faults(declared: &BTreeSet<String>, table: &BTreeMap<String, Vec<bool>>) -> Vec<String> {
    let mut faults = Vec::new();
    for declaration in declared {
        let Some(marks) = table.get(declaration) else {
            faults.push(format!(
                "`{declaration}` is not in host/versions.txt: look it up in the headers of each version (host/COMPARED.md says how), and \
                 add its line"
            ));
            continue;
        };
        let without = hpmoe_kernels::CANN_VERSIONS.iter().zip(marks).filter(|(_, has)| !**has);
        let without: Vec<&str> = without.map(|(version, _)| *version).collect();
        if !without.is_empty() {
            faults.push(format!(
                "`{declaration}` is missing in CANN {}, which refuses kernels that use it: write another call",
                without.join(", ")
            ));
        }
    }
    let everywhere = table.iter().filter(|(_, marks)| marks.iter().all(|has| *has)).map(|(declaration, _)| declaration);
    faults.extend(
        everywhere
            .filter(|declaration| !declared.contains(*declaration))
            .map(|declaration| format!("`{declaration}` of host/versions.txt is no longer declared: remove its line")),
    );
    faults
}

/// Declarations and macros of the headers that kernels see, except hpmoe's own macros, without which the device library also compiles.
fn declared() -> BTreeSet<String> {
    let mut command = compiler(None).to_command();
    command.args(["-E", "-dD", "-x", "c++", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the C++ compiler");
    child.stdin.take().expect("its input").write_all(b"#include \"kernel_operator.h\"\n").expect("its input");
    let output = child.wait_with_output().expect("the C++ compiler");
    assert!(output.status.success(), "the headers are preprocessed");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let host = folder("host").display().to_string();
    let (mut own, mut code, mut macros) = (false, String::new(), BTreeSet::new());
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(marker) => own = marker.split('"').nth(1).is_some_and(|file| file.starts_with(&host)),
            None if !own => {}
            None => match (line.strip_prefix("#define "), line.strip_prefix("#undef ")) {
                (Some(defined), _) => {
                    let name = defined.split([' ', '(']).next().unwrap_or_default();
                    macros.insert(format!("#{name}"));
                }
                (_, Some(name)) => drop(macros.remove(&format!("#{name}"))),
                _ => code.extend([line, "\n"]),
            },
        }
    }
    macros.retain(|name| !name.starts_with("#HPMOE_"));
    let mut declared = scan::declarations(&code);
    declared.append(&mut macros);
    declared
}

#[test]
fn every_declaration_is_in_all_promised_versions_of_cann() {
    let declared = declared();
    if std::env::var_os("HPMOE_LIST").is_some() {
        declared.iter().for_each(|declaration| println!("{declaration}"));
    }
    let faults = faults(&declared, &table());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_declaration_that_a_version_lacks_is_refused_with_that_version() {
    let declared = scan::declarations(
        "namespace AscendC {\n\
         template <typename T> inline void Fill(const LocalTensor<T> &dst, const InitConstValueParams<T> &params,\n\
             host::Where where = host::Where::here()) { host::fill(place(dst), params.repeatTimes < 3 ? 1 : 2, where); }\n\
         struct FixpipeConfig { CO2Layout format; constexpr FixpipeConfig(CO2Layout layout) : format(layout) {} };\n\
         namespace host { void hidden(int); }\n\
         inline int64_t GetBlockIdx() { return 0; }\n\
         inline int64_t Invented(const uint64_t mask[], uint64_t &kept, const float &scale, bool on = false);\n\
         }",
    );
    let faults = faults(
        &declared,
        &read(
            "8.5.0 9.0.0 9.0.1 9.1 9.2\n- x x x x Fill<T>(LocalTensor<T>, InitConstValueParams<T>)\n\
        - - - x x FixpipeConfig(CO2Layout)\nx x x x x FixpipeConfig\nx x x x x FixpipeConfig.format: CO2Layout\n\
        x x x x x GetBlockIdx()\nx x x x x GetBlockNum()\n",
        ),
    );
    let expected = [
        "`Fill<T>(LocalTensor<T>, InitConstValueParams<T>)` is missing in CANN 8.5.0, which",
        "`FixpipeConfig(CO2Layout)` is missing in CANN 8.5.0, 9.0.0, 9.0.1, which",
        "`Invented(const uint64_t[], uint64_t &, float, bool = false)` is not in host/versions.txt: ",
        "`GetBlockNum()` of host/versions.txt is no longer declared",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}");
    }
}

#[test]
fn documents_promise_the_versions_of_the_table() {
    let versions = hpmoe_kernels::CANN_VERSIONS;
    let (last, others) = versions.split_last().expect("a version");
    let listed = format!("CANN {} or {last}", others.join(", "));
    let page = |name: &str| {
        let text = std::fs::read_to_string(folder("..").join(name)).expect("a page");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (name, times) in [("README.md", 3), ("docs/npu.md", 1)] {
        assert_eq!(page(name).matches(&listed).count(), times, "`{listed}` in {name}");
    }
    // The page's table has a row for each version.
    let npu = std::fs::read_to_string(folder("../docs/npu.md")).expect("a page");
    let rows = npu
        .split("## Versions of CANN")
        .nth(1)
        .expect("a section of versions")
        .lines()
        .skip_while(|line| !line.starts_with('|'));
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).skip(2).collect();
    let first: Vec<&str> = rows.iter().filter_map(|row| row.split('|').nth(1)).map(str::trim).collect();
    assert_eq!(first, versions);
}
