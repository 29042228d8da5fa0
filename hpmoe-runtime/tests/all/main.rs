//! The interface between launches and kernels, for ranks that are threads and for processes.

mod descriptors;
mod joining;
mod launch;
mod processes;
mod strangers;
