//! The caller's memory that a launch works on.

use hpmoe_runtime::prelude::{Group, PerRank, Route};
use hpmoe_runtime::tables::TensorTable;
use hpmoe_runtime::{Argument, RawPart};

use crate::error::Failure;
use crate::header::HpmoeTensor;
use crate::kernel::Kernel;
use crate::memory::{Copied, InUse, Part, PartCopy, to_copy};
use crate::parts::{part, raw_tensor};

/// The memory of a launch: the caller's, with copies of the parts that can't be used in place.
pub(crate) struct LaunchMemory {
    /// The parts of the first argument, then those of the second, and so on.
    parts: Vec<LaunchPart>,
    copies: Vec<PartCopy>,
    pub(crate) copied: Vec<Copied>,
    _in_use: InUse,
}

/// One rank's part of an argument.
struct LaunchPart {
    raw: RawPart,
    on_npu: bool,
}

impl LaunchMemory {
    /// Checks the parts, and copies those that can't be used in place.
    ///
    /// # Safety
    ///
    /// The conditions of `hpmoe_launch` in the header apply.
    pub(crate) unsafe fn new(
        kernel: &Kernel,
        group: &Group,
        route: Option<&Route>,
        tensors: &[HpmoeTensor],
    ) -> Result<Self, Failure> {
        let (mut parts, mut launched) = (Vec::with_capacity(tensors.len()), Vec::with_capacity(tensors.len()));
        let mut tensors = tensors.iter();
        for table in kernel.arguments() {
            for rank in group.ranks().here() {
                let tensor = tensors.next().expect("the number of parts has been checked");
                let (part, raw) = part(kernel.compiled.tables(), table, rank, route, tensor)?;
                launched.push(LaunchPart { raw, on_npu: part.on_npu });
                parts.push(part);
            }
        }
        for parts in parts.chunks_exact(group.ranks().here().count()) {
            in_one_memory(parts)?;
        }
        let reasons = to_copy(&parts)?;
        let in_use = InUse::begin(&parts)?;
        let mut memory = Self { parts: launched, copies: Vec::new(), copied: Vec::new(), _in_use: in_use };
        for (number, reason) in reasons {
            let part @ Part { tensor, rank, bytes, .. } = parts[number];
            // SAFETY: the caller's memory.
            let mut copy = unsafe { PartCopy::new(part) }?;
            memory.parts[number].raw.address = copy.address();
            memory.copies.push(copy);
            memory.copied.push(Copied { tensor, rank, bytes, reason });
        }
        Ok(memory)
    }

    /// The arguments of a launch on this memory.
    ///
    /// # Safety
    ///
    /// The conditions of `hpmoe_launch` in the header apply. The arguments are not used after this memory is dropped.
    pub(crate) unsafe fn arguments(&self, kernel: &Kernel, group: &Group) -> Vec<Argument<'static>> {
        let argument = |(table, parts): (&'static TensorTable, &[LaunchPart])| {
            let mut raws = parts.iter().map(|part| part.raw);
            let raws = PerRank::from_fn(group.ranks(), |_| raws.next().expect("a part for each rank"));
            let make = if parts.iter().any(|part| part.on_npu) { Argument::on_npus } else { Argument::from_raw };
            // SAFETY: the caller's memory, or copies of it.
            unsafe { make(table.name, raw_tensor(table), &raws) }
        };
        let here = group.ranks().here().count();
        kernel.arguments().into_iter().zip(self.parts.chunks_exact(here)).map(argument).collect()
    }

    /// Refuses memory if a part of it had to be copied.
    pub(crate) fn in_place(self) -> Result<Self, Failure> {
        match self.copied.first() {
            None => Ok(self),
            Some(Copied { tensor, rank, reason, .. }) => Err(Failure::invalid(format!(
                "`{tensor}` of rank {rank} can't be used in place ({reason}), but a fixed launch copies nothing: give it memory of its own \
                 that starts at a multiple of {}",
                RawPart::ALIGNMENT
            ))),
        }
    }

    /// Copies results from copies to the caller's memory.
    pub(crate) fn bring_back(&mut self) {
        // SAFETY: the caller's memory, which stays until the launch has been waited for.
        self.copies.iter_mut().for_each(|copy| unsafe { copy.copy_back() });
    }
}

/// Refuses an argument with some parts in NPU memory and others in host memory. Parts without bytes may be anywhere.
fn in_one_memory(parts: &[Part]) -> Result<(), Failure> {
    let mut filled = parts.iter().filter(|part| part.bytes > 0);
    let Some(first) = filled.next() else { return Ok(()) };
    match filled.find(|part| part.on_npu != first.on_npu) {
        None => Ok(()),
        Some(other) => {
            let (on, off) = if first.on_npu { (first, other) } else { (other, first) };
            Err(Failure::invalid(format!(
                "{} lies in the memory of an NPU, but its part of rank {} lies in this machine's memory: pass all parts of an argument in one kind of memory",
                on.name(),
                off.rank
            )))
        }
    }
}
