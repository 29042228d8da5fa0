//! What a kernel gets from a launch, and the runtime from a kernel; and the same for ranks that are processes.

mod descriptors;
mod joining;
mod launch;
mod processes;
mod strangers;
