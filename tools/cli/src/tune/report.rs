//! Prints the result of a search.

use super::found::{Found, microseconds};
use crate::options::TuneArgs;
use crate::output;
use hpmoe_core::target::Target;
use serde_json::{Map, Value, json};

pub(super) fn report(options: &TuneArgs, found: &Found, target: &Target) -> Result<(), String> {
    if options.json { output::line(as_json(found)) } else { output::text(&text(found, target)) }
}

fn as_json(found: &Found) -> Value {
    let Found { kernel, result, .. } = found;
    let candidate = &result.best;
    let named = |sizes: &std::collections::BTreeMap<String, usize>| {
        sizes.iter().map(|(name, &value)| (name.clone(), value.into())).collect::<Map<String, Value>>()
    };
    let choices = candidate.choices.iter().map(|(flow, choices)| (flow.clone(), choices.to_string().into()));
    json!({
        "kernel": kernel.name,
        "tried": result.tried,
        "default_simulated_us": result.default.as_ref().map(|score| microseconds(&score.times)),
        "start_sizes": named(&hpmoe_build::with_tuned(&kernel.sizes, &kernel.start)),
        "start_simulated_us": microseconds(&result.start.times),
        "simulated_us": microseconds(&result.score.times),
        "sizes": named(&candidate.sizes),
        "choices": choices.collect::<Map<String, Value>>(),
    })
}

fn text(found: &Found, target: &Target) -> String {
    let (name, tried) = (&found.kernel.name, found.result.tried);
    if found.is_default() {
        return format!("{name}: nothing better than the default schedule among {tried} tried (simulated)\n");
    }
    let candidate = &found.result.best;
    let mut text = format!("{name}: {tried} tried; {}\n", found.note(&target.name));
    candidate.sizes.iter().for_each(|(size, value)| text.push_str(&format!("  {size} = {value}\n")));
    candidate.choices.iter().for_each(|(flow, choices)| text.push_str(&format!("  {flow}: {choices}\n")));
    text
}
