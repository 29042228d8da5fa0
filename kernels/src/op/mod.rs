//! The description of a tile operation that the compiler reads. Each file in `ops/` holds one [`Operation`] and its
//! host meaning.

mod device;
mod element_type;
mod host;
mod scratch;
mod shape;

pub use crate::tensor::{AnyTile, AnyValue, MOST};
pub use device::{
    Contracted, Device, More, Part, Routine, Scalar, Sizes, Slot, Spread, Step, VectorCall, Waits, in_one_call, spread,
};
pub use element_type::ElementType;
pub use host::{Given, Host};
pub use scratch::{Columns, Of};
pub use shape::{OperandKind, Shape};

/// The kind of core that a task runs on, or its use of that core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TaskKind {
    /// Matrix core: `#[aic_task]`.
    Matrix,
    /// Vector core: `#[aiv_task]`.
    Vector,
    /// Vector core used for one-sided communication: `#[comm_put]`.
    Put,
}

impl TaskKind {
    /// The attribute that marks tasks of this kind.
    #[must_use]
    pub const fn marker(self) -> &'static str {
        match self {
            Self::Matrix => "#[aic_task]",
            Self::Vector => "#[aiv_task]",
            Self::Put => "#[comm_put]",
        }
    }
}

/// The reason why operands don't fit an operation: `problem` names the value and the rule that it breaks, and `help`
/// says what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// `true` if element types don't fit, `false` if shapes or numbers don't fit.
    pub types: bool,
    /// The value and the rule that it breaks: one sentence without a full stop.
    pub problem: String,
    /// The text that says what to write instead.
    pub help: String,
}

/// The spelling of an operation in a task body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// A method: `receiver.name(arguments)`.
    Method(&'static str),
    /// An operator, such as `*` in `left * right` or `-` in `-value`.
    Operator(char),
}

/// One tile operation: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// How a task body spells the operation.
    pub spelling: Spelling,
    /// The kinds of task that may call the operation.
    pub cores: &'static [TaskKind],
    /// The kind of each operand, the receiver first.
    pub operands: &'static [OperandKind],
    /// Whether the call takes a type argument, as `cast::<T>()` does. The field `shape` gets it as `element`.
    pub takes_element: bool,
    /// Checks the number operands, which are finite.
    pub numbers: fn(numbers: &[f32]) -> Result<(), Misfit>,
    /// Computes the shape of the result, or says why the operands don't fit. `element` is the type argument, if the
    /// call has one. `operands` leaves out numbers; a size appears as a shape with as many rows. The result of a store, an
    /// accumulation or a put is the tile that the operation writes.
    pub shape: fn(operands: &[Shape], element: Option<ElementType>) -> Result<Shape, Misfit>,
    /// The operation's meaning on the host.
    pub host: Host,
    /// The operation's code on the device.
    pub device: Device,
}

impl Operation {
    /// Whether `name` is this operation's method name or operator.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        match self.spelling {
            Spelling::Method(method) => method == name,
            Spelling::Operator(sign) => name.chars().eq([sign]),
        }
    }

    /// The method name or operator, as the user writes it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.spelling {
            Spelling::Method(name) => name.to_owned(),
            Spelling::Operator(sign) => sign.to_string(),
        }
    }
}
