use super::*;
use quote::ToTokens as _;

fn module(text: &str) -> ItemMod {
    syn::parse_str(text).unwrap()
}

#[test]
fn every_file_holds_the_function_of_its_name() {
    for (name, text) in tasks::SOURCES.iter().chain(taskflows::SOURCES).chain(helpers::SOURCES) {
        let function: ItemFn = syn::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(function.sig.ident, name);
    }
    let is_task = |name: &str| tasks::SOURCES.iter().chain(taskflows::SOURCES).any(|(known, _)| *known == name);
    assert!(!helpers::SOURCES.iter().any(|(name, _)| is_task(name)));
}

#[test]
fn tasks_bring_their_helper_functions() {
    let names = |text: &str| -> Vec<String> {
        let (_, items) = with_library(&module(text)).content.unwrap();
        items.iter().filter_map(declared).collect()
    };
    let both = "use hpmoe_runtime::tasks::{swiglu_grad, swiglu_grad_of as saved};";
    assert_eq!(names(&format!("mod k {{ {both} }}")), ["silu_slope", "swiglu_grad", "saved"]);
    let own = names(&format!("mod k {{ {both} fn silu_slope() {{}} }}"));
    assert_eq!(own, ["swiglu_grad_silu_slope", "swiglu_grad", "saved_silu_slope", "saved", "silu_slope"]);
    let flow = names("mod k { use hpmoe_runtime::taskflows::swiglu_gradients; }");
    assert_eq!(flow, ["silu_slope", "swiglu_grad", "swiglu_gradients"]);
    // The renamed one is the one that is called.
    let (_, items) = with_library(&module(&format!("mod k {{ {both} fn silu_slope() {{}} }}"))).content.unwrap();
    assert!(items[1].to_token_stream().to_string().contains("swiglu_grad_silu_slope (& sigmoid"));
}

#[test]
fn tasks_stand_where_they_are_used() {
    let used = with_library(&module("mod k { use hpmoe_runtime::tasks::{dispatch, project as product}; fn f() {} }"));
    let (_, items) = used.content.unwrap();
    let names: Vec<String> = items.iter().filter_map(declared).collect();
    assert_eq!(names, ["dispatch", "product", "f"]);
    assert!(items[1].to_token_stream().to_string().contains("matmul_t"));
}

#[test]
fn the_crate_can_have_another_name() {
    let used = with_library(&module("mod k { use moe::prelude::*; use moe::tasks::dispatch; }"));
    let (_, items) = used.content.unwrap();
    assert_eq!(runtime(&items), "moe");
    assert_eq!(items.iter().filter_map(declared).collect::<Vec<_>>(), ["dispatch"]);
    let both = module("mod k { use other::prelude::*; use hpmoe_runtime::prelude::*; }");
    assert_eq!(runtime(&both.content.unwrap().1), "hpmoe_runtime");
}

#[test]
fn one_use_can_import_from_several_modules() {
    let written = |text: &str| with_library(&module(text)).to_token_stream().to_string();
    let one = "mod k { use moe::{self, prelude::*, Report, tasks::{dispatch, project as product}}; }";
    let several =
        "mod k { use moe::prelude::*; use moe::tasks::{dispatch, project as product}; use moe::{self, Report}; }";
    assert_eq!(written(one), written(several));
}

#[test]
fn other_uses_stay() {
    let text = "mod k { use hpmoe_runtime::prelude::*; use other::tasks::dispatch; }";
    let written = |module: ItemMod| module.to_token_stream().to_string();
    assert_eq!(written(with_library(&module(text))), written(module(text)));
}
