//! The runtime's Rust description of the ABI is that of the C header.
//!
//! The test is in this crate, so that they can be renewed when the runtime does not compile, and runs when it is asked for,
//! because it needs libclang.

use std::path::Path;

use bindgen::callbacks::{DeriveInfo, ParseCallbacks};

/// All structures are plain data.
#[derive(Debug)]
struct Plain;

impl ParseCallbacks for Plain {
    fn add_derives(&self, _: &DeriveInfo<'_>) -> Vec<String> {
        vec!["bytemuck::Pod".to_owned(), "bytemuck::Zeroable".to_owned()]
    }
}

#[test]
#[ignore = "needs libclang"]
fn bindings_are_current() {
    let header = Path::new(hpmoe_kernels::INCLUDE_DIR).join("hpmoe/abi.h");
    let made = bindgen::builder()
        .header(header.display().to_string())
        .formatter(bindgen::Formatter::Prettyplease)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .allowlist_item("HPMOE_.*|Hpmoe.*")
        .blocklist_item("HPMOE_ABI_H")
        .prepend_enum_name(false)
        .derive_default(true)
        .generate_comments(false)
        .disable_header_comment()
        .use_core()
        .parse_callbacks(Box::new(Plain))
        .generate()
        .expect("the header compiles")
        .to_string();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hpmoe-runtime/src/abi/bindings.rs");
    if std::env::var_os("HPMOE_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "hpmoe-runtime/src/abi/bindings.rs is not what kernels/include/hpmoe/abi.h says; renew it by\n    \
         HPMOE_BLESS=1 cargo test -p hpmoe-kernels --test all bindings -- --ignored"
    );
}
