//! The interface between launches and kernels, with ranks that are threads and with ranks that are processes.

mod descriptors;
mod joining;
mod launch;
mod processes;
mod strangers;
