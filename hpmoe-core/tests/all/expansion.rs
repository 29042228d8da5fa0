//! The expansion of `#[megakernel]`, with and without a build script's output.

use crate::example::EXAMPLE;
use hpmoe_core::artifacts::{Artifact, Fault};
use hpmoe_core::expansion::{TaskflowToTell, of_faults, of_front};
use hpmoe_core::front::{front, modules};
use hpmoe_core::syntax::Overrides;
use hpmoe_expansion::expansion::{Expansion, FOLDER, file, latest_file};
use hpmoe_expansion::tokens::SourceTokens;
use hpmoe_expansion::{BuildScript, megakernel};
use proc_macro2::TokenStream;
use quote::ToTokens as _;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use syn::ItemMod;

/// Expands the example, given the `files` of a build script.
fn expand(source: &str, out_dir: Option<&str>, files: &HashMap<PathBuf, String>) -> String {
    let read = |path: &Path| files.get(path).cloned();
    megakernel(
        TokenStream::new(),
        module(source).into_token_stream(),
        &BuildScript::new(out_dir.map(PathBuf::from), true),
        &read,
    )
    .to_string()
}

#[test]
fn what_an_earlier_run_left_is_not_taken_if_the_last_run_built_no_kernels() {
    let files = built(&EXAMPLE, &Overrides::new());
    let read = |path: &Path| files.get(path).cloned();
    let script = BuildScript::new(Some("out".into()), false);
    let text = megakernel(TokenStream::new(), module(&EXAMPLE).into_token_stream(), &script, &read).to_string();
    assert!(text.contains("was not built: the build script builds no kernels [HP17]"), "{text}");
}

fn module(source: &str) -> ItemMod {
    modules(source).unwrap().remove(0)
}

fn built(source: &str, overrides: &Overrides) -> HashMap<PathBuf, String> {
    built_with(source, overrides, |_| {})
}

/// The files that a build script writes for the example with these constants; `edit` changes the data for the macro.
fn built_with(source: &str, overrides: &Overrides, edit: impl FnOnce(&mut Expansion)) -> HashMap<PathBuf, String> {
    let module = module(source);
    let mut expansion = match front(&module, overrides) {
        Ok(front) => {
            let mut expansion = of_front(&module, &front, overrides);
            expansion.taskflows = taskflows(&module, overrides).into_iter().map(|taskflow| taskflow.built).collect();
            expansion
        }
        Err(faults) => of_faults(&module, &faults),
    };
    edit(&mut expansion);
    let folder = Path::new("out").join(FOLDER);
    HashMap::from([
        (folder.join(file(&module)), expansion.write()),
        (folder.join(latest_file(&module)), "src/moe.rs".into()),
    ])
}

fn taskflows(module: &ItemMod, overrides: &Overrides) -> Vec<TaskflowToTell> {
    let (front, source) = (front(module, overrides).unwrap(), SourceTokens::new(module));
    let graphs = front.flows.iter().map(|checked| checked.graph());
    let artifact = |flow: &str| Artifact::new("my-layers", "moe_ffn", flow, front.fingerprint);
    graphs.map(|graph| TaskflowToTell::new(graph, &artifact(&graph.taskflow), &source)).collect()
}

