//! Failures that a test makes happen in a host run.

/// A failure that a test injects into a host run: the refusal of a resource, or a wait that ends too early. Core numbers count matrix cores
/// first, then vector cores.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedFault {
    /// The system refuses to start the rank's thread.
    RankThread,
    /// The system refuses to start the worker thread with this number. Numbers count from 1; the rank's own thread is number 0.
    WorkerThread(u32),
    /// The system refuses memory for the model of the core with this number.
    Core(u32),
    /// The system refuses memory for the stack of the core with this number.
    Stack(u32),
    /// The system refuses memory that an AscendC call of the core with this number asks for.
    Call(u32),
    /// A timeout: each core gives up one of its first `n` waits, chosen at random, even if that wait has been fulfilled. The field is `n`.
    Wait(u32),
}
