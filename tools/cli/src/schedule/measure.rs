//! `--tile-tasks`: measures how long it takes to schedule and validate a kernel of about the given number of tiles.

use crate::input::SourceFile;
use crate::options::ScheduleArgs;
use crate::output;
use crate::plan::scheduled;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::report::totals;
use hpmoe_core::sizes::Expected;
use hpmoe_core::target::Target;
use std::process::ExitCode;
use std::time::Instant;

/// The source of the forward layer, whose constants are set.
const SYNTHETIC: &str = include_str!("synthetic.rs");
/// Tiles per rank for each expert of the group, if [`SIZES`] and [`TOKENS`] are used.
const TILES: u64 = 300;
/// Tokens per rank for each expert of the group.
const TOKENS: u64 = 64;
/// Constants that give as many tiles of each kind as the DeepSeek-V3 layer has, with fewer columns.
const SIZES: &str = "HIDDEN=1792,INTER=512,TOP_K=8,TILE_N=64,PUT=16,BLOCK=16,COLUMNS=256";
/// Maximum number of experts of the layer, a power of two that a kernel may have.
const EXPERTS: u64 = 1 << 15;
/// With more tiles than this, row tiles have 16 rows instead of 128, and each token has 28 tiles. With taller tiles, the tiles would need
/// more rows than can be numbered on 256 ranks.
const TALL: u64 = 4_000_000;
const TILES_OF_TOKEN: u64 = 28;

/// Schedules and validates a kernel, and prints one JSON object.
///
/// `tasks` are the tiles of one rank with balanced routing, `seconds` the time to schedule and validate for all numbers of ranks, and
/// `bytes_per_task` the bytes of the descriptors of all these schedules, per tile. An entry stands for all tiles of a phase in one group,
/// and a descriptor for consecutive entries of peers.
pub(super) fn measure(options: &ScheduleArgs, wanted: u64) -> Result<ExitCode, String> {
    let target = options.die.read()?;
    let checked = match &options.file {
        Some(_) => with_tokens(options, &target, wanted)?,
        None => synthetic(options, &target, wanted)?,
    };
    let start = Instant::now();
    let valid = scheduled(&checked, &target)?;
    let seconds = start.elapsed().as_secs_f64();
    let tasks = totals(&checked, valid.schedule(), options.group()).tiles;
    let orders = || valid.schedule().orders.iter();
    let queues = orders().flat_map(|order| order.queues.iter());
    let entries: usize = queues.map(|(_, queue)| queue.len()).sum();
    let bytes: u64 = orders().map(|order| valid.footprint(&checked, order.ranks, 1).descriptor_bytes.0).sum();
    output::line(serde_json::json!({
        "tasks": tasks,
        "seconds": seconds,
        "tasks_per_second": tasks as f64 / seconds,
        "bytes_per_task": bytes as f64 / tasks.max(1) as f64,
        "entries": entries,
        "orders": valid.schedule().orders.len(),
    }))?;
    Ok(ExitCode::SUCCESS)
}

/// The synthetic layer. For more tiles, it has more experts, so that entries grow with tiles. The number of experts is a power of two times
/// the number of ranks, so that about the same number of rank counts divide it.
fn synthetic(options: &ScheduleArgs, target: &Target, wanted: u64) -> Result<CheckedGraph, String> {
    let ranks = u64::from(options.group());
    let experts = wanted.div_ceil(TILES).max(8).div_ceil(ranks).next_power_of_two() * ranks;
    let experts = experts.min(EXPERTS / ranks * ranks);
    let (height, tokens) =
        if wanted > TALL { (16, wanted / TILES_OF_TOKEN) } else { (128, (TOKENS * wanted / TILES).max(1)) };
    let sizes = format!("{SIZES},TILE_M={height},EXPERTS={experts},TOKENS={tokens}");
    first(&SourceFile::parse(
        "the synthetic layer".to_owned(),
        SYNTHETIC.to_owned(),
        &[sizes],
        (target, Expected::default()),
    )?)
}

/// The user's kernel, with the value of `TOKENS` that yields about the wanted number of tiles.
fn with_tokens(options: &ScheduleArgs, target: &Target, wanted: u64) -> Result<CheckedGraph, String> {
    let file = options.file.as_deref().ok_or("which FILE.rs?")?;
    let sized = |tokens: u64| {
        let settings = [options.settings.clone(), vec![format!("TOKENS={tokens}")]].concat();
        first(&SourceFile::read(file, &settings, (target, Expected::default()))?)
    };
    let base = 1 << 10;
    let checked = sized(base)?;
    let tiles = totals(&checked, scheduled(&checked, target)?.schedule(), options.group()).tiles;
    sized((wanted * base / tiles.max(1)).max(1))
}

fn first(input: &SourceFile) -> Result<CheckedGraph, String> {
    input.flows()?.into_iter().next().ok_or_else(|| "the file has no taskflow".to_owned())
}
