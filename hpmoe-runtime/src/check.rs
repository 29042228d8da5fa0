//! Checks of a launch, made before anything starts.

mod argument;
mod here;

use std::sync::Arc;

use argument::fits_tensor;
use here::here;
use hpmoe_kernels::{PerRank, Placement, Rank, Ranks, Route, RouteError};

use crate::backend::npu::Npu;
use crate::layout::route::sends_once;
use crate::layout::tables::arrival_turns;
use crate::layout::{LaunchRoute, RankSizes, RouteChunks};
use crate::tables::{RouteTable, ScheduleTable, Storage, TensorTable};
use crate::{Argument, ArgumentError, KernelTables, LaunchError, Streams};

/// Checks that the arguments fit the kernel and the route on all ranks.
pub(crate) fn arguments(
    tables: &KernelTables,
    ranks: Ranks,
    route: &LaunchRoute<'_>,
    arguments: &[Argument<'_>],
) -> Result<(), LaunchError> {
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

/// Checks that the group can use NPU tensors in place.
pub(crate) fn places(
    tables: &KernelTables,
    arguments: &[Argument<'_>],
    on_npus: bool,
    processes: bool,
) -> Result<(), ArgumentError> {
    let peers_write =
        |number: usize| processes && tables.tensors.iter().any(|tensor| tensor.storage == Storage::Shared(number));
    for (number, argument) in arguments.iter().enumerate().filter(|(_, argument)| argument.on_npus) {
        let (reason, way_out) = match (on_npus, peers_write(number)) {
            (false, _) => {
                ("but the group runs on the host", "use Group::on_npus, or pass a tensor of this machine's memory")
            }
            (true, true) => ("but other processes write it", "pass a tensor of this machine's memory, which is copied"),
            (true, false) => continue,
        };
        return Err(ArgumentError::OnNpus { tensor: argument.name, reason, way_out });
    }
    Ok(())
}

/// Checks that each NPU tensor lies in the memory of its rank's NPU: its first and its last byte.
pub(crate) fn owners(arguments: &[Argument<'_>], ranks: Ranks, npus: &[Arc<Npu>]) -> Result<(), LaunchError> {
    for argument in arguments.iter().filter(|argument| argument.on_npus) {
        for (rank, npu) in ranks.here().zip(npus).filter(|(rank, _)| argument.bytes(*rank) > 0) {
            let first = argument.part(rank).address;
            for address in [first, first.saturating_add(argument.bytes(rank) as u64 - 1)] {
                let found = npu.owner_of(address)?;
                if found != Some(npu.number()) {
                    let (tensor, rank, npu) = (argument.name, rank.id(), npu.number());
                    return Err(ArgumentError::Elsewhere { tensor, rank, address, found, npu }.into());
                }
            }
        }
    }
    Ok(())
}

/// Checks that the group can order its launches with the caller's streams.
pub(crate) fn streams(streams: Option<&Streams>, ranks: Ranks, on_npus: bool) -> Result<(), LaunchError> {
    match streams {
        Some(_) if !on_npus => Err(LaunchError::Streams),
        Some(streams) if streams.ranks() != ranks => {
            let (parts, group) = (here(streams.ranks()), here(ranks));
            Err(ArgumentError::PartsHere { tensor: "streams", parts, group }.into())
        }
        _ => Ok(()),
    }
}

/// Checks that each rank has room for the rows that it receives.
pub(crate) fn capacity(tables: &KernelTables, sizes: &RankSizes, chunks: &RouteChunks<'_>) -> Result<(), LaunchError> {
    let received = chunks.whole().ranks().into_iter().map(|rank| (rank, chunks.received(rank)));
    // Of equally full ranks the first, as kernels find it.
    match received.rev().max_by_key(|(_, rows)| *rows) {
        Some((rank, rows)) if rows > sizes.capacity => Err(LaunchError::capacity(tables, sizes, rank, rows)),
        _ => Ok(()),
    }
}

/// The schedule for a number of ranks.
pub(crate) fn schedule(tables: &KernelTables, ranks: usize) -> Result<&'static ScheduleTable, LaunchError> {
    let schedule = tables.schedules.iter().find(|schedule| schedule.ranks as usize == ranks);
    schedule.ok_or_else(|| {
        let available = tables.schedules.iter().map(|schedule| schedule.ranks).collect();
        LaunchError::NoSchedule { kernel: tables.name, ranks, available }
    })
}

/// Checks that the host's route fits the kernel.
pub(crate) fn fits_kernel(tables: &KernelTables, ranks: usize, route: &Route) -> Result<(), LaunchError> {
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
    fits_places(tables, ranks, route.local_experts())?;
    if route.has_copies() && sends_once(tables) {
        return Err(LaunchError::Copies { kernel });
    }
    if route.has_copies() && tables.adds_by_parts() {
        return Err(LaunchError::CopiesOfSums { kernel });
    }
    for rank in route.ranks() {
        let tokens = route.tokens(rank);
        few_enough(tables, rank, tokens)?;
        let empty = || route.empty_slots(rank).iter().position(|empty| *empty);
        if let Some((task, slot)) = tables.whole_slots.and_then(|task| Some((task, empty()?))) {
            return Err(LaunchError::empty_slot(tables, task, rank, slot));
        }
    }
    Ok(())
}

/// Checks that a placement is for this number of ranks.
pub(crate) fn placement_ranks(placement: &Placement, ranks: usize) -> Result<(), LaunchError> {
    let (placed, wanted) = (placement.ranks().count(), ranks);
    if placed != wanted { Err(RouteError::Placement { what: "ranks", placed, wanted }.into()) } else { Ok(()) }
}

/// Checks that a rank has `placed` places for experts, as the kernel was built for.
fn fits_places(tables: &KernelTables, ranks: usize, placed: usize) -> Result<(), LaunchError> {
    let (kernel, built) = (tables.name, tables.local_experts(ranks));
    if placed != built { Err(LaunchError::Places { kernel, placed, built }) } else { Ok(()) }
}

/// Checks that a route has the placement of the group that it is launched on, if the group has a placement.
pub(crate) fn same_placement(group: Option<&Placement>, route: &Route) -> Result<(), LaunchError> {
    match group.is_none_or(|placement| placement.digest() == route.placement_digest()) {
        true => Ok(()),
        false => Err(LaunchError::OtherPlacement),
    }
}

/// The placement of experts for a launch whose kernel makes its route: the group's placement or, if ranks have spare places, the even
/// placement. `None` if place `i` holds expert `i`.
pub(crate) fn placement(
    tables: &KernelTables,
    ranks: usize,
    group: Option<&Arc<Placement>>,
) -> Result<Option<Arc<Placement>>, LaunchError> {
    let Some(route) = tables.route else { return Ok(None) };
    let Some(placement) = group else {
        let plain = tables.local_experts(ranks) * ranks == tables.experts;
        let even =
            || Placement::even(Ranks::new(ranks), tables.experts, tables.spare).expect("there are experts and ranks");
        return Ok(if plain { None } else { Some(Arc::new(even())) });
    };
    let (placed, wanted) = (placement.experts(), tables.experts);
    if placed != wanted {
        return Err(RouteError::Placement { what: "experts", placed, wanted }.into());
    }
    fits_places(tables, ranks, placement.local_experts())?;
    if route.groups.is_some() {
        return Err(RouteError::PlacedGroups.into());
    }
    if sends_once(tables) {
        return Err(LaunchError::Copies { kernel: tables.name });
    }
    if placement.has_copies() && tables.adds_by_parts() {
        return Err(LaunchError::CopiesOfSums { kernel: tables.name });
    }
    Ok(Some(Arc::clone(placement)))
}

pub(crate) fn few_enough(tables: &KernelTables, rank: Rank, tokens: usize) -> Result<(), LaunchError> {
    let (kernel, limit) = (tables.name, tables.tokens);
    if tokens > limit { Err(LaunchError::Tokens { kernel, rank: rank.id(), tokens, limit }) } else { Ok(()) }
}

/// Number of tokens of each rank, for a launch whose kernel makes its route: the number of rows of the argument that has a row per token.
pub(crate) fn tokens(
    tables: &KernelTables,
    route: RouteTable,
    ranks: Ranks,
    arguments: &[Argument<'_>],
) -> Result<PerRank<usize>, LaunchError> {
    let number = argument_number(&tables.tensors[route.tokens]);
    let rows = number.and_then(|number| arguments.get(number)).filter(|rows| rows.ranks == ranks);
    // A missing argument, or one for another group, is found by the check of all arguments.
    let tokens = PerRank::from_fn(ranks, |rank| rows.map_or(0, |rows| rows.part(rank).count));
    ranks.here().try_for_each(|rank| few_enough(tables, rank, tokens[rank]))?;
    Ok(tokens)
}

/// Maximum number of rows of an expert in a chunk that the tables of a route have room for. It is the largest number that `Quotients` of
/// the device library divides, minus the rows of the tallest tile.
const MOST_EXPERT_ROWS: usize = (1 << 22) - (1 << 16);
/// Maximum number of row tiles of an expert that can be processed in the order in which their rows arrive (`MOST_ROUTE_TILES`).
const MOST_ROUTE_TILES: usize = 2048;
/// Maximum product of an expert's rows and a rank's experts: the kernel sorts by 32-bit keys of this size.
const MOST_KEYS: usize = 1 << 30;
/// Maximum number of slots of all ranks together. The kernel sums the faulty slots in 32 bits.
const MOST_SLOTS: usize = 1 << 28;

/// Maximum number of places for experts, summed over all ranks and chunks (`MOST_PAIRS`).
const MOST_PLACES: usize = 2048;
/// Number of places for experts, summed over all ranks and chunks, that fits on the chip for any numbers of ranks and chunks.
const PLACES_OF_ANY: usize = 1024;
/// Maximum number of a rank's tokens in a chunk if there is a placement, which multiplies numbers of tokens by 4096 in 32 bits.
const MOST_CUT: usize = (1 << 19) - 1;

/// Whether the lists with which a rank finds its received rows under a placement (`OwnCounts` of the device library) fit on the chip.
pub(crate) fn placed_arrivals_fit(sizes: &RankSizes) -> bool {
    const BLOCK: usize = 8;
    const LANES: usize = 64;
    // Words below what is kept (`UB_KEPT`), and lists of a word for each place (`ROUTE_LISTS`), each with a block of zeros before it.
    const WORDS: usize = 152 * 1024 / 4;
    const LISTS: usize = 15;
    let RankSizes { ranks, local_experts, .. } = *sizes;
    let counted = ranks * local_experts * sizes.counted_chunks();
    let lists = LISTS * ((counted + 1).next_multiple_of(LANES) + BLOCK);
    let fit = |chunks: usize| {
        let of_rank = local_experts * chunks;
        let pitch = chunks * local_experts.next_multiple_of(BLOCK);
        // The lists: where the counts of its places are; the sums over all previous sources; all counts of one source; the next of several
        // chunks that are counted for one.
        let merged = if chunks < sizes.counted_chunks() { pitch } else { 0 };
        let needed = lists + 2 * pitch + merged + counted.next_multiple_of(BLOCK);
        let sources = WORDS.saturating_sub(needed) / pitch;
        sources >= ranks.min(BLOCK / (1 << of_rank.trailing_zeros().min(BLOCK.trailing_zeros())))
    };
    sizes.of_launches().all(|sizes| fit(sizes.chunks))
}

/// Checks that the tables of a route that the kernel makes have room for this group. `is_placed` says whether a placement assigns experts
/// to ranks.
pub(crate) fn routing(
    tables: &KernelTables,
    schedule: &ScheduleTable,
    sizes: &RankSizes,
    is_placed: bool,
) -> Result<(), LaunchError> {
    let within = |what, value, limit, way_out| match value <= limit {
        true => Ok(()),
        false => {
            let (kernel, ranks) = (tables.name, sizes.ranks);
            Err(LaunchError::RouteTooLarge { kernel, ranks, what, value, limit, way_out })
        }
    };
    let rows = sizes.ranks.saturating_mul(sizes.chunk_tokens);
    within("rows of an expert", rows, MOST_EXPERT_ROWS, "lower TOKENS, use more chunks or fewer ranks")?;
    let keys = rows.saturating_mul(sizes.local_experts);
    within("pairs of a row and a local expert", keys, MOST_KEYS, "lower TOKENS, or use more chunks or ranks")?;
    let slots = sizes.ranks.saturating_mul(tables.tokens).saturating_mul(tables.top_k);
    within("slots of all ranks", slots, MOST_SLOTS, "lower TOKENS or use fewer ranks")?;
    let places = sizes.ranks * sizes.local_experts * sizes.counted_chunks();
    if sizes.chunks_at_most.is_some() {
        within("places of all ranks and chunks", places, MOST_PLACES, "build with fewer chunks_at_most")?;
    }
    if is_placed {
        let most = if placed_arrivals_fit(sizes) { MOST_PLACES } else { PLACES_OF_ANY };
        within("places of all ranks and chunks", places, most, "use fewer chunks or a smaller SPARE")?;
        let tokens = sizes.in_chunks(sizes.counted_chunks()).chunk_tokens;
        within("tokens of a chunk of a rank", tokens, MOST_CUT, "lower TOKENS or use more chunks")?;
    }
    for sizes in sizes.of_launches() {
        let tables = &tables.in_chunks(sizes.chunks);
        let schedule = if tables.chosen.is_empty() { schedule } else { self::schedule(tables, sizes.ranks)? };
        let walked = tables.spaces.iter().zip(arrival_turns(tables, schedule)).filter(|(_, turn)| turn.is_some());
        for (space, _) in walked {
            let tiles = sizes.expert_rows().div_ceil(space.height as usize);
            let way_out = "use taller row tiles, lower TOKENS or Group::capacity_rows, or use fewer ranks";
            within("row tiles of an expert", tiles, MOST_ROUTE_TILES, way_out)?;
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

#[cfg(test)]
mod tests;
