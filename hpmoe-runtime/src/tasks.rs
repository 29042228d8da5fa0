//! The library of tasks, written in the language itself: a kernel module that says
//! `use hpmoe_runtime::tasks::{dispatch, project};` has these functions as if they stood in it.
//!
//! Each is generic over the sizes of its tiles. Where the tiles of a call don't tell a size, the call does, and leaves the
//! others to inference: `project::<TILE_N, _, _>(..)`. Each may be used by another name, `swiglu as activate`. They are not
//! items of this module: `#[megakernel]` puts their sources in place of the `use`. [`hpmoe_kernels::tasks`] shows them.
