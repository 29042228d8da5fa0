//! The values that processes compare before each launch, so that a difference becomes the same error on all ranks.

use super::LaunchOptions;
use super::member::{Member, same};
use super::row::{LaunchStep, PreparedRow};
use crate::LaunchError;
use crate::abi::HPMOE_ABI;
use crate::bootstrap::wire::{Message, Reader};
use crate::tables::{KernelTables, Storage};
use hpmoe_kernels::digest;

/// The names of the compared values, in the order in which differences are reported.
const TERMS: [&str; 9] =
    ["the kernel", "EXPERTS", "TOP_K", "TOKENS", "capacity (rows)", "launches", "seed", "the fingerprint", "the route"];

/// Checks that all processes make the same launch. `row` is what this process is about to launch, or the reason why it can't.
pub(super) fn agree<'a>(
    member: &Member,
    tables: &KernelTables,
    options: &LaunchOptions,
    row: Result<PreparedRow<'a>, LaunchError>,
) -> Result<PreparedRow<'a>, LaunchError> {
    let row = row.and_then(|row| in_order(tables, row));
    let mine = row.map(|row| {
        let terms = terms(tables, options, &row);
        let message = terms.iter().fold(Message::default(), |message, term| message.bytes(term.as_bytes()));
        (row, message.finish())
    });
    let (row, all) = member.exchange_results("a launch", mine, options.patience(1))?;
    let mut readers: Vec<Reader<'_>> = all.iter().map(|terms| Reader(terms)).collect();
    for term in TERMS {
        let values: Vec<String> = readers.iter_mut().map(|reader| reader.text().unwrap_or_default()).collect();
        same(term, &values)?;
    }
    Ok(row)
}

fn terms(tables: &KernelTables, options: &LaunchOptions, row: &PreparedRow<'_>) -> [String; TERMS.len()] {
    let start = digest::with(digest::START, row.chunks as u64);
    let routes = row.steps.iter().fold(start, |digest, step| route_digest(digest, step));
    [
        tables.name.to_owned(),
        tables.experts.to_string(),
        tables.top_k.to_string(),
        tables.tokens.to_string(),
        row.sizes.capacity.to_string(),
        format!("{} x {}", options.repeat.max(1), row.steps.len()),
        options.seed.to_string(),
        format!("{} (ABI {HPMOE_ABI})", tables.fingerprint),
        format!("{routes:016x}"),
    ]
}

/// Refuses a row of several launches if peers write one of the caller's tensors: all launches would write the same memory.
fn in_order<'a>(tables: &KernelTables, row: PreparedRow<'a>) -> Result<PreparedRow<'a>, LaunchError> {
    match tables.tensors.iter().find(|tensor| matches!(tensor.storage, Storage::Shared(_))) {
        Some(tensor) if row.steps.len() > 1 => Err(LaunchError::Row { tensor: tensor.name, launches: row.steps.len() }),
        _ => Ok(row),
    }
}

/// A digest of the rows that each rank sends to each expert.
fn route_digest(digest: u64, step: &LaunchStep<'_>) -> u64 {
    // Only the kernel knows the ids of other ranks, and it compares placements itself.
    let Some(chunks) = step.route.host() else { return digest };
    let route = chunks.whole();
    route.ranks().into_iter().fold(digest::with(digest, route.placement_digest()), |digest, rank| {
        let rows = route.experts().fold(digest, |digest, e| digest::with(digest, route.pair(rank, e).rows as u64));
        route.order(rank).iter().fold(rows, |digest, slot| digest::with(digest, u64::from(*slot as u32)))
    })
}
