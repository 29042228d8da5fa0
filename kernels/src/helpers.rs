//! Functions over values that tasks of the library have in common. They come with the [tasks](crate::tasks) that call them, so no kernel
//! module names them.
//!
//! Each file in `helpers/` holds one function.
//!
//! ```ignore
#![doc = include_str!("../helpers/silu_slope.rs")]
//! ```

library! { "helpers": silu_slope }
