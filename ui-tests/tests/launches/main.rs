//! What happens around a kernel: broken rules, launches without progress, launches in a row, groups of every size.

use hpmoe_runtime::prelude::*;

#[path = "../../kernels/ffn.rs"]
mod ffn_file;
mod groups;
mod layer;
#[path = "../random/mod.rs"]
#[allow(dead_code, reason = "shared with tests that need other parts of it")]
mod random;
mod row;
mod rules;
mod stuck;

// 16 experts, four for each token; 12 experts, three for each token.
include!(concat!(env!("OUT_DIR"), "/deepseek_skewed.rs"));
include!(concat!(env!("OUT_DIR"), "/qwen3_ragged.rs"));