#[test]
fn a_built_kernel_gets_its_launch_and_its_assertions() {
    let text = expand(&EXAMPLE, Some("out"), &built(&EXAMPLE, &Overrides::new()));
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("assert ! (HIDDEN == 128"), "{text}");
    assert!(text.contains("pub mod forward"));
    assert!(text.contains(r#"Argument :: read ("x" , x)"#) && text.contains(r#"Argument :: write ("y" , y)"#));
    for marker in ["aic_task", "aiv_task", "comm_put", "taskflow"] {
        assert!(!text.contains(&format!("# [{marker}]")), "{marker} is left in the module");
    }
}

#[test]
fn sizes_that_are_left_open_are_those_that_the_build_has_chosen() {
    let source =
        EXAMPLE.replace("TILE_N: usize = 16;", "TILE_N: usize = _;").replace("PUT: usize = 8;", "PUT: usize = _;");
    assert_eq!(source.matches("usize = _;").count(), 2);
    let chosen = Overrides::from_iter([("TILE_N".to_owned(), 32.into()), ("PUT".to_owned(), 4.into())]);
    let text = expand(&source, Some("out"), &built(&source, &chosen));
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("pub const TILE_N : usize = 32 ;") && text.contains("pub const PUT : usize = 4 ;"), "{text}");
    // The same numbers in the source give the same kernel, except for its fingerprint.
    let written =
        EXAMPLE.replace("TILE_N: usize = 16;", "TILE_N: usize = 32;").replace("PUT: usize = 8;", "PUT: usize = 4;");
    let written = expand(&written, Some("out"), &built(&written, &Overrides::new()));
    let launch = |text: &str| text[text.find("pub mod forward").unwrap()..].matches("Argument :: read").count();
    assert_eq!(launch(&text), launch(&written));
    // If nothing was built, nothing has chosen tile sizes, but only the missing build is an error.
    let missing = expand(&source, Some("out"), &HashMap::new());
    assert_eq!(missing.matches("compile_error").count(), 1, "{missing}");
    assert!(missing.contains("was not built") && missing.contains("pub const TILE_N : usize = 16usize ;"), "{missing}");
}

#[test]
fn a_kernel_that_was_built_for_the_device_embeds_its_object() {
    let plain = expand(&EXAMPLE, Some("out"), &built(&EXAMPLE, &Overrides::new()));
    assert!(plain.contains("CompiledKernel :: new") && !plain.contains("with_device"), "{plain}");
    // The names are those of the tables that the module includes.
    let start = plain.find("/hpmoe/moe_ffn_forward_").unwrap() + "/hpmoe/".len();
    let stem = plain[start..].split('.').next().unwrap();
    let for_device = |expansion: &mut Expansion| expansion.taskflows[0].for_device = true;
    let text = expand(&EXAMPLE, Some("out"), &built_with(&EXAMPLE, &Overrides::new(), for_device));
    let added = format!(
        " . with_device (\"hpmoe5_my_layers_{stem}\" , :: core :: include_bytes ! (:: core :: concat ! (:: core :: env ! \
         (\"OUT_DIR\") , \"/hpmoe/{stem}.device.o\")))"
    );
    assert!(text.contains(&added), "{text}");
    assert!(text.replace(&added, "") == plain, "only the object is added");
}

