//! The forward layer for each bundled layer, and for dies with other numbers of cores, as written by the build script.

use hpmoe_runtime::prelude::*;

include!(concat!(env!("OUT_DIR"), "/deepseek_skewed.rs"));
include!(concat!(env!("OUT_DIR"), "/qwen3_balanced.rs"));
include!(concat!(env!("OUT_DIR"), "/qwen3_ragged.rs"));
include!(concat!(env!("OUT_DIR"), "/one_matrix_core.rs"));
include!(concat!(env!("OUT_DIR"), "/twenty_matrix_cores.rs"));
