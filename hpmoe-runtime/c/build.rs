//! Declares to the build scripts of packages that depend on this one that their libraries have a C interface.

fn main() {
    println!("cargo::metadata=exports=1");
    println!("cargo::rerun-if-changed=build.rs");
}
