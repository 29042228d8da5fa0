//! What runs kernels.

pub(crate) mod host;
pub(crate) mod npu;
