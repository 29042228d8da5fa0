//! Ranks, launches and backends, for programs that run kernels written in hpmoe.
//!
//! Programs start with `use hpmoe_runtime::prelude::*;`. A [`Group`] runs a kernel on its ranks. The function `launch` in the
//! module of each taskflow calls [`Group::launch`] with its [`CompiledKernel`], and returns a [`Report`] or a [`LaunchError`].

#![deny(unsafe_code)]

pub mod abi;
mod argument;
mod backend;
mod bootstrap;
mod check;
mod error;
mod group;
mod kernel;
mod layout;
mod memory;
#[doc(hidden)]
pub mod npus;
pub mod prelude;
mod report;
pub mod tables;
pub mod tasks;
#[cfg(test)]
mod testing;

pub use argument::{Argument, RawPart, RawTensor, TensorArgument};
pub use backend::host::HostStatistics;
pub use backend::npu::NpuError;
pub use bootstrap::{Bootstrap, BootstrapError, Place, TcpBootstrap};
pub use error::{ArgumentError, LaunchError, Resource};
pub use group::Group;
#[doc(hidden)]
pub use group::InjectedFault;
pub use hpmoe_kernels::{op, route};
pub use hpmoe_macros::*;
pub use kernel::{CompiledKernel, DeviceCode, EntryPoint};
pub use layout::KernelMemory;
pub use report::{CoreReport, Report, StuckReport};
pub use tables::KernelTables;
