//! Checks an argument against the kernel's tensor.

use hpmoe_kernels::route::KeptWords;
use hpmoe_kernels::{Rank, Ranks};

use super::here::here;
use crate::layout::{KernelRoute, LaunchRoute, RankSizes};
use crate::tables::{RowKind, TensorTable};
use crate::{Argument, ArgumentError, RawPart};

/// Checks that an argument has the type, row count and location of the kernel's tensor, on each rank of this process.
pub(super) fn fits_tensor(
    tensor: &TensorTable,
    argument: &Argument<'_>,
    ranks: Ranks,
    route: &LaunchRoute<'_>,
) -> Result<(), ArgumentError> {
    let name = argument.name;
    if argument.ranks.count() != ranks.count() {
        return Err(ArgumentError::Parts { tensor: name, parts: argument.ranks.count(), ranks: ranks.count() });
    }
    if argument.ranks != ranks {
        return Err(ArgumentError::PartsHere { tensor: name, parts: here(argument.ranks), group: here(ranks) });
    }
    let columns = tensor.columns as usize;
    if (argument.element, argument.columns) != (tensor.element, columns) {
        return Err(ArgumentError::Type {
            tensor: name,
            element: tensor.element,
            columns,
            got: argument.element,
            got_columns: argument.columns,
        });
    }
    fits_kind(tensor, argument)?;
    if tensor.writable && !argument.writable {
        return Err(ArgumentError::ReadOnly { tensor: name });
    }
    ranks.here().try_for_each(|rank| {
        fits_rows(tensor, argument, route, rank)?;
        fits_line(argument, rank)
    })
}

/// Checks that a part starts at a multiple of a cache line. Tensors of this crate do.
fn fits_line(argument: &Argument<'_>, rank: Rank) -> Result<(), ArgumentError> {
    let (address, alignment) = (argument.part(rank).address, RawPart::ALIGNMENT);
    match argument.bytes(rank) == 0 || address % alignment as u64 == 0 {
        true => Ok(()),
        false => Err(ArgumentError::Alignment { tensor: argument.name, rank: rank.id(), address, alignment }),
    }
}

fn fits_rows(
    tensor: &TensorTable,
    argument: &Argument<'_>,
    route: &LaunchRoute<'_>,
    rank: Rank,
) -> Result<(), ArgumentError> {
    let got = argument.part(rank).count;
    let asked = route.rows(tensor.row_kind, rank);
    if let (RowKind::Routed, LaunchRoute::Kernel(route)) = (tensor.row_kind, route) {
        kept_chunks(argument, route, rank)?;
    }
    let (unit, wanted, reason, way_out) = match (tensor.row_kind, route) {
        (RowKind::Expert(height), _) => {
            let experts = asked / height as usize;
            ("experts", experts, "each rank owns", "give each rank the weights of its own experts")
        }
        (RowKind::Received | RowKind::Once, LaunchRoute::Kernel(_)) => (
            "rows",
            asked,
            "a kernel that makes its route has room for",
            "make the tensor with PerRank::with_room, for the rows that each rank has room for",
        ),
        (RowKind::Routed, _) => (
            "words",
            asked,
            "this group's ranks, experts and tokens need",
            "make the tensor with PerRank::routed for the tokens of this launch, or pass the route that a launch of the same tokens has kept",
        ),
        (_, LaunchRoute::Kernel(_)) => {
            ("rows", asked, "the tokens of this launch need", "give all tensors with rows of tokens the same tokens")
        }
        (_, LaunchRoute::Host(_)) => {
            ("rows", asked, "the route needs", "give it the rows of the tokens that the route was made from")
        }
    };
    match got == wanted {
        true => Ok(()),
        false => {
            let (tensor, rank) = (argument.name, rank.id());
            Err(ArgumentError::Rows { tensor, rank, unit, got, wanted, reason, way_out })
        }
    }
}

/// Checks that a kept route, or memory for one, has counts for the kernel's number of chunks.
fn kept_chunks(argument: &Argument<'_>, route: &KernelRoute, rank: Rank) -> Result<(), ArgumentError> {
    let RankSizes { ranks, experts, top_k, .. } = *route.sizes();
    let wanted = route.sizes().kept_chunks();
    match KeptWords::chunks_of(ranks, experts, top_k, route.tokens(rank), argument.part(rank).count) {
        Some(got) if got != wanted => {
            Err(ArgumentError::KeptChunks { tensor: argument.name, rank: rank.id(), got, wanted })
        }
        _ => Ok(()),
    }
}

/// Checks that the argument has the kind of rows that the kernel was built for.
fn fits_kind(tensor: &TensorTable, argument: &Argument<'_>) -> Result<(), ArgumentError> {
    let words = |kind| match kind {
        RowKind::Expert(height) => format!("{height} rows per expert"),
        RowKind::Token => "a row per token".to_owned(),
        RowKind::Received => "a row per token received".to_owned(),
        RowKind::Once => "a row per token received, sent once".to_owned(),
        RowKind::Slot => "a row per (token, k)".to_owned(),
        RowKind::Matrix(height) => format!("{height} rows"),
        RowKind::Routed => "words of a kept route".to_owned(),
    };
    match argument.kind == tensor.row_kind {
        true => Ok(()),
        false => Err(ArgumentError::Kind {
            tensor: argument.name,
            wanted: words(tensor.row_kind),
            got: words(argument.kind),
        }),
    }
}
