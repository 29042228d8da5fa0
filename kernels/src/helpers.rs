//! Functions on values that several tasks of the library use. A [task](crate::tasks) brings the helpers that it calls,
//! so kernel modules never name them.
//!
//! Each file in `helpers/` holds one function.
//!
//! ```ignore
#![doc = include_str!("../helpers/silu_slope.rs")]
//! ```

library! { "helpers": silu_slope }
