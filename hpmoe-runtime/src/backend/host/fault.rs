//! Failures that a test makes happen in a host run.

/// A failure that a test makes happen: a missing resource, or a wait that ends too early.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedFault {
    /// The start of the rank's thread.
    RankThread,
    /// The start of the worker thread with this number; 0 is the rank's own thread.
    WorkerThread(u32),
    /// Memory for the model of the core with this number, matrix cores first.
    Core(u32),
    /// Memory for the stack of the core with this number, matrix cores first.
    Stack(u32),
    /// Memory that a call of the core with this number asks for, matrix cores first.
    Call(u32),
    /// A timeout: each core gives up one of its first waits, even if that wait has been fulfilled. The number of the
    /// wait is random, and at most this number.
    Wait(u32),
}
