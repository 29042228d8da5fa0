//! The front end and rustc agree about kernels: rustc accepts every edit that the front end accepts, so that
//! `hpmoe check` gives the answer of `cargo check` without compiling. The converse does not hold: the front end refuses
//! much that is valid Rust.

use hpmoe_core::expansion::of_front;
use hpmoe_core::fixture::mutants::{Mutant, mutants};
use hpmoe_core::fixture::with_small_open_tiles;
use hpmoe_core::front::{front, modules};
use hpmoe_core::syntax::Overrides;
use hpmoe_expansion::{BuildScript, megakernel};
use quote::ToTokens as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use syn::ItemMod;

/// The edited kernels, with their names.
const KERNELS: [(&str, &str); 11] = [
    ("moe_ffn", include_str!("../../../examples/moe_ffn.rs")),
    ("moe_int8", include_str!("../../../examples/moe_int8.rs")),
    ("moe_shared", include_str!("../../../examples/moe_shared.rs")),
    ("moe_biased", include_str!("../../../examples/moe_biased.rs")),
    ("moe_backward_chunked", include_str!("../../../examples/moe_backward_chunked.rs")),
    ("moe_router", include_str!("../../../examples/moe_router.rs")),
    ("sums", include_str!("../../../ui-tests/kernels/sums.rs")),
    ("fused", include_str!("../../../ui-tests/kernels/fused.rs")),
    ("routed", include_str!("../../../ui-tests/kernels/routed.rs")),
    ("kept", include_str!("../../../ui-tests/kernels/kept.rs")),
    ("once", include_str!("../../../ui-tests/kernels/once.rs")),
];

/// Typical mistakes of users, as replacements of one text by another at a single place in a line.
const EDITS: &[(&str, &str)] = &[
    // References.
    ("&mut ", "&"),
    ("&mut ", ""),
    ("&mut ", "mut "),
    ("&mut ", "&mut &mut "),
    ("&", ""),
    ("&", "&&"),
    ("&", "&mut "),
    ("&", "*"),
    ("&", "& mut &"),
    ("(ep, ", "(&ep, "),
    ("(ep, ", "(*ep, "),
    (", route", ", &route"),
    (", route", ", *route"),
    (", route", ", &mut route"),
    (", route", ", route.clone()"),
    // Mutability and moves.
    ("let mut ", "let "),
    ("let ", "let mut "),
    ("let ", "let _"),
    ("let ", "let ref "),
    (" = ", " = &"),
    (" = ", " = *"),
    ("(x: ", "(mut x: "),
    (".load()", ""),
    (".load()", ".load().load()"),
    (".load()", ".clone()"),
    (".load()", ".load().clone()"),
    (".load()", ".load"),
    (".store(", ".store(&"),
    (".store(", ".store(*"),
    (".store(", ".store(-"),
    (".put(", ".put(&"),
    (".put(", ".store("),
    (".accumulate(", ".store("),
    // Sizes and generic arguments.
    ("::<", "::<{ 2 * 8 }, "),
    ("::<", "<"),
    ("TILE_M", "{ TILE_M }"),
    ("TILE_M", "{ 2 * TILE_M }"),
    ("TILE_N", "{ TILE_N }"),
    ("TILE_N", "TILE_M"),
    ("TILE_N", "{ 2 * TILE_N }"),
    ("HIDDEN", "INTER"),
    ("HIDDEN", "{ HIDDEN }"),
    ("HIDDEN", "HIDDEN / 2"),
    ("HIDDEN", "{ HIDDEN / 2 }"),
    ("<K>", "<{ K }>"),
    (", K>", ", { K }>"),
    (", K>", ", { 2 * K }>"),
    (", H>", ", { 2 * H }>"),
    (", N>", ", { 2 * N }>"),
    (", 1>", ", { 1 }>"),
    (", _>", ">"),
    ("_, ", ""),
    ("const K: usize", "K"),
    ("const K: usize", "K: usize"),
    ("const K: usize", "const K: u32"),
    ("const N: usize", "const n: usize"),
    ("usize", "u32"),
    ("usize", "isize"),
    ("usize", "i32"),
    ("f32", "f64"),
    ("f32", "bf16"),
    ("bf16", "f32"),
    ("bf16", "f16"),
    ("i8", "i32"),
    // Loops, indices and calls.
    (" in ep", " in &ep"),
    (" in ep", " in ep.iter()"),
    (" in route.", " in &route."),
    (" in 0..", " in 0..="),
    (" in 0..", " in 1..="),
    (" in 0..", " in &0.."),
    ("0..", "0u32.."),
    ("0..", ".."),
    ("[r]", ""),
    ("[r]", "[&r]"),
    ("[r]", "[*r]"),
    ("[r]", "[0]"),
    ("[src]", "[&src]"),
    ("[e.owner()]", "[e]"),
    ("(&s)", "(s)"),
    ("(&s)", "(&&s)"),
    ("(&s)", "(&mut s)"),
    ("(e, m)", "(&e, m)"),
    ("(e, m)", "((e, m))"),
    ("(e, m)", "(m, e)"),
    ("(e, m)", "(e, &m)"),
    ("(e)", "(&e)"),
    ("(n)", "(&n)"),
    ("(n)", "(n as u32)"),
    ("(n)", "(n + 0)"),
    (".div_ceil(", " / ("),
    (".div_ceil(", ".div_ceil(&"),
    // Punctuation, visibility and attributes.
    (";", ""),
    (";", ";;"),
    (", ", " "),
    (", ", ",, "),
    ("pub fn", "fn"),
    ("pub fn", "pub(crate) fn"),
    ("pub fn", "pub const fn"),
    ("pub fn", "pub async fn"),
    ("pub fn", "pub unsafe fn"),
    ("pub const", "const"),
    ("pub const", "pub static"),
    ("pub const", "pub let"),
    ("::*;", "::{bf16, Tile};"),
    (") {", ") -> () {"),
    (") {", ") -> usize {"),
    // Arithmetic.
    (" * ", " + "),
    (" * ", " * 2 * "),
    (" * ", " * 2.0 * "),
    (" * ", " * -"),
    (" * ", " * &"),
    (" + ", " + &"),
    (" + ", " += "),
    (" - ", " - -"),
    (" = ", " == "),
    ("1.0", "1"),
    ("1.0", "1.0f64"),
    ("1.0", "1.0f32"),
    ("1", "1u32"),
    ("1", "1i32"),
    ("2", "2_usize"),
    ("0", "0x0"),
];

