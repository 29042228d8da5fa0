//! The words of [`ConstantFault`], [`NumberFault`] and [`RangeFault`].

use super::grouped;
use crate::finding::{ConstantFault, NumberFault, RangeFault};

impl ConstantFault {
    /// The fault; all have one way out.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::Circular { name } => format!("`{name}` depends on itself"),
            Self::SetToNumber { name, value } => format!("`{name}` is a usize, and this build sets it to {value:?}"),
            Self::Overflow { operator } => format!("`{operator}` in a constant leaves the range of usize"),
            Self::Literal { reason } => format!("not a usize: {reason}"),
            Self::NotWhole => "a constant here is a whole number".into(),
            Self::NotOneExpression => "a constant here is one expression".into(),
            Self::OtherModule => "a constant of another module can't be used here".into(),
            Self::IsNumber { name } => format!("`{name}` is an f32, and this is a usize"),
            Self::Operator => "this operator can't stand in a constant".into(),
            Self::DivisionByZero => "`div_ceil` by zero".into(),
            Self::Method { name } => format!("`{name}` can't be computed at compile time here"),
            Self::NotComputable => "this can't be computed at compile time here".into(),
        }
    }
}

impl NumberFault {
    /// The fault; all have one way out.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::OtherModule => "a constant of another module can't be used here".into(),
            Self::IsSize { name } => {
                format!("`{name}` is a whole number, and numbers of a task are f32: write `({name} as f32)`")
            }
            Self::Literal => "a number of a task is an f32".into(),
            Self::Whole { digits } => {
                format!("`{digits}` is a whole number, and numbers of a task are f32: write `{digits}.0`")
            }
            Self::OtherType { digits, suffix } => {
                format!("`{digits}{suffix}` is of type {suffix}, and numbers of a task are f32: write `{digits}`")
            }
            Self::NotF32 { digits } => format!("`{digits}` is not an f32"),
            Self::NotFinite { expression } => format!("`{expression}` leaves the range of f32: numbers are finite"),
            Self::NeedsValue { operation } => {
                format!("`{operation}` takes a value: of numbers the compiler computes `+ - * /` alone")
            }
            Self::Operator => "this operator can't stand in a number".into(),
            Self::NotComputable => "this can't be computed at compile time here".into(),
        }
    }
}

impl RangeFault {
    /// The fault; all have one way out.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::Loop { value, what, most } => format!("{value} {what}: possible are 1 to {}", grouped(*most)),
            Self::Tensor { tensor, value, what, most } => {
                format!("`{tensor}` has {value} {what}: possible are 1 to {most}")
            }
            Self::Tile { param, rows, cols, most } => {
                format!("`{param}` is a tile of {rows} rows and {cols} columns: possible are 1 to {most}")
            }
            Self::Zero { name } => format!("`{name}` is 0: a layer has at least one"),
            Self::TopK { top_k, experts } => format!("`TOP_K` is {top_k} and there are only {experts} experts"),
            Self::Experts { experts, most } => format!("`EXPERTS` is {experts}: possible are 1 to {most}"),
            Self::Tokens { tokens, top_k } => format!(
                "`TOKENS` is {tokens}: with {top_k} experts for each token, a (token, k) no longer has a 32-bit number"
            ),
        }
    }
}
