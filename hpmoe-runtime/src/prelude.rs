//! Everything that a kernel and the code around it need: `use hpmoe_runtime::prelude::*;`.

pub use hpmoe_kernels::{
    Element, Expert, Experts, Float, LogicalExpert, Matrix, Number, Once, PerRank, Placement, RAGGED, Rank, Ranks,
    Received, Route, RouteError, Routed, RowTile, Slots, Stored, Tensor, Tile, TileBuf, TokenBlock, Value, bf16, f16,
    i4x2,
};
pub use hpmoe_macros::*;

pub use crate::{Group, LaunchError, Report};
