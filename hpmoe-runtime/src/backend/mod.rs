//! The backends that run kernels.

pub(crate) mod host;
pub(crate) mod npu;
