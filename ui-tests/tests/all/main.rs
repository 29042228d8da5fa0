//! All tests of this package in one program, except for the mutations: shared code is compiled and linked once. A
//! module is a group that can run alone: `cargo test -p hpmoe-ui-tests --test all oracles`.

mod bodies;
mod chosen;
mod chunks;
mod chunks_at_launch;
mod chunks_on_device;
mod codes;
mod compile;
mod external;
mod floats;
mod gradients;
mod gradients_in_chunks;
mod gradients_of_any_routing;
mod groups;
mod home;
mod kept;
mod kept_chunks;
mod kernels;
mod launches;
mod layers;
mod memory;
mod oracles;
mod placed;
#[cfg(target_os = "linux")]
mod processes;
mod programs;
#[path = "../random/mod.rs"]
mod random;
mod replay;
mod routed;
mod routers;
#[path = "../../kernels/mod.rs"]
mod small_kernels;
mod variants;
