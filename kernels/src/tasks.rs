//! The library of tasks, written in hpmoe itself. A kernel module with `use hpmoe_runtime::tasks::{dispatch, project};`
//! can call these functions as if they were written in it.
//!
//! Each file in `tasks/` holds one task, generic over tile sizes. A call states the sizes that its tiles don't
//! determine, and leaves the others to inference: `project::<TILE_N, _, _>(..)`.
//!
//! ```ignore
#![doc = include_str!("../tasks/dispatch.rs")]
#![doc = include_str!("../tasks/send_weights.rs")]
#![doc = include_str!("../tasks/project.rs")]
#![doc = include_str!("../tasks/swiglu.rs")]
#![doc = include_str!("../tasks/scale_by_column.rs")]
#![doc = include_str!("../tasks/shift.rs")]
#![doc = include_str!("../tasks/widen.rs")]
#![doc = include_str!("../tasks/unpack_to_i8.rs")]
#![doc = include_str!("../tasks/unpack_to_bf16.rs")]
#![doc = include_str!("../tasks/decode_fp4.rs")]
#![doc = include_str!("../tasks/decode_fp8.rs")]
#![doc = include_str!("../tasks/decode_hifloat4.rs")]
#![doc = include_str!("../tasks/give_back.rs")]
#![doc = include_str!("../tasks/combine.rs")]
#![doc = include_str!("../tasks/sum_over_k.rs")]
#![doc = include_str!("../tasks/project_back.rs")]
#![doc = include_str!("../tasks/swiglu_grad.rs")]
#![doc = include_str!("../tasks/swiglu_grad_of.rs")]
#![doc = include_str!("../tasks/input_grad.rs")]
#![doc = include_str!("../tasks/weight_grad.rs")]
#![doc = include_str!("../tasks/weight_grad_onto.rs")]
#![doc = include_str!("../tasks/give_back_parts.rs")]
#![doc = include_str!("../tasks/router_grad.rs")]
//! ```

library! { "tasks":
    combine, decode_fp4, decode_fp8, decode_hifloat4, dispatch, give_back, give_back_parts, input_grad, project,
    project_back, router_grad, scale_by_column, send_weights, shift, sum_over_k, swiglu, swiglu_grad, swiglu_grad_of,
    unpack_to_bf16, unpack_to_i8, weight_grad, weight_grad_onto, widen,
}