#[test]
fn a_crate_with_a_c_interface_registers_its_references() {
    let plain = expand(&EXAMPLE, Some("out"), &built(&EXAMPLE, &Overrides::new()));
    assert!(!plain.contains("inventory"), "{plain}");
    let exported = |expansion: &mut Expansion| expansion.taskflows[0].exported = true;
    let text = expand(&EXAMPLE, Some("out"), &built_with(&EXAMPLE, &Overrides::new(), exported));
    for part in [
        "let argument_0 : PerRank < Tensor < bf16 , HIDDEN > > = call . tensor (0usize)",
        "let mut argument_5 : PerRank < Tensor < bf16 , HIDDEN > > = call . tensor (5usize)",
        "super :: forward (call . ranks () , call . route () , & argument_0 ,",
        "& mut argument_5)",
        "call . give_back (5usize , & argument_5)",
        "inventory :: submit !",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_compilers_refuse_is_shown_at_its_task() {
    let module = module(&EXAMPLE);
    let taskflow = taskflows(&module, &Overrides::new()).remove(0);
    let refused = Fault { task: Some("project".to_owned()), text: "too large [HP20]".to_owned() };
    let files = built_with(&EXAMPLE, &Overrides::new(), |expansion| expansion.faults = vec![taskflow.fault(refused)]);
    let read = |path: &Path| files.get(path).cloned();
    let tokens = megakernel(TokenStream::new(), module.to_token_stream(), &BuildScript::Built("out".into()), &read);
    let text = tokens.to_string();
    assert_eq!(text.matches("compile_error").count(), 1, "{text}");
    // Users of the kernel still compile.
    assert!(text.contains("pub mod forward") && text.contains("pub fn launch"), "{text}");
    let fault = tokens.into_iter().last().expect("a fault follows the module");
    let line = EXAMPLE.lines().position(|line| line.contains("pub fn project")).unwrap() + 1;
    assert_eq!(fault.span().start().line, line);
}

#[test]
fn overridden_constants_replace_those_of_the_source() {
    let overrides = Overrides::from_iter([("HIDDEN".to_owned(), 96.into())]);
    let text = expand(&EXAMPLE, Some("out"), &built(&EXAMPLE, &overrides));
    assert!(text.contains("pub const HIDDEN : usize = 96 ;"), "{text}");
    assert!(text.contains("pub const INTER : usize = 64 ;"));
}

#[test]
fn numbers_are_set_and_asserted_by_their_bits() {
    let size = "pub const HIDDEN: usize";
    let edited =
        EXAMPLE.replacen(size, &format!("pub const LESS: f32 = -LIMIT; pub const LIMIT: f32 = 7.0; {size}"), 1);
    let overrides = Overrides::from_iter([("LIMIT".to_owned(), 8.into())]);
    let text = expand(&edited, Some("out"), &built(&edited, &overrides));
    assert!(text.contains("pub const LIMIT : f32 = 8.0 ;"), "{text}");
    assert!(text.contains("let built : f32 = - 8.0 ; LESS . to_bits () == built . to_bits ()"), "{text}");
    let overrides = Overrides::from_iter([("HIDDEN".to_owned(), 1.5.into())]);
    let text = expand(&EXAMPLE, Some("out"), &built(&EXAMPLE, &overrides));
    assert!(text.contains("`HIDDEN` is a usize, but this build sets it to 1.5"), "{text}");
}

#[test]
fn a_missing_kernel_says_what_to_add_to_the_build_script() {
    let missing = expand(&EXAMPLE, Some("out"), &HashMap::new());
    assert!(missing.contains("kernel `moe_ffn` was not built [HP17]"), "{missing}");
    assert!(missing.contains("hpmoe_build::kernels"));
    let no_script = expand(&EXAMPLE, None, &HashMap::new());
    assert!(no_script.contains("kernel `moe_ffn` has no build script [HP17]"));
    // Users of the kernel still compile: one fault, one error.
    assert_eq!(missing.matches("compile_error").count(), 1);
    assert!(missing.contains("pub fn launch"));
}

#[test]
fn a_stale_kernel_is_refused() {
    let edited = EXAMPLE.replace("gate.silu() * up.load()", "up.load() * gate.silu()");
    assert_ne!(edited, *EXAMPLE);
    let text = expand(&edited, Some("out"), &built(&EXAMPLE, &Overrides::new()));
    assert!(
        text.contains("kernel `moe_ffn` is stale: the build from `src/moe.rs` does not match this module [HP17]"),
        "{text}"
    );
}

#[test]
fn comments_and_layout_do_not_make_a_kernel_stale() {
    let edited = EXAMPLE.replace("let gate = gate.load();", "// widened\n        let gate = gate.load( ) ;");
    assert_ne!(edited, *EXAMPLE);
    let text = expand(&edited, Some("out"), &built(&EXAMPLE, &Overrides::new()));
    assert!(!text.contains("compile_error"), "{text}");
}

#[test]
fn a_faulty_body_is_replaced_so_that_rustc_does_not_repeat_the_fault() {
    let faulty = EXAMPLE.replace("y.store(x.matmul_t(w));", "y.store(x.matmul_t(w).silu());");
    let text = expand(&faulty, Some("out"), &built(&faulty, &Overrides::new()));
    assert!(text.contains("matrix cores have no `silu` [HP07]"), "{text}");
    assert!(!text.contains("matmul_t"), "{text}");
}

#[test]
fn the_kernel_attribute_takes_no_arguments() {
    let module = module(&EXAMPLE).into_token_stream();
    let text = megakernel("rank = 4".parse().unwrap(), module, &BuildScript::Missing, &|_: &Path| None).to_string();
    assert!(text.contains("`#[megakernel]` takes no arguments [HP01]"), "{text}");
}

#[test]
fn the_runtime_can_have_another_name() {
    let source = EXAMPLE.replace("hpmoe_runtime", "moe");
    let text = expand(&source, Some("out"), &built(&source, &Overrides::new()));
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("use :: moe as hpmoe_runtime ;") && !text.contains(":: hpmoe_runtime ::"), "{text}");
}
