//! The caller's memory in a launch: which parts overlap, which are in use, and which must be copied.

use std::fmt;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use hpmoe_runtime::RawPart;

use crate::error::Failure;

/// One rank's part of an argument: a range of the caller's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) tensor: &'static str,
    pub(crate) rank: usize,
    pub(crate) address: *mut u8,
    pub(crate) bytes: usize,
    pub(crate) writable: bool,
    /// Whether the bytes lie in NPU memory, which the host can't read.
    pub(crate) on_npu: bool,
}

/// A part that a launch has copied, with the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copied {
    pub(crate) tensor: &'static str,
    pub(crate) rank: usize,
    pub(crate) bytes: usize,
    pub(crate) reason: String,
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tensor, rank, bytes, reason } = self;
        write!(f, "`{tensor}` of rank {rank} was copied ({bytes} bytes): {reason}")
    }
}

impl Part {
    fn start(&self) -> usize {
        self.address.addr()
    }

    fn end(&self) -> usize {
        self.start() + self.bytes
    }

    fn same_bytes(&self, other: &Self) -> bool {
        (self.start(), self.bytes, self.rank) == (other.start(), other.bytes, other.rank)
    }

    pub(crate) fn name(&self) -> String {
        format!("`{}` of rank {}", self.tensor, self.rank)
    }
}

/// The parts that a launch can't use in place: their numbers, and the reasons. Parts in NPU memory are never copied.
///
/// # Errors
///
/// If a part that is written shares memory with another part, or a part ends beyond the address space.
pub(crate) fn to_copy(parts: &[Part]) -> Result<Vec<(usize, String)>, Failure> {
    if let Some(part) = parts.iter().find(|part| part.start().checked_add(part.bytes).is_none()) {
        let (name, address, bytes) = (part.name(), part.start(), part.bytes);
        return Err(Failure::invalid(format!(
            "{name} has {bytes} bytes at address {address:#x}, which end beyond any memory: check its number of rows"
        )));
    }
    let mut copies = Vec::new();
    for on_npu in [false, true] {
        let in_memory = |&number: &usize| parts[number].bytes > 0 && parts[number].on_npu == on_npu;
        copies.extend(overlaps(parts, (0..parts.len()).filter(in_memory).collect())?);
    }
    copies.retain(|(number, _)| !parts[*number].on_npu);
    copies.sort_by_key(|(number, _)| *number);
    Ok(copies)
}

/// The parts of one memory that must be copied, with the reasons: those that don't start at a multiple of the alignment, and those that
/// share memory with a part that is used in place.
fn overlaps(parts: &[Part], mut order: Vec<usize>) -> Result<Vec<(usize, String)>, Failure> {
    order.sort_by_key(|&number| (parts[number].start(), parts[number].bytes, number));
    // The parts with the furthest end so far: of all, of the written ones, and of those used in place, which are disjoint.
    let (mut any, mut written, mut in_place) = (None::<&Part>, None::<&Part>, None::<&Part>);
    let mut copies = Vec::new();
    for number in order {
        let part = &parts[number];
        let reaches = |other: Option<&'_ Part>| other.is_some_and(|other| other.end() > part.start());
        if let Some(other) = (if part.writable { any } else { written }).filter(|other| reaches(Some(other))) {
            let (written, other) = if part.writable { (part, other) } else { (other, part) };
            return Err(Failure::invalid(format!(
                "{} is written and shares memory with {}: give it memory of its own",
                written.name(),
                other.name()
            )));
        }
        let shared = in_place.filter(|other| reaches(Some(other)) && !other.same_bytes(part));
        if part.start() % RawPart::ALIGNMENT != 0 {
            let reason = format!("it starts at {:#x}, which is not a multiple of {}", part.start(), RawPart::ALIGNMENT);
            copies.push((number, reason));
        } else if let Some(other) = shared {
            copies.push((number, format!("it shares memory with {}", other.name())));
        } else {
            in_place = Some(part);
        }
        let further = |old: Option<&'_ Part>| old.is_none_or(|old| old.end() < part.end());
        if further(any) {
            any = Some(part);
        }
        if part.writable && further(written) {
            written = Some(part);
        }
    }
    Ok(copies)
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read and written as bytes")] [u8; RawPart::ALIGNMENT]);

/// A copy of a part, which starts on a line.
pub(crate) struct PartCopy {
    part: Part,
    lines: Vec<Line>,
}

impl PartCopy {
    /// Copies a part.
    ///
    /// # Safety
    ///
    /// The part's bytes are allocated and initialised.
    pub(crate) unsafe fn new(part: Part) -> Result<Self, Failure> {
        let (mut lines, count) = (Vec::new(), part.bytes.div_ceil(RawPart::ALIGNMENT));
        lines.try_reserve_exact(count).map_err(|_| {
            let (name, bytes) = (part.name(), part.bytes);
            Failure::invalid(format!(
                "there is no memory for a copy of {name} ({bytes} bytes): let it start at a multiple of 64, so that no copy is needed"
            ))
        })?;
        lines.resize(count, Line([0; RawPart::ALIGNMENT]));
        let mut copy = Self { part, lines };
        // SAFETY: the caller's bytes, and the same number of bytes of new lines.
        unsafe { ptr::copy_nonoverlapping(part.address, copy.address(), part.bytes) };
        Ok(copy)
    }

    pub(crate) fn address(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    /// Copies the results of the launch back to the part.
    ///
    /// # Safety
    ///
    /// The part's bytes are allocated, and nothing else uses them.
    pub(crate) unsafe fn copy_back(&mut self) {
        if self.part.writable {
            // SAFETY: the number of the caller's bytes that were copied.
            unsafe { ptr::copy_nonoverlapping(self.address(), self.part.address, self.part.bytes) };
        }
    }
}

/// The ranges of host memory that running launches use, as (start, end, whether the launch writes it).
static IN_USE: Mutex<Vec<(usize, usize, bool)>> = Mutex::new(Vec::new());

/// Marks ranges as in use by a launch, until it is dropped.
#[derive(Debug)]
pub(crate) struct InUse(Vec<(usize, usize, bool)>);

impl InUse {
    /// Marks parts as in use. Uses of NPU memory need no mark, because streams order them.
    ///
    /// # Errors
    ///
    /// If a launch of another thread writes one of the parts, or uses one that this launch writes.
    pub(crate) fn begin(parts: &[Part]) -> Result<Self, Failure> {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = || parts.iter().filter(|part| !part.on_npu);
        let used = |part: &&Part| {
            let meets = |&(start, end, written): &(usize, usize, bool)| {
                start < part.end() && part.start() < end && (written || part.writable)
            };
            part.bytes > 0 && in_use.iter().any(meets)
        };
        if let Some(part) = parts().find(used) {
            let name = part.name();
            return Err(Failure::invalid(format!(
                "{name} lies in memory that a launch of another thread uses, and one of the two launches writes it: wait for that launch"
            )));
        }
        let own: Vec<_> = parts().map(|part| (part.start(), part.end(), part.writable)).collect();
        in_use.extend(&own);
        Ok(Self(own))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        for own in &self.0 {
            if let Some(at) = in_use.iter().position(|used| used == own) {
                in_use.swap_remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
