//! Checks of a launch, made before anything starts.

use hpmoe_kernels::{Rank, Ranks, Route};

use crate::layout::RouteChunks;
use crate::tables::{RowKind, ScheduleTable, Storage, TensorTable};
use crate::{Argument, ArgumentError, KernelTables, LaunchError, RawPart};

/// Whether the route and the arguments fit the kernel on all ranks.
pub(crate) fn launch(
    tables: &KernelTables,
    ranks: Ranks,
    route: &Route,
    arguments: &[Argument<'_>],
) -> Result<(), LaunchError> {
    fits_kernel(tables, ranks.count(), route)?;
    let tensors = || tables.tensors.iter().filter_map(|t| Some((t, argument_number(t)?)));
    let wanted = tensors().count();
    if arguments.len() != wanted {
        return Err(ArgumentError::Arity { kernel: tables.name, wanted, got: arguments.len() }.into());
    }
    for (tensor, number) in tensors() {
        fits_tensor(tensor, &arguments[number], ranks, route)?;
    }
    Ok(())
}

/// Whether each rank has room for the rows that it receives.
pub(crate) fn capacity(chunks: &RouteChunks<'_>) -> Result<(), LaunchError> {
    let capacity = chunks.capacity();
    for rank in chunks.whole().ranks() {
        let rows = chunks.received(rank);
        if rows > capacity {
            return Err(LaunchError::Capacity { rank: rank.id(), rows, capacity });
        }
    }
    Ok(())
}

/// The schedule for a number of ranks.
pub(crate) fn schedule(tables: &KernelTables, ranks: usize) -> Result<&ScheduleTable, LaunchError> {
    let schedule = tables.schedules.iter().find(|schedule| schedule.ranks as usize == ranks);
    schedule.ok_or_else(|| {
        let available = tables.schedules.iter().map(|schedule| schedule.ranks).collect();
        LaunchError::NoSchedule { kernel: tables.name, ranks, available }
    })
}

fn fits_kernel(tables: &KernelTables, ranks: usize, route: &Route) -> Result<(), LaunchError> {
    let kernel = tables.name;
    if route.ranks().count() != ranks {
        return Err(LaunchError::RouteRanks { route: route.ranks().count(), group: ranks });
    }
    for (name, route, built) in
        [("EXPERTS", route.expert_count(), tables.experts), ("TOP_K", route.top_k(), tables.top_k)]
    {
        if route != built {
            return Err(LaunchError::RouteConstant { kernel, name, route, built });
        }
    }
    for rank in route.ranks() {
        let tokens = route.tokens(rank);
        if tokens > tables.tokens {
            return Err(LaunchError::Tokens { kernel, rank: rank.id(), tokens, limit: tables.tokens });
        }
        let gaps = tokens * tables.top_k - route.order(rank).len();
        if gaps > 0 {
            return Err(LaunchError::Gaps { kernel, rank: rank.id(), gaps });
        }
    }
    Ok(())
}

const fn argument_number(tensor: &TensorTable) -> Option<usize> {
    match tensor.storage {
        Storage::Argument(number) | Storage::Shared(number) => Some(number),
        Storage::Workspace | Storage::Symmetric => None,
    }
}

fn fits_tensor(
    tensor: &TensorTable,
    argument: &Argument<'_>,
    ranks: Ranks,
    route: &Route,
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

/// Whether a part starts on a line. Tensors of this crate do.
fn fits_line(argument: &Argument<'_>, rank: Rank) -> Result<(), ArgumentError> {
    let (address, alignment) = (argument.part(rank).address, RawPart::ALIGNMENT);
    match argument.bytes(rank) == 0 || address.is_multiple_of(alignment as u64) {
        true => Ok(()),
        false => Err(ArgumentError::Alignment { tensor: argument.name, rank: rank.id(), address, alignment }),
    }
}

/// Which ranks are here, in words.
fn here(ranks: Ranks) -> String {
    match ranks.only() {
        Some(only) => format!("{only} alone"),
        None => format!("all {} ranks", ranks.count()),
    }
}

fn fits_rows(tensor: &TensorTable, argument: &Argument<'_>, route: &Route, rank: Rank) -> Result<(), ArgumentError> {
    let count = argument.part(rank).count;
    let error = |unit, got, wanted, reason, way_out| ArgumentError::Rows {
        tensor: argument.name,
        rank: rank.id(),
        unit,
        got,
        wanted,
        reason,
        way_out,
    };
    let tokens = route.tokens(rank);
    let wanted = match tensor.row_kind {
        RowKind::Expert(_) => {
            let local = route.local_experts();
            return match count == local {
                true => Ok(()),
                false => Err(error(
                    "experts",
                    count,
                    local,
                    "each rank owns",
                    "give each rank the weights of its own experts",
                )),
            };
        }
        RowKind::Token => tokens,
        RowKind::Slot => tokens * route.top_k(),
        RowKind::Received => route.received(rank),
        RowKind::Once => route.received_once(rank),
        RowKind::Matrix(height) => height as usize,
    };
    if count != wanted {
        let way_out = "give it the rows of the tokens that the route was made from";
        return Err(error("rows", count, wanted, "the route asks for", way_out));
    }
    Ok(())
}

/// Whether the argument has the kind of rows that the kernel was built for.
fn fits_kind(tensor: &TensorTable, argument: &Argument<'_>) -> Result<(), ArgumentError> {
    let words = |kind| match kind {
        RowKind::Expert(height) => format!("{height} rows per expert"),
        RowKind::Token => "a row per token".to_owned(),
        RowKind::Received => "a row per token received".to_owned(),
        RowKind::Once => "a row per token received, sent once".to_owned(),
        RowKind::Slot => "a row per (token, k)".to_owned(),
        RowKind::Matrix(height) => format!("{height} rows"),
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

#[cfg(test)]
mod tests;
