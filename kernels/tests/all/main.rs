//! All tests of this package that are outside of its sources, in one program. A module is a group that can be run alone:
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
