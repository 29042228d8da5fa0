//! Ranks, launches and backends, for programs that run kernels written in hpmoe.
//!
//! Programs start with `use hpmoe_runtime::prelude::*;`, and so do their kernels. The main items, in the order in which a program
//! meets them:
//!
//! | item | description |
//! |---|---|
//! | [`megakernel`] | marks a module as a kernel; [`aic_task`], [`aiv_task`], [`comm_put`] and [`taskflow`] mark its functions |
//! | [`Group`] | the ranks that run a kernel together: threads, or processes (`Group::from_launcher`), on the CPU or on NPUs |
//! | [`PerRank`](prelude::PerRank) | one part for each rank, of a [`Tensor`](prelude::Tensor), of [`Experts`](prelude::Experts) … |
//! | [`Route`](prelude::Route) | the experts that each token goes to, made from the router's ids |
//! | `forward::launch(&group, &route, …)` | runs the kernel of the taskflow `forward`; the macro writes it next to the function |
//! | [`Report`], [`LaunchError`] | the result of a launch, or the reason why it failed, with the state of each core |
//! | [`tasks`] | tasks that layers have in common |
//! | [`taskflows`] | parts of taskflows that layers have in common |
//!
//! Everything but the launch is ordinary Rust, in which kernels are tested:
//!
//! ```
//! use hpmoe_runtime::prelude::*;
//!
//! // A task. In a module with #[megakernel], it has the marker #[aiv_task].
//! fn double(x: &Tile<bf16, 8, 16>, y: &mut Tile<bf16, 8, 16>) {
//!     y.store(x.load() * 2.0);
//! }
//!
//! // Two ranks, the first one with three tokens and the second one with one.
//! let group = Group::new(2);
//! let ep = group.ranks();
//! let tokens = [3, 1];
//! let x = PerRank::from_fn(ep, |r| Tensor::<bf16, 16>::from_f32(&vec![1.5; tokens[r.id()] * 16]));
//! let mut y = PerRank::from_fn(ep, |r| Tensor::<bf16, 16>::zeros(tokens[r.id()]));
//!
//! // Each token goes to the experts 0 and 3, of four.
//! let ids = PerRank::from_fn(ep, |r| Tensor::<i32, 2>::from_vec([0, 3].repeat(tokens[r.id()])));
//! let route = Route::new(ep, 4, &ids)?;
//!
//! // What a taskflow does: it cuts tensors into tiles, and calls tasks.
//! for r in ep {
//!     for t in route.token_blocks::<8>(r) {
//!         double(&x[r].rows(t), &mut y[r].rows(t));
//!     }
//! }
//! assert_eq!(y[Rank::new(1)].to_f32(), [3.0; 16]);
//! # Ok::<(), RouteError>(())
//! ```
//!
//! The book in `docs/` of the repository goes from an empty crate to a checked launch in its first chapter.

#![deny(unsafe_code)]

pub mod abi;
mod argument;
mod backend;
mod bootstrap;
mod check;
mod engine;
mod error;
mod group;
mod kernel;
mod layout;
mod memory;
#[doc(hidden)]
pub mod npus;
mod poisoned;
pub mod prelude;
mod reference;
mod report;
mod stream;
pub mod tables;
pub mod taskflows;
pub mod tasks;
#[cfg(test)]
mod testing;

pub use argument::{Argument, RawPart, RawTensor, TensorArgument};
#[doc(hidden)]
pub use backend::host::InjectedFault;
#[doc(hidden)]
pub use backend::host::StandardArithmetic;
pub use backend::host::{HostStatistics, Resource};
pub use backend::npu::{NpuError, ShmemError, end_npus};
pub use bootstrap::{Besides, Bootstrap, BootstrapError, Cancel, Joining, Place, Secret, Strangers, TcpBootstrap};
pub use error::{ArgumentError, LaunchError};
pub use group::{FixedLaunch, Group, Pending};
pub use hpmoe_kernels::memory::{MemoryLine, MemoryPlace, MemoryTable};
#[doc(hidden)]
pub use hpmoe_kernels::printable;
pub use hpmoe_kernels::{
    LoadAverage, LogicalExpert, Move, Payoff, Placement, PlacementCosts, PlacementError, formats, op, route,
};
pub use hpmoe_macros::*;
pub use kernel::{CompiledKernel, DeviceCode, EntryPoint};
pub use layout::KernelMemory;
#[doc(hidden)]
pub use reference::ReferenceCall;
pub use report::{ClockOffset, CoreReport, CoreTrace, RankTrace, Report, StuckReport, TileTrace, Trace};
pub use stream::Streams;
pub use tables::KernelTables;
