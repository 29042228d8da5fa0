//! `hpmoe tune`: a search for faster schedules, within a time given.

use crate::input::{KernelSource, SourceFile};
use crate::options::TuneArgs;
use crate::output;
use crate::progress::{Progress, Reader};
use crate::routing::{routing, sizes_of};
use hpmoe_build::{read_tuned, tuned_file, with_tuned};
use hpmoe_codegen::sizes::Expected;
use hpmoe_codegen::target::{Provenance, Target, TargetConstant};
use hpmoe_codegen::tuned::{Candidate, NamedSizes, TILE_SIZES, TunedKernel, overrides, shape, sizes};
use hpmoe_kernels::printable::printable_path;
use hpmoe_language::front::{Front, front};
use hpmoe_simulator::simulate::{Routing, RoutingSizes};
use hpmoe_simulator::tune::{Score, SearchResult, Trial, search};
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use std::time::Instant;

/// The routings that are tried without `--routing`.
const ROUTINGS: [&str; 5] = ["balanced", "zipf:1.2:1", "zipf:1.2:2", "zipf:1.2:3", "zipf:1.2:4"];
/// Steps of the progress bar.
const STEPS: usize = 100;

pub(crate) fn tune(options: &TuneArgs) -> Result<ExitCode, String> {
    if !(options.seconds.is_finite() && options.seconds > 0.0) {
        return Err(format!("--seconds is {}: it is a time above zero", options.seconds));
    }
    let target = options.target.read()?;
    let expected = Expected { ranks: Some(options.ranks), tokens: None };
    let input = SourceFile::read(&options.file, &options.settings, (&target, expected))?;
    if !options.dry_run {
        kept_for_itself(&target)?;
    }
    for kernel in &input.kernels {
        tune_kernel(options, &input, kernel, &target)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses changed constants: schedules are kept by the target's name and cores, and builds for the unchanged target would
/// take what was found for a changed one.
fn kept_for_itself(target: &Target) -> Result<(), String> {
    let is_core_count =
        |constant: &TargetConstant| matches!((constant.section, constant.key), ("cores", "aic" | "aiv"));
    let changed =
        target.constants().iter().find(|constant| constant.provenance == Provenance::Given && !is_core_count(constant));
    changed.map_or(Ok(()), |constant| {
        Err(format!(
            "--constant {}.{}: what is found would be taken for {} as it is: give the other machine a file with a name of its \
             own (--target), or add --dry-run",
            constant.section, constant.key, target.name
        ))
    })
}

/// Tunes one kernel and keeps what is result.
fn tune_kernel(options: &TuneArgs, input: &SourceFile, kernel: &KernelSource, target: &Target) -> Result<(), String> {
    let KernelSource { module, set: settings, open } = kernel;
    let name = module.ident.to_string();
    let file = printable_path(&options.file);
    let Front { kernel, flows, .. } = input.front(kernel)?;
    let routed = flows.first().map(|flow| sizes_of(&flow.graph().sizes, options.ranks));
    let routings = routings(options, routed.ok_or_else(|| format!("kernel `{name}` has no taskflow"))??)?;
    let kernels = |sizes: &NamedSizes| Some(front(module, &overrides(settings, &with_tuned(open, sizes))).ok()?.flows);
    let trial = Trial { target, routings: &routings, kernels: &kernels };
    let mut sizes = sizes(module, &kernel);
    // Sizes that are set stay.
    sizes.retain(|name, _| !settings.contains(name));
    let names: Vec<String> = flows.iter().map(|flow| flow.graph().taskflow.clone()).collect();
    let result = timed(options, &name, &trial, (&sizes, &names)).ok_or_else(|| {
        format!(
            "kernel `{name}` can't be simulated on {} ranks with these routings: `hpmoe simulate {file}` says why",
            options.ranks
        )
    })?;
    let note = note(&result, target);
    report(options, &name, &result, &note)?;
    if options.dry_run || result.best == Candidate::default() {
        return Ok(());
    }
    let mut candidate = result.best;
    // The other choices were found with the sizes that are set, and with those that were chosen.
    candidate.sizes = with_tuned(open, &candidate.sizes);
    let set = settings.iter().filter(|(name, _)| TILE_SIZES.contains(name));
    candidate.sizes.extend(set.filter_map(|(name, value)| Some((name.to_owned(), value.size()?))));
    keep(
        options,
        TunedKernel {
            kernel: name,
            target: target.name.clone(),
            matrix_cores: target.cores.aic,
            shape: shape(module, &kernel),
            candidate,
            note,
        },
    )
}

fn routings(options: &TuneArgs, sizes: RoutingSizes) -> Result<Vec<Routing>, String> {
    let given = options.routings.iter().map(String::as_str);
    let default = ROUTINGS.iter().copied().filter(|_| options.routings.is_empty());
    given.chain(default).map(|text| routing(text, sizes)).collect()
}

/// Searches until the time is over.
fn timed(
    options: &TuneArgs,
    name: &str,
    trial: &Trial<'_>,
    searched: (&NamedSizes, &[String]),
) -> Option<SearchResult> {
    let start = Instant::now();
    let bar = Progress::new(STEPS, Reader::of(options.json));
    bar.begins(format!("{name}: simulating the default"));
    let mut shown = 0;
    search(trial, searched, options.seed, &mut |progress| {
        let part = start.elapsed().as_secs_f64() / options.seconds;
        bar.begins(format!(
            "{name}: {} tried, simulated {:.1} % of the default's time",
            progress.tried,
            100.0 * progress.best
        ));
        while shown < STEPS.min((part * STEPS as f64) as usize) {
            bar.ended();
            shown += 1;
        }
        part < 1.0
    })
}

/// The note that is kept with the schedule.
fn note(result: &SearchResult, target: &Target) -> String {
    let ratios = result.score.ratios(&result.default);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    format!(
        "simulated on {}: {mean:.4} of the default's time on average of {} routings, {worst:.4} at worst",
        target.name,
        ratios.len()
    )
}

/// Prints what was result.
fn report(options: &TuneArgs, name: &str, result: &SearchResult, note: &str) -> Result<(), String> {
    let candidate = &result.best;
    if options.json {
        let times = |score: &Score| score.times.iter().map(|time| time.us()).collect::<Vec<_>>();
        let sizes = candidate.sizes.iter().map(|(name, &value)| (name.clone(), value.into()));
        let choices = candidate.choices.iter().map(|(flow, choices)| (flow.clone(), choices.to_string().into()));
        return output::line(json!({
            "kernel": name,
            "tried": result.tried,
            "default_simulated_us": times(&result.default),
            "simulated_us": times(&result.score),
            "sizes": sizes.collect::<Map<String, Value>>(),
            "choices": choices.collect::<Map<String, Value>>(),
        }));
    }
    let tried = result.tried;
    if *candidate == Candidate::default() {
        let text = format!("{name}: nothing better than the default schedule among {tried} tried (simulated)");
        return output::line(text);
    }
    let mut text = format!("{name}: {tried} tried; {note}\n");
    candidate.sizes.iter().for_each(|(size, value)| text.push_str(&format!("  {size} = {value}\n")));
    candidate.choices.iter().for_each(|(flow, choices)| text.push_str(&format!("  {flow}: {choices}\n")));
    output::text(&text)
}

/// Writes the file next to the source.
fn keep(options: &TuneArgs, tuned_kernel: TunedKernel) -> Result<(), String> {
    let file = tuned_file(&options.file);
    let before = read_tuned(&file)?;
    let new = before.is_none();
    let mut tuned = before.unwrap_or_default();
    tuned.keep(tuned_kernel);
    let problem = |error| format!("can't write {}: {error}", printable_path(&file));
    std::fs::write(&file, tuned.to_string()).map_err(problem)?;
    if new {
        // A build script watches the source, and not a file that did not exist when it ran.
        let source = std::fs::File::options().append(true).open(&options.file);
        source.and_then(|source| source.set_modified(std::time::SystemTime::now())).map_err(problem)?;
    }
    output::note(format!("kept in {}", printable_path(&file)));
    Ok(())
}
