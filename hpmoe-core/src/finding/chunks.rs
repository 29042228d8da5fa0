//! Faults of a loop over chunks.

/// A fault of a loop over chunks. `chunk` is its variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChunkFault {
    /// A second loop over chunks.
    SecondLoop { variable: String, first: String },
    /// A loop over chunks inside another loop.
    Nested { variable: String },
    /// A tensor declared next to the loop over chunks, rather than inside it.
    TensorOutside { tensor: String, chunk: String },
    /// Another loop next to the loop over chunks.
    LoopOutside { variable: String, chunk: String },
    /// A task call next to the loop over chunks.
    CallOutside { task: String, chunk: String },
    /// A route that is made after tasks that run over all tokens. `makes_ids` says whether these tasks make the route's ids.
    RouteOfTasks { ids: String, makes_ids: bool, chunk: String },
    /// A tensor of once-sent rows in a loop over chunks.
    Once { tensor: String, chunk: String },
    /// Experts' matrices made in the loop.
    Experts { tensor: String, chunk: String },
    /// Rows given back that no put of the chunk has sent.
    Unsent { chunk: String },
    /// A parameter with the received rows of all chunks.
    ReceivedOfAll { tensor: String, chunk: String },
    /// A parameter with the slots of all chunks, at a peer.
    SlotsOfAll { tensor: String, chunk: String },
    /// Experts' matrices that each chunk overwrites.
    Overwritten { tensor: String, chunk: String },
    /// A call in the loop over chunks reads a sum over all chunks, which is complete only after the last.
    SumRead { tensor: String, chunk: String },
    /// A tensor of the loop that no call reads.
    Unread { tensor: String },
    /// Launches choose the number of chunks, up to `most`, but chunks add to a sum, and the reference has `count` chunks.
    ChosenSum { tensor: String, chunk: String, count: usize, most: usize },
    /// Launches choose the number of chunks, but a sum that a task adds is more than one product of an expert's rows.
    ChosenTerms { task: String, tensor: String, chunk: String },
    /// Launches choose the number of chunks, but no taskflow of the kernel has any.
    ChosenNone,
}
