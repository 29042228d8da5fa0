//! What happens around a kernel: broken rules, launches without progress, launches in a row, groups of every size.

#[path = "../../kernels/ffn.rs"]
mod ffn_file;
mod layer;
#[path = "../random/mod.rs"]
#[allow(dead_code, reason = "shared with tests that need other parts of it")]
mod random;
mod row;
mod rules;
mod stuck;
