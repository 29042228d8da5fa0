//! The library of tasks, written in the language itself: a kernel module that says
//! `use hpmoe_runtime::tasks::{dispatch, project};` has these functions as if they stood in it.
//!
//! Each is generic over the sizes of its tiles. Where the tiles of a call don't tell a size, the call does, and leaves the
//! others to inference: `project::<TILE_N, _, _>(..)`. Each may be used by another name, `swiglu as activate`. They are not
//! items of this module: `#[megakernel]` puts their sources, which follow, in place of the `use`.
//!
//! ```ignore
#![doc = include_str!("../../kernels/tasks/dispatch.rs")]
#![doc = include_str!("../../kernels/tasks/send_weights.rs")]
#![doc = include_str!("../../kernels/tasks/project.rs")]
#![doc = include_str!("../../kernels/tasks/swiglu.rs")]
#![doc = include_str!("../../kernels/tasks/scale_by_column.rs")]
#![doc = include_str!("../../kernels/tasks/shift.rs")]
#![doc = include_str!("../../kernels/tasks/widen.rs")]
#![doc = include_str!("../../kernels/tasks/give_back.rs")]
#![doc = include_str!("../../kernels/tasks/combine.rs")]
#![doc = include_str!("../../kernels/tasks/sum_over_k.rs")]
#![doc = include_str!("../../kernels/tasks/project_back.rs")]
#![doc = include_str!("../../kernels/tasks/swiglu_grad.rs")]
#![doc = include_str!("../../kernels/tasks/swiglu_grad_of.rs")]
#![doc = include_str!("../../kernels/tasks/input_grad.rs")]
#![doc = include_str!("../../kernels/tasks/weight_grad.rs")]
#![doc = include_str!("../../kernels/tasks/weight_grad_onto.rs")]
#![doc = include_str!("../../kernels/tasks/give_back_parts.rs")]
#![doc = include_str!("../../kernels/tasks/router_grad.rs")]
//! ```
