//! Faults of a task call, of the loops around it and of the tensors that it names.

use hpmoe_kernels::op::ElementType;

/// Loops around a call that make no iteration space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LoopFault {
    /// A call outside any loop over ranks and rows.
    Outside,
    /// The loops choose no row tile, expert, send or token block; their variables, outermost first.
    NoItem { variables: Vec<String> },
    /// A loop over row tiles or sends whose argument is not the variable of a loop over experts.
    NotAnExpert { item: String, variable: String },
    /// A loop that gives the call the same rows again.
    Repeated { variable: String },
    /// A send whose sender and receiver are one loop variable.
    SentToItself { send: String, rank: String },
    /// A rank in brackets that the loops around the call don't determine.
    UnknownRank { tensor: String },
    /// An accessor whose variables don't belong to the loops around the call.
    UnknownTile { tensor: String, accessor: String },
}

/// Why the executing rank can't access a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RemoteFault {
    /// Tokens of a send, which are at its sender.
    TokensAtSource { send: String, source: String },
    /// Slots of a send, which are at its sender.
    SlotsAtSource { send: String, source: String },
    /// Rows that a send puts at the expert's owner.
    RowsAtOwner { send: String, expert: String },
    /// The matrix of an expert, which its owner has.
    MatrixAtOwner { expert: String },
    /// A second argument that is read, on a different rank than the first.
    Read,
    /// A written argument of a task that is not a put.
    Write { task: String },
    /// A put to a tensor that other ranks can't reach.
    NotShared,
}

/// An argument that differs from its parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ArgumentFault {
    ElementType {
        expected: ElementType,
        given: ElementType,
    },
    Rows {
        expected: usize,
        given: usize,
    },
    Columns {
        expected: usize,
        given: usize,
    },
    /// An argument by `&` for a tile that the task writes, or by `&mut` for a tile that it reads.
    Mutability {
        writes: bool,
    },
}

/// A call, or a declaration that calls rely on, that the compiler can't carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CallFault {
    /// A loop variable with the name of one around it.
    ShadowedVariable { variable: String },
    /// A tensor with the name of another.
    DeclaredTwice { tensor: String },
    /// A `Matrix` by `&mut`.
    WrittenMatrix { tensor: String },
    /// A function of the module with the name under which it uses a task of the library.
    DeclaredAndUsed { name: String, task: String },
    /// Accessors in the wrong order, or two of them for rows or for columns.
    AccessorOrder,
    /// A tile of a tile of a matrix whose outer accessor does not state its number of rows.
    OuterWithoutRows { tensor: String },
    /// An outer tile that has no rows, or more rows than the matrix.
    OuterRows { tensor: String, value: usize, most: u32 },
    /// A tile of a tile of a matrix whose outer tile is selected by a range.
    OuterMoves { tensor: String, size: u32 },
    /// Accessors that don't exist for the kind of a tensor's rows.
    Accessors { tensor: String, rows: RowsFault },
    /// The index of a tile that is neither a constant nor the variable of a range, alone or plus a constant. `variable` is a loop variable
    /// in the index; `range` says whether that loop runs over a range.
    Index { index: String, variable: String, range: bool },
    /// A call of a function of the module without a marker.
    Unmarked { name: String },
    /// A call with too few or too many const arguments.
    ConstArity { task: String, expected: usize, given: usize },
    /// A const parameter that no argument determines.
    NotInferred { task: String, name: String, generics: Vec<String> },
    /// A matrix task that is called for each send.
    MatrixTaskOfSend { task: String, send: String },
    /// A task, other than a put, that is called for each send of once-sent tokens.
    OnceArrivals { task: String },
    /// A task that looks up rows through the route and is not a put.
    NotAPut { task: String },
    /// A put of parts of rows, or between rows that no put connects.
    UnknownPut,
}

/// The kind of a tensor's rows, if an argument takes them for another kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowsFault {
    Tokens,
    Slots,
    Received,
    Once,
    Experts,
    Matrix,
    Routed,
    /// Received rows, named by a send that sends tokens once.
    ReceivedBySendOnce(SendOfRows),
    /// Slots, named by a send that sends tokens once.
    SlotsBySendOnce(SendOfRows),
    /// Once-sent rows, named by a send of each (token, k).
    OnceBySend(SendOfRows),
}

/// A send, as the loops around a call name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SendOfRows {
    pub(crate) send: String,
    pub(crate) source: String,
    pub(crate) expert: String,
}
