//! Tasks: a signature and a straight-line body, with every constant resolved.

use crate::ids::{Arena, Id as _, ValueId};
use crate::memory::OnChipMemory;
use crate::units::Bytes;
use hpmoe_kernels::op::{Device, ElementType, Operation, Shape, TaskKind};
use proc_macro2::Span;

/// A tile parameter of a task.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name in the source, unique within the task.
    pub name: String,
    /// Element type and maximum numbers of rows and columns. The shape's kind is always a tile.
    pub shape: Shape,
    /// Whether the task takes the tile by `&mut`: the task then writes the tile or, with `+=`, adds to it.
    pub write: bool,
    /// Whether the tile's rows are slots of tokens. Slots may be empty.
    pub slots: bool,
    /// The parameter's name in the source.
    pub span: Span,
}

/// One operation of a body. Values are numbered: the parameters from 0, then the result of each step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operation's row in the table of operations.
    pub operation: &'static Operation,
    /// The tiles and values that the operation takes, the receiver first.
    pub operands: Vec<ValueId>,
    /// The numbers that the operation takes, in order; all are finite.
    pub numbers: Vec<f32>,
    /// The sizes that the operation takes, in the order of the operands.
    pub sizes: Vec<usize>,
    /// The type argument, as in `cast::<bf16>()`; `None` if there is none.
    pub element: Option<ElementType>,
    /// The shape of the operation's result; for a store or a put, the shape of the tile that is written.
    pub result: Shape,
    /// The name of the `let` that holds the operation's result, if there is one.
    pub name: Option<String>,
    /// The operation's line in the source file, from 1; 0 if rustc does not provide it.
    pub line: usize,
    /// The operation's name or sign in the source.
    pub span: Span,
}

/// The tile program of a task, in order.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The operations in program order, loops over constants unrolled.
    pub steps: Vec<Step>,
}

impl Body {
    /// The parameters that the body multiplies: the left and the right one of each product, in program order.
    pub fn factors(&self) -> impl Iterator<Item = [usize; 2]> {
        self.steps.iter().filter_map(|step| match step.operation.device {
            Device::Matmul { adds, .. } => Some([0, 1].map(|side| step.operands[usize::from(adds) + side].index())),
            _ => None,
        })
    }
}

/// A hand-written C++ function for a task, and its declared properties.
#[derive(Clone, PartialEq, Debug)]
pub struct External {
    /// Path of the file that holds the function, relative to the package.
    pub file: String,
    /// The C++ name of the function.
    pub function: String,
    /// Whether the operator can't run on the host, so that the task's body runs there instead.
    pub device_only: bool,
    /// Bound on the difference between an element that the operator computes and the element that the body computes, as a fraction of the
    /// largest element of the tile; 0 promises equal bits.
    pub tolerance: f32,
    /// The time that the operator declares for a full tile; `None` if it declares none.
    pub microseconds: Option<f32>,
    /// The memories that the operator uses, each with the number of bytes from address 0. Of a memory that is not listed, the operator may
    /// use all that a task can have.
    pub memory: Vec<(OnChipMemory, Bytes)>,
}

/// An instance of a task function: the function with its const arguments.
#[derive(Clone, Debug)]
pub struct Task {
    /// The function's name, which several instances can share.
    pub name: String,
    /// The name of this instance, unique in the graph: the function's name, then the const arguments (`project_k128`).
    pub label: String,
    /// Const parameters with their values, in order of declaration.
    pub arguments: Vec<(String, usize)>,
    /// The kind of core that runs the task, or a put.
    pub kind: TaskKind,
    /// Tile parameters in order of declaration.
    pub params: Vec<Param>,
    /// The tile program.
    pub body: Body,
    /// The C++ function that replaces the body on the device, if there is one.
    pub external: Option<External>,
    /// The function's line in the source file, from 1; 0 if rustc does not provide it.
    pub line: usize,
    /// The function's name in the source; for a task of the library, its name in the first call.
    pub span: Span,
}

impl Task {
    /// The parameters that the task reads whose rows are slots of tokens.
    pub fn reads_slots(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| param.slots && !param.write)
    }

    /// The shapes of all values: first the parameters, then one per step.
    #[must_use]
    pub fn shapes(&self) -> Arena<ValueId, Shape> {
        let params = self.params.iter().map(|param| param.shape);
        params.chain(self.body.steps.iter().map(|step| step.result)).collect()
    }
}
