//! What `#[megakernel]` makes of a module, with and without a build script's output.

use hpmoe_language::artifacts::{FOLDER, Resolved, resolved_file};
use hpmoe_language::expand::{Environment, megakernel};
use hpmoe_language::fingerprint::of_module;
use hpmoe_language::front::modules;
use hpmoe_language::names::ByName;
use hpmoe_language::syntax::Overrides;
use proc_macro2::TokenStream;
use quote::ToTokens as _;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = include_str!("../../../examples/moe_ffn.rs");

/// Expands the example where the build script left `files`.
fn expand(source: &str, out_dir: Option<&str>, files: &HashMap<PathBuf, String>) -> String {
    let module = modules(source).unwrap().remove(0);
    let environment = Environment { package: "my-layers".into(), out_dir: out_dir.map(PathBuf::from) };
    let read = |path: &Path| files.get(path).cloned();
    megakernel(TokenStream::new(), module.into_token_stream(), &environment, &read).to_string()
}

fn built(source: &str, overrides: &Overrides) -> HashMap<PathBuf, String> {
    let module = modules(source).unwrap().remove(0);
    let file = Path::new("out").join(FOLDER).join(resolved_file("moe_ffn", of_module(&module)));
    let resolved = Resolved {
        source: "src/moe.rs".into(),
        target: "0123456789abcdef".to_owned(),
        overrides: overrides.clone(),
        choices: ByName::new(),
        externals: ByName::new(),
    };
    let latest = Path::new("out").join(FOLDER).join("moe_ffn.built");
    HashMap::from([(file, resolved.write()), (latest, "src/moe.rs".into())])
}

#[test]
fn a_built_kernel_gets_its_launch_and_its_assertions() {
    let text = expand(EXAMPLE, Some("out"), &built(EXAMPLE, &Overrides::new()));
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("assert ! (HIDDEN == 128usize"), "{text}");
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
    // The same numbers in the source make the same kernel but for its fingerprint.
    let written =
        EXAMPLE.replace("TILE_N: usize = 16;", "TILE_N: usize = 32;").replace("PUT: usize = 8;", "PUT: usize = 4;");
    let written = expand(&written, Some("out"), &built(&written, &Overrides::new()));
    let launch = |text: &str| text[text.find("pub mod forward").unwrap()..].matches("Argument :: read").count();
    assert_eq!(launch(&text), launch(&written));
    // Nothing has chosen what was not built, which is the only fault.
    let missing = expand(&source, Some("out"), &HashMap::new());
    assert_eq!(missing.matches("compile_error").count(), 1, "{missing}");
    assert!(missing.contains("was not built") && missing.contains("pub const TILE_N : usize = 16 ;"), "{missing}");
}

#[test]
fn a_kernel_that_was_built_for_the_device_embeds_its_object() {
    let mut files = built(EXAMPLE, &Overrides::new());
    let plain = expand(EXAMPLE, Some("out"), &files);
    assert!(plain.contains("CompiledKernel :: new") && !plain.contains("with_device"), "{plain}");
    // The names are those of the tables that the module includes.
    let start = plain.find("/hpmoe/moe_ffn_forward_").unwrap() + "/hpmoe/".len();
    let stem = plain[start..].split('.').next().unwrap();
    files.insert(Path::new("out").join(FOLDER).join(format!("{stem}.device")), "CANN 9.1.0, dav-2201\n".into());
    let text = expand(EXAMPLE, Some("out"), &files);
    let added = format!(
        " . with_device (\"hpmoe1_my_layers_{stem}\" , :: core :: include_bytes ! (:: core :: concat ! (:: core :: env ! \
         (\"OUT_DIR\") , \"/hpmoe/{stem}.device.o\")))"
    );
    assert!(text.contains(&added), "{text}");
    assert!(text.replace(&added, "") == plain, "only the object is added");
}

#[test]
fn overridden_constants_replace_those_of_the_source() {
    let overrides = Overrides::from_iter([("HIDDEN".to_owned(), 96.into())]);
    let text = expand(EXAMPLE, Some("out"), &built(EXAMPLE, &overrides));
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
    assert!(text.contains(&format!("LESS . to_bits () == {}u32", (-8.0_f32).to_bits())), "{text}");
    let overrides = Overrides::from_iter([("HIDDEN".to_owned(), 1.5.into())]);
    let text = expand(EXAMPLE, Some("out"), &built(EXAMPLE, &overrides));
    assert!(text.contains("`HIDDEN` is a usize, but this build sets it to 1.5"), "{text}");
}

#[test]
fn a_missing_kernel_says_what_to_add_to_the_build_script() {
    let missing = expand(EXAMPLE, Some("out"), &HashMap::new());
    assert!(missing.contains("kernel `moe_ffn` was not built [HP17]"), "{missing}");
    assert!(missing.contains("hpmoe_build::kernels"));
    let no_script = expand(EXAMPLE, None, &HashMap::new());
    assert!(no_script.contains("kernel `moe_ffn` has no build script [HP17]"));
    // Users of the kernel still compile: one fault, one error.
    assert_eq!(missing.matches("compile_error").count(), 1);
    assert!(missing.contains("pub fn launch"));
}

#[test]
fn a_stale_kernel_is_refused() {
    let edited = EXAMPLE.replace("gate.silu() * up.load()", "up.load() * gate.silu()");
    assert_ne!(edited, EXAMPLE);
    let text = expand(&edited, Some("out"), &built(EXAMPLE, &Overrides::new()));
    assert!(
        text.contains("kernel `moe_ffn` is stale: what was built from `src/moe.rs` is not this module [HP17]"),
        "{text}"
    );
}

#[test]
fn comments_and_layout_do_not_make_a_kernel_stale() {
    let edited = EXAMPLE.replace("let gate = gate.load();", "// widened\n        let gate = gate.load( ) ;");
    assert_ne!(edited, EXAMPLE);
    let text = expand(&edited, Some("out"), &built(EXAMPLE, &Overrides::new()));
    assert!(!text.contains("compile_error"), "{text}");
}

#[test]
fn a_faulty_body_is_replaced_so_that_rustc_does_not_repeat_the_fault() {
    let faulty = EXAMPLE.replace("y.store(x.matmul_t(w));", "y.store(x.matmul_t(w).silu());");
    let text = expand(&faulty, Some("out"), &HashMap::new());
    assert!(text.contains("matrix cores have no `silu` [HP07]"), "{text}");
    assert!(!text.contains("matmul_t"), "{text}");
}

#[test]
fn the_kernel_attribute_takes_no_arguments() {
    let environment = Environment { package: "my-layers".into(), out_dir: None };
    let module = modules(EXAMPLE).unwrap().remove(0).into_token_stream();
    let text = megakernel("rank = 4".parse().unwrap(), module, &environment, &|_: &Path| None).to_string();
    assert!(text.contains("`#[megakernel]` takes no arguments [HP01]"), "{text}");
}

#[test]
fn the_runtime_can_have_another_name() {
    let source = EXAMPLE.replace("hpmoe_runtime", "moe");
    let text = expand(&source, Some("out"), &built(&source, &Overrides::new()));
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("use :: moe as hpmoe_runtime ;") && !text.contains(":: hpmoe_runtime ::"), "{text}");
}
