//! What is wrong with a task call, the loops around it and the tensors it names.

use crate::graph::RowKind;

/// Loops around a call that make no iteration space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Loops {
    /// No loop gives the call rows.
    Outside,
    /// The loops choose no row tile, expert, send or token block.
    NoItem {
        /// Variables of the loops, outermost first.
        variables: Vec<String>,
    },
    /// A loop that gives the call the same rows again.
    Repeated {
        /// Its variable.
        variable: String,
    },
    /// Sender and receiver are one loop variable.
    SentToItself {
        /// Variable of the send.
        send: String,
        /// The rank.
        rank: String,
    },
    /// A rank in brackets that the loops don't choose.
    UnknownRank {
        /// The tensor.
        tensor: String,
    },
    /// Accessors with variables of other loops.
    UnknownTile {
        /// The tensor.
        tensor: String,
    },
}

/// Why the executing rank can't access a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remote {
    /// The rows lie at the other end of the send.
    OtherEnd {
        /// What is looked for: `tokens of `s``.
        what: String,
        /// The rank that has it, as written.
        rank: String,
    },
    /// A second argument that is read, on another rank than the first.
    Read,
    /// A written argument of a task that is not a put.
    Write {
        /// The task.
        task: String,
    },
}

/// A call, or a declaration that calls rely on, that the compiler can't carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallFault {
    /// A loop variable with the name of one around it.
    ShadowedVariable {
        /// The name.
        variable: String,
    },
    /// A tensor with the name of another.
    DeclaredTwice {
        /// The name.
        tensor: String,
    },
    /// A `Matrix` by `&mut`.
    WrittenMatrix {
        /// The tensor.
        tensor: String,
    },
    /// A function of the module with the name of a used library task.
    DeclaredAndUsed {
        /// The name in the module.
        name: String,
        /// The name in the library.
        task: String,
    },
    /// Accessors that don't follow one another.
    AccessorOrder,
    /// Accessors that the rows of a tensor don't have.
    Accessors {
        /// The tensor.
        tensor: String,
        /// What its rows stand for.
        rows: RowKind,
        /// The send, where its kind is the reason.
        send: Option<SendKind>,
    },
    /// A const argument that no argument determines.
    NotInferred {
        /// The task.
        task: String,
        /// The const parameter.
        name: String,
    },
    /// A matrix task on a send.
    MatrixTaskOfSend {
        /// The task.
        task: String,
        /// The send.
        send: String,
    },
    /// A call where once-sent tokens arrive.
    OnceArrivals {
        /// The task.
        task: String,
    },
    /// A task that looks up rows through the route and is not a put.
    NotAPut {
        /// The task.
        task: String,
    },
    /// A put between rows that no put connects.
    UnknownPut,
}

/// A send and how it sends tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SendKind {
    /// Its variable.
    pub send: String,
    /// Whether each token is sent once to a rank.
    pub once: bool,
    /// The sender.
    pub source: String,
    /// The expert.
    pub expert: String,
}

/// What a loop over chunks can't have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChunkFault {
    /// A second loop over chunks.
    SecondLoop {
        /// Its variable.
        variable: String,
        /// Variable of the first.
        first: String,
    },
    /// A loop over chunks inside another loop.
    Nested {
        /// Its variable.
        variable: String,
    },
    /// A statement next to the loop.
    Outside {
        /// The statement: `` `recv` ``, ``the call of `project` ``.
        what: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// Once-sent rows.
    Once {
        /// The tensor.
        tensor: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// Experts' matrices made in the loop.
    Experts {
        /// The tensor.
        tensor: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// Rows given back that no put of the chunk has sent.
    Unsent {
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// A parameter with the received rows of all chunks.
    ReceivedOfAll {
        /// The tensor.
        tensor: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// A parameter with the slots of all chunks, at a peer.
    SlotsOfAll {
        /// The tensor.
        tensor: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// Experts' matrices that each chunk overwrites.
    Overwritten {
        /// The tensor.
        tensor: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// A sum of all chunks that one of them reads.
    SumRead {
        /// The tensor.
        tensor: String,
        /// Variable of the chunk loop.
        chunk: String,
    },
    /// A tensor of a chunk that nothing reads.
    Unread {
        /// The tensor.
        tensor: String,
    },
}
