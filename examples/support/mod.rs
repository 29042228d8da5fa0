//! What the examples share: reading a layer from a file, comparing with it, and printing.

pub mod compare;
pub mod layer;
pub mod options;
