//! The library of taskflows, written in hpmoe itself. A kernel module with
//! `use hpmoe_runtime::taskflows::{dispatch_tokens, project_rows};` can call these functions as if they were written in
//! it.
//!
//! Each file in `taskflows/` holds one part that several layers use, generic over the sizes of its tensors and tiles. A
//! call states tile sizes and leaves tensor sizes to inference:
//! `project_rows::<TILE_M, TILE_N, _, _>(ep, route, &recv, gate, &mut g);`. Importing a part also imports the
//! [tasks](crate::tasks) that it calls.
//!
//! ```ignore
#![doc = include_str!("../taskflows/dispatch_tokens.rs")]
#![doc = include_str!("../taskflows/project_rows.rs")]
#![doc = include_str!("../taskflows/swiglu_rows.rs")]
#![doc = include_str!("../taskflows/give_back_rows.rs")]
#![doc = include_str!("../taskflows/combine_slots.rs")]
#![doc = include_str!("../taskflows/sum_slots.rs")]
#![doc = include_str!("../taskflows/send_slot_weights.rs")]
#![doc = include_str!("../taskflows/project_rows_back.rs")]
#![doc = include_str!("../taskflows/swiglu_gradients.rs")]
#![doc = include_str!("../taskflows/input_gradients.rs")]
#![doc = include_str!("../taskflows/weight_gradients.rs")]
#![doc = include_str!("../taskflows/weight_gradients_onto.rs")]
#![doc = include_str!("../taskflows/router_gradients.rs")]
//! ```

library! { "taskflows":
    combine_slots, dispatch_tokens, give_back_rows, input_gradients, project_rows, project_rows_back, router_gradients, send_slot_weights, sum_slots,
    swiglu_gradients, swiglu_rows, weight_gradients, weight_gradients_onto,
}
