//! The library of taskflows, written in hpmoe itself. A kernel module with
//! `use hpmoe_runtime::taskflows::{dispatch_tokens, project_rows};` can call these functions as if they were written in
//! it, together with the [tasks](crate::tasks) that they call.
//!
//! Each is generic over the sizes of its tensors and tiles. A call states tile sizes and leaves tensor sizes to
//! inference: `dispatch_tokens::<PUT, _>(ep, route, x, &mut recv);`.
//!
//! This module itself is empty: `#[megakernel]` replaces the `use` by the functions' sources.
//! [`hpmoe_kernels::taskflows`] lists them.
