//! Tasks: a signature and a straight-line body.

use crate::ids::{Arena, ValueId};
use hpmoe_kernels::op::{ElementType, Operation, Shape, TaskKind};
use proc_macro2::Span;

/// A tile parameter of a task.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Type: place is always a tile.
    pub shape: Shape,
    /// `&mut`.
    pub write: bool,
    /// Where it is declared.
    pub span: Span,
}

/// One operation of a body. Parameters are values `0..params`; step `i` makes value `params + i`.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operation.
    pub operation: &'static Operation,
    /// Its tiles and values, the receiver first.
    pub operands: Vec<ValueId>,
    /// The numbers among its operands.
    pub numbers: Vec<f32>,
    /// The element type given as in `cast::<bf16>()`.
    pub element: Option<ElementType>,
    /// What comes out; for a store or a put, the tile written.
    pub result: Shape,
    /// Name of the `let` that holds it, where there is one.
    pub name: Option<String>,
    /// Line in the source file.
    pub line: usize,
    /// Where it stands.
    pub span: Span,
}

/// The tile program of a task, in order.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Operations in program order; loops over constants are unrolled.
    pub steps: Vec<Step>,
}

/// A task with its const arguments.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name of the function.
    pub name: String,
    /// Unique name of this instance: the name, then the const arguments (`project_k128`).
    pub label: String,
    /// Const arguments by name.
    pub arguments: Vec<(String, usize)>,
    /// Which cores run it.
    pub kind: TaskKind,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// What it does.
    pub body: Body,
    /// Line of the function in the source file.
    pub line: usize,
    /// The function's name.
    pub span: Span,
}

impl Task {
    /// Shapes of all values: parameters, then one per step.
    #[must_use]
    pub fn shapes(&self) -> Arena<ValueId, Shape> {
        let params = self.params.iter().map(|param| param.shape);
        params.chain(self.body.steps.iter().map(|step| step.result)).collect()
    }
}
