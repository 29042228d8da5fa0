//! Resources that a test makes unavailable.

/// A resource that a test makes unavailable, named by the call that asks for it.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedFault {
    /// The thread of the rank.
    RankThread,
    /// The worker thread with this number; 0 is the rank's own thread.
    WorkerThread(u32),
    /// Memory for the model of the core with this number, matrix cores first.
    Core(u32),
    /// The stack of the core with this number.
    Stack(u32),
    /// Memory that a call of the core with this number asks for.
    Call(u32),
    /// Time: each core gives up one of its first waits although the wait is over. The wait is picked at random among
    /// this many.
    Wait(u32),
}
