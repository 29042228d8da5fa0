//! What runs kernels.

pub(crate) mod host;
