//! Resources that tests let be missing.

/// A resource that a test lets be missing, at the call that asks for it.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedFault {
    /// The thread of the rank.
    RankThread,
    /// The worker thread with that number; 0 is the rank's own thread.
    WorkerThread(u32),
    /// Memory for the model of the core with that number, matrix cores first.
    Core(u32),
    /// The stack of that core.
    Stack(u32),
    /// Memory that one of that core's calls asks for.
    Call(u32),
    /// Time: each core gives up one of its first waits, any of so many, although it is over.
    Wait(u32),
}
