//! References of kernels, called with tensors whose types only the launch knows.
//!
//! A library of kernels launches a taskflow by name. To call the Rust function itself, it needs code with the
//! function's types; `#[megakernel]` generates that code for each taskflow of a crate with a C interface.
#![expect(unsafe_code, reason = "copies from and to the memory of callers")]

use std::ptr;

use hpmoe_kernels::{Ranks, Route};

use crate::{Argument, CompiledKernel, Group, LaunchError, TensorArgument, check};

/// A call of a reference, with its ranks, route and tensors.
#[derive(Debug)]
pub struct ReferenceCall<'a> {
    ranks: Ranks,
    route: Option<&'a Route>,
    arguments: Vec<Argument<'a>>,
}

impl ReferenceCall<'_> {
    /// The ranks of the group.
    #[must_use]
    pub const fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// The host's route.
    ///
    /// # Panics
    ///
    /// If the kernel makes its own route.
    #[must_use]
    pub fn route(&self) -> &Route {
        self.route.expect("the taskflow takes a route")
    }

    /// A copy of tensor argument number `number` of the call, counted from 0.
    #[must_use]
    pub fn tensor<X: TensorArgument>(&self, number: usize) -> X {
        let from = &self.arguments[number];
        let tensor = X::like(from, self.route);
        copy(from, &tensor.argument(from.name, true));
        tensor
    }

    /// Copies `tensor` back to tensor argument number `number` of the call, counted from 0.
    pub fn give_back<X: TensorArgument>(&self, number: usize, tensor: &X) {
        let to = &self.arguments[number];
        assert!(to.writable, "`{}` was passed for reading", to.name);
        copy(&tensor.argument(to.name, false), to);
    }
}

/// Copies each rank's rows from one tensor to another, up to the number of rows of the shorter one.
fn copy(from: &Argument<'_>, to: &Argument<'_>) {
    for rank in from.ranks.here() {
        let address = |argument: &Argument<'_>| argument.part(rank).address as usize;
        let bytes = from.bytes(rank).min(to.bytes(rank));
        let (from, to) =
            (ptr::with_exposed_provenance::<u8>(address(from)), ptr::with_exposed_provenance_mut(address(to)));
        if bytes > 0 {
            // SAFETY: both arguments borrow that many bytes of cells on this thread; one of them is a tensor of `ReferenceCall::tensor`,
            // which shares memory with none.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }
}

impl Group {
    /// Calls the reference of a kernel on copies of tensors, and copies the results back. `route` is `None` if the
    /// kernel makes its own. `function` reads the arguments, calls the taskflow's function, and writes its results
    /// back.
    ///
    /// # Errors
    ///
    /// If an argument does not fit (as for [`launch`](Self::launch)) or is in the memory of NPUs, or if the ranks are processes.
    pub fn reference(
        &self,
        kernel: &CompiledKernel,
        function: fn(&ReferenceCall<'_>),
        route: Option<&Route>,
        arguments: Vec<Argument<'_>>,
    ) -> Result<(), LaunchError> {
        if self.ranks().only().is_some() {
            return Err(LaunchError::ReferenceOfProcesses { kernel: kernel.tables().name });
        }
        self.check_one(kernel.tables(), route, &arguments)?;
        check::places(kernel.tables(), &arguments, false, false)?;
        let placement = check::placement(kernel.tables(), self.ranks().count(), self.shared_placement())?;
        let call = || function(&ReferenceCall { ranks: self.ranks(), route, arguments });
        match placement {
            None => call(),
            Some(placement) => placement.scope(call),
        }
        Ok(())
    }
}
