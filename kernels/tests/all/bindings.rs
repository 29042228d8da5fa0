//! Checks that the Rust bindings of C interfaces match the headers.
//!
//! The tests are in this crate, so that bindings can be renewed even if the packages that use them don't compile. They are ignored by
//! default, because they need libclang.

use std::path::{Path, PathBuf};

use bindgen::Builder;
use bindgen::callbacks::{DeriveInfo, ParseCallbacks};

/// Derives plain-data traits for all structures.
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
    let abi = builder(&header)
        .allowlist_item("HPMOE_.*|Hpmoe.*")
        .blocklist_item("HPMOE_ABI_H")
        .derive_default(true)
        .parse_callbacks(Box::new(Plain));
    compare(abi, &header, "kernels/src/abi/bindings.rs");
}

#[test]
#[ignore = "needs libclang"]
fn bindings_are_current_for_acl() {
    let header = package("hpmoe-runtime/acl/acl.h");
    // The library is opened at run time, if it is installed.
    let acl = builder(&header)
        .allowlist_item("ACL_.*|acl.*")
        .dynamic_library_name("AclCalls")
        .dynamic_link_require_all(true)
        .wrap_unsafe_ops(true);
    compare(acl, &header, "hpmoe-runtime/src/backend/npu/acl/bindings.rs");
}

#[test]
#[ignore = "needs libclang"]
fn bindings_are_current_for_aclshmem() {
    let header = package("hpmoe-runtime/acl/aclshmem.h");
    let aclshmem = builder(&header)
        .allowlist_item("ACLSHMEM.*|aclshmem.*")
        .dynamic_library_name("ShmemCalls")
        .dynamic_link_require_all(true)
        .wrap_unsafe_ops(true);
    compare(aclshmem, &header, "hpmoe-runtime/src/backend/npu/shmem/bindings.rs");
}

#[test]
#[ignore = "needs libclang"]
fn bindings_are_current_for_c() {
    let header = package("hpmoe-runtime/c/include/hpmoe.h");
    let interface = builder(&header)
        .allowlist_item("HPMOE_.*|Hpmoe.*|hpmoe_.*")
        .blocklist_item("HPMOE_H")
        .derive_default(true)
        .no_default("HpmoeTensor|HpmoeOptions|HpmoeJoining|HpmoePlacement");
    compare(interface, &header, "hpmoe-runtime/c/src/header/bindings.rs");
}

fn builder(header: &Path) -> Builder {
    bindgen::builder()
        .header(header.display().to_string())
        .formatter(bindgen::Formatter::Prettyplease)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .generate_comments(false)
        .disable_header_comment()
        .use_core()
}

/// Compares the generated bindings with the committed file, or rewrites the file if HPMOE_BLESS is set.
fn compare(builder: Builder, header: &Path, kept_in: &str) {
    let made = builder.generate().expect("the header compiles").to_string();
    let path = package(kept_in);
    if std::env::var_os("HPMOE_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "{kept_in} is not what {} says; renew it by\n    \
         HPMOE_BLESS=1 cargo test -p hpmoe-kernels --test all bindings -- --ignored",
        header.display()
    );
}

/// A file of another package.
fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
