//! Arguments that peers write.

use crate::Argument;
use crate::tables::{KernelTables, Storage};

/// The arguments of a step that peers write: each with the number of its tensor.
pub(super) fn shared_arguments<'a, 'b>(
    tables: &KernelTables,
    arguments: &'b [Argument<'a>],
) -> impl Iterator<Item = (usize, &'b Argument<'a>)> {
    tables.tensors.iter().enumerate().filter_map(|(number, tensor)| match tensor.storage {
        Storage::Shared(argument) => Some((number, &arguments[argument])),
        Storage::Argument(_) | Storage::Workspace | Storage::Symmetric => None,
    })
}
