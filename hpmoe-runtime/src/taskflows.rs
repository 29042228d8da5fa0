//! The library of taskflows, written in the language itself: a kernel module that says
//! `use hpmoe_runtime::taskflows::{dispatch_tokens, project_rows};` has these functions as if they stood in it, with the
//! [tasks](crate::tasks) that they call.
//!
//! Each is generic over the sizes of its tensors and tiles: a call states the sizes of tiles and leaves those of tensors to inference,
//! as in `dispatch_tokens::<PUT, _>(ep, route, x, &mut recv);`. They are not items of this module: `#[megakernel]` puts their sources
//! in place of the `use`. [`hpmoe_kernels::taskflows`] shows them.
