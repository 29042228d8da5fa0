//! `hpmoe tune`: a search for faster schedules, within a time given.

use crate::options::Tune;
use crate::output::say_line;
use crate::progress::{Progress, Reader};
use crate::routing::{Sizes, routing};
use hpmoe_build::{read_tuned, tuned_file};
use hpmoe_codegen::target::{Constant, Source, Target};
use hpmoe_codegen::tuned::{Candidate, SIZES, Shape, TunedKernel, overrides, shape, sizes};
use hpmoe_language::artifacts::parse_settings;
use hpmoe_language::front::{Front, front, modules};
use hpmoe_language::syntax::{Overrides, declared_constants, refuse_unknown_overrides};
use hpmoe_simulator::simulate::Routing;
use hpmoe_simulator::tune::{Score, SearchResult, Trial, search};
use std::process::ExitCode;
use std::time::Instant;
use syn::ItemMod;

/// Tried without `--routing`.
const ROUTINGS: [&str; 5] = ["balanced", "zipf:1.2:1", "zipf:1.2:2", "zipf:1.2:3", "zipf:1.2:4"];
/// Steps of the bar.
const STEPS: usize = 100;

pub(crate) fn tune(options: &Tune) -> Result<ExitCode, String> {
    if !(options.seconds.is_finite() && options.seconds > 0.0) {
        return Err(format!("--seconds is {}: it is a time above zero", options.seconds));
    }
    let name = options.file.display();
    let text = std::fs::read_to_string(&options.file).map_err(|error| format!("can't read {name}: {error}"))?;
    let modules = modules(&text).map_err(|error| format!("{name}:{}: {error}", error.span().start().line))?;
    if modules.is_empty() {
        return Err(format!("{name} holds no `#[megakernel]` module"));
    }
    let settings = parse_settings(&options.settings.join(","))?;
    let declared: Vec<String> = modules.iter().flat_map(declared_constants).collect();
    refuse_unknown_overrides(&settings, declared.iter().map(String::as_str))?;
    let target = options.target.read()?;
    if !options.dry_run {
        kept_for_itself(&target)?;
    }
    for module in &modules {
        let own = declared_constants(module);
        let settings = settings.iter().filter(|(name, _)| own.contains(name)).map(|(n, v)| (n.clone(), *v)).collect();
        kernel(options, module, &settings, &target)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is found is kept by the target's name and cores. For a machine with other constants it would be a guess.
fn kept_for_itself(target: &Target) -> Result<(), String> {
    let cores = |of: &Constant| matches!((of.section, of.key), ("cores", "aic" | "aiv"));
    let changed = target.constants().iter().find(|of| of.source == Source::Given && !cores(of));
    changed.map_or(Ok(()), |of| {
        Err(format!(
            "--constant {}.{}: what is found would be taken for {} as it is: give the other machine a file with a name of its \
             own (--target), or add --dry-run",
            of.section, of.key, target.name
        ))
    })
}

/// Tunes one kernel and keeps what is found.
fn kernel(options: &Tune, module: &ItemMod, settings: &Overrides, target: &Target) -> Result<(), String> {
    let name = module.ident.to_string();
    let file = options.file.display();
    let Ok(Front { kernel, flows }) = front(module, settings) else {
        return Err(format!("kernel `{name}` has faults: `hpmoe check {file}` shows them"));
    };
    let routings = routings(options, &flows[0].graph().sizes)?;
    let kernels = |sizes: &Shape| Some(front(module, &overrides(settings, sizes)).ok()?.flows);
    let trial = Trial { target, routings: &routings, kernels: &kernels };
    let mut sizes = sizes(module, &kernel);
    // What is set stays as it is.
    sizes.retain(|name, _| !settings.contains_key(name));
    let names: Vec<String> = flows.iter().map(|flow| flow.graph().taskflow.clone()).collect();
    let found = timed(options, &name, &trial, (&sizes, &names)).ok_or_else(|| {
        format!(
            "kernel `{name}` can't be simulated on {} ranks with these routings: `hpmoe simulate {file}` says why",
            options.ranks
        )
    })?;
    let note = note(&found, target);
    report(options, &name, &found, &note);
    if options.dry_run || found.best == Candidate::default() {
        return Ok(());
    }
    let mut candidate = found.best;
    // They are what the rest was found with.
    let set = settings.iter().filter(|(name, _)| SIZES.contains(&name.as_str()));
    candidate.sizes.extend(set.filter_map(|(name, value)| Some((name.clone(), value.size()?))));
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

fn routings(options: &Tune, sizes: &hpmoe_language::graph::Sizes) -> Result<Vec<Routing>, String> {
    let sizes = Sizes {
        ranks: options.ranks,
        experts: sizes.experts as u32,
        top_k: sizes.top_k as u32,
        tokens: sizes.tokens as u32,
    };
    let given = options.routings.iter().map(String::as_str);
    let default = ROUTINGS.iter().copied().filter(|_| options.routings.is_empty());
    given.chain(default).map(|text| routing(text, sizes)).collect()
}

/// Searches until the time is over.
fn timed(options: &Tune, name: &str, trial: &Trial<'_>, of: (&Shape, &[String])) -> Option<SearchResult> {
    let start = Instant::now();
    let bar = Progress::new(STEPS, Reader::of(options.json));
    bar.begins(format!("{name}: simulating the default"));
    let mut shown = 0;
    search(trial, of, options.seed, &mut |progress| {
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

/// As it stands in the file.
fn note(found: &SearchResult, target: &Target) -> String {
    let ratios = found.score.ratios(&found.default);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    format!(
        "simulated on {}: {mean:.4} of the default's time on average of {} routings, {worst:.4} at worst",
        target.name,
        ratios.len()
    )
}

fn report(options: &Tune, name: &str, found: &SearchResult, note: &str) {
    let candidate = &found.best;
    if options.json {
        let times = |score: &Score| score.times.iter().map(|time| time.us()).collect::<Vec<_>>();
        let choices: serde_json::Map<String, serde_json::Value> =
            candidate.choices.iter().map(|(flow, choices)| (flow.clone(), choices.to_string().into())).collect();
        say_line!(
            "{}",
            serde_json::json!({
                "kernel": name,
                "tried": found.tried,
                "default_simulated_us": times(&found.default),
                "simulated_us": times(&found.score),
                "sizes": candidate.sizes.iter().map(|(name, value)| (name.clone(), (*value).into())).collect::<serde_json::Map<String, serde_json::Value>>(),
                "choices": choices,
            })
        );
        return;
    }
    let tried = found.tried;
    if *candidate == Candidate::default() {
        say_line!("{name}: nothing better than the default schedule among {tried} tried (simulated)");
        return;
    }
    say_line!("{name}: {tried} tried; {note}");
    for (size, value) in &candidate.sizes {
        say_line!("  {size} = {value}");
    }
    for (flow, choices) in &candidate.choices {
        say_line!("  {flow}: {choices}");
    }
}

/// Writes the file beside the source.
fn keep(options: &Tune, found: TunedKernel) -> Result<(), String> {
    let file = tuned_file(&options.file);
    let before = read_tuned(&file)?;
    let new = before.is_none();
    let mut tuned = before.unwrap_or_default();
    tuned.keep(found);
    let problem = |error| format!("can't write {}: {error}", file.display());
    std::fs::write(&file, tuned.to_string()).map_err(problem)?;
    if new {
        // A build script can't be told of a file that is not there yet; it is told of the source.
        let source = std::fs::File::options().append(true).open(&options.file);
        source.and_then(|source| source.set_modified(std::time::SystemTime::now())).map_err(problem)?;
    }
    eprintln!("kept in {}", file.display());
    Ok(())
}
