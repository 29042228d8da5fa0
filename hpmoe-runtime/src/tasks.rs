//! The library of tasks, written in hpmoe itself. A kernel module with `use hpmoe_runtime::tasks::{dispatch, project};`
//! can call these functions as if they were written in it.
//!
//! Each is generic over tile sizes. A call states the sizes that its tiles don't determine, and leaves the others to
//! inference: `project::<TILE_N, _, _>(..)`. An import can rename a task: `swiglu as activate`.
//!
//! This module itself is empty: `#[megakernel]` replaces the `use` by the functions' sources. [`hpmoe_kernels::tasks`]
//! lists them.