/// Each kernel tries every `STEP`-th edit, and each kernel starts with a different one; `STEP=1` tries all edits.
const STEP: usize = 9;

/// The maximum number of places in a kernel at which an edit is tried.
const PLACES: usize = 3;

/// Only every `TOKENS`-th edit of a single token is tried.
const TOKENS: usize = 31;

fn step() -> usize {
    std::env::var("STEP").map_or(STEP, |step| step.parse().expect("a number"))
}

/// A kernel with an edit.
struct Edited {
    name: String,
    module: ItemMod,
}

/// Edits of a kernel: its first task with values gets an additional statement, or two statements that use a value twice.
fn moved(name: &str, source: &str) -> Vec<Edited> {
    let statements = ["let again = {};", "let a = {}; let b = {};", "let a = &{};", "let a = { {} };", "let a = ({});"];
    let lines: Vec<&str> = source.lines().collect();
    let lets = lines.iter().enumerate().filter_map(|(at, line)| {
        let (value, made) = line.trim().strip_prefix("let ")?.trim_start_matches("mut ").split_once(" = ")?;
        (made.ends_with(';') && value.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some((at, value))
    });
    let mut found = Vec::new();
    for (at, value) in lets.take(6) {
        for statement in statements {
            let mut edited = lines.clone();
            let statement = statement.replace("{}", value);
            edited.insert(at + 1, &statement);
            found.extend(parsed(format!("{name}, line {}: `{statement}` after it", at + 1), &edited.join("\n")));
        }
    }
    found
}

/// All edits of a kernel that are still Rust.
fn edits(name: &str, source: &str) -> Vec<Edited> {
    let begin = source.find("#[megakernel]").expect("it is a kernel");
    let mut found = moved(name, source);
    for (from, to) in EDITS {
        let places = source.match_indices(from).map(|(at, _)| at).filter(|at| *at > begin && !is_comment(source, *at));
        let places: Vec<usize> = places.collect();
        // Spread over the file, because it begins with constants.
        let step = places.len().div_ceil(PLACES).max(1);
        for at in places.into_iter().step_by(step) {
            let line = 1 + source[..at].matches('\n').count();
            let edited = format!("{}{to}{}", &source[..at], &source[at + from.len()..]);
            found.extend(parsed(format!("{name}, line {line}: `{from}` replaced by `{to}`"), &edited));
        }
    }
    found
}

fn is_comment(source: &str, at: usize) -> bool {
    let line = source[..at].rsplit('\n').next().unwrap_or_default();
    line.contains("//")
}

fn parsed(name: String, source: &str) -> Option<Edited> {
    Some(Edited { name, module: modules(source).ok()?.into_iter().next()? })
}

/// The code that rustc gets for a module that the front end accepts; `None` if the front end refuses it.
fn expanded(module: &ItemMod) -> Option<String> {
    let none = Overrides::new();
    let front = front(module, &none).ok()?;
    let told = of_front(module, &front, &none).write();
    let mut item = module.clone();
    item.attrs.retain(|attribute| !attribute.path().is_ident("megakernel"));
    let script = BuildScript::Built("out".into());
    let tokens = megakernel(proc_macro2::TokenStream::new(), item.to_token_stream(), &script, &|_| Some(told.clone()));
    Some(tokens.to_string())
}

/// The errors of rustc for each of these modules that it refuses. All modules are one crate. Refused modules are left
/// out of the next try, because an error in one keeps rustc from checking the others completely.
fn refused(modules: &[(String, String)]) -> BTreeMap<usize, String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = root.join("hpmoe-runtime").display().to_string();
    let manifest = format!(
        "[package]\nname = \"edited-kernels\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\nhpmoe-runtime = {{ path = {runtime:?} }}\n\
         [workspace]\n[profile.dev.package.hpmoe-kernels]\nopt-level = 3\n"
    );
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    std::fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("a file");
    for (at, (_, text)) in modules.iter().enumerate() {
        std::fs::write(folder.path().join(format!("src/k{at}.rs")), text).expect("a file");
    }
    let mut refused = BTreeMap::new();
    loop {
        let kept = (0..modules.len()).filter(|at| !refused.contains_key(at));
        let list: String = kept.map(|at| format!("mod k{at};\n")).collect();
        std::fs::write(folder.path().join("src/lib.rs"), format!("#![allow(warnings)]\n{list}")).expect("a file");
        let found = errors(folder.path(), root);
        if found.is_empty() {
            return refused;
        }
        refused.extend(found);
    }
}

