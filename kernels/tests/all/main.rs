//! All integration tests of this package, in one program. Each module can be run alone:
//! `cargo test -p hpmoe-kernels --test all route`.

mod bindings;
mod declared;
mod device;
mod forward;
mod host_ascendc;
mod loops;
mod model;
mod operations;
mod oracle;
mod route;