/// The first error in each module of a crate, by the number of the module's file.
fn errors(folder: &Path, root: &Path) -> BTreeMap<usize, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder).args(["check", "--message-format=json", "--quiet"]).env("CARGO_TARGET_DIR", target);
    let output = cargo.output().expect("cargo runs");
    let said = String::from_utf8(output.stdout).expect("text");
    let mut found = BTreeMap::new();
    for line in said.lines() {
        let Ok(Value::Object(told)) = serde_json::from_str(line) else { continue };
        let message = told.get("message").unwrap_or(&Value::Null);
        if message["level"] != "error" {
            continue;
        }
        let places = message["spans"].as_array().into_iter().flatten();
        let numbers = places.filter_map(|place| file_number(place["file_name"].as_str()?));
        let words = message["rendered"].as_str().unwrap_or_default();
        numbers.for_each(|number| _ = found.entry(number).or_insert_with(|| words.to_owned()));
    }
    let failed = || format!("cargo fails: {}\n{said}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.success(), found.is_empty(), "{}", failed());
    found
}

fn file_number(name: &str) -> Option<usize> {
    name.strip_prefix("src/k")?.strip_suffix(".rs")?.parse().ok()
}

#[test]
#[ignore = "compiles many kernels, which takes minutes: .ci/sweep agreement"]
fn what_the_front_end_accepts_is_rust() {
    let sources = KERNELS.map(|(name, source)| (name, with_small_open_tiles(source)));
    let right = sources.iter().map(|(name, source)| parsed((*name).to_owned(), source).expect("a kernel"));
    let edited = sources
        .iter()
        .enumerate()
        .flat_map(|(at, (name, source))| edits(name, source).into_iter().skip(at % step()).step_by(step()));
    // Texts occur only in attributes, which are not part of the kernel.
    let in_kernel = |mutant: &Mutant| !mutant.name.contains('"');
    let tokens = mutants(TOKENS * step())
        .into_iter()
        .filter(in_kernel)
        .map(|mutant| Edited { name: mutant.name, module: mutant.module });
    let (mut tried, mut programs) = (0, Vec::new());
    for Edited { name, module } in right.chain(edited).chain(tokens) {
        tried += 1;
        programs.extend(expanded(&module).map(|text| (name, text)));
    }
    for (name, _) in KERNELS {
        assert!(programs.iter().any(|(edit, _)| edit == name), "the front end refuses {name} as it is");
    }
    let refused = refused(&programs);
    println!("{tried} tried, {} accepted, {} of them refused by rustc", programs.len(), refused.len());
    let list: Vec<String> = refused.iter().map(|(at, words)| format!("== {}\n{words}", programs[*at].0)).collect();
    assert!(refused.is_empty(), "{} edits that rustc refuses are accepted:\n{}", refused.len(), list.join("\n"));
    assert!(tried > 130 && programs.len() > 60, "only {tried} edits were tried, and {} accepted", programs.len());
}
