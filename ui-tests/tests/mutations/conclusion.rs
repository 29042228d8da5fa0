//! The conclusion of a sweep, and whether it agrees with the list of survivors.

use crate::process::Verdict;
use crate::sites::Site;
use crate::survivors::Survivor;
use crate::sweep::Kind;
use std::collections::BTreeMap;

/// Start of the verdict on an endless mutant.
pub const ENDLESS: &str = "endless";

/// Prints unexpected results and the figures. Returns whether everything is as expected. If `whole`, every line of the
/// list must have a mutation.
pub fn conclude(kind: &Kind, all: &[(Site, Verdict)], listed: &BTreeMap<&str, Survivor>, whole: bool) -> bool {
    let mut unseen = listed.keys().copied().collect::<Vec<_>>();
    let (mut found, mut refused, mut excused, mut open, mut faults) = (BTreeMap::new(), 0, 0, 0, 0);
    let mut fault = |text: String| {
        faults += 1;
        println!("{text}");
    };
    for (site, verdict) in all {
        let key = site.key.as_str();
        let survivor = listed.get(key);
        unseen.retain(|known| *known != key);
        match verdict {
            Verdict::Found(text) => {
                let how =
                    ["other bits", "broken rule", "no progress", ENDLESS].into_iter().find(|how| text.starts_with(how));
                *found.entry(how.unwrap_or("crash")).or_insert(0usize) += 1;
                if survivor.is_some_and(|survivor| !survivor.sometimes) {
                    fault(format!("listed as a survivor, but found: {key}\n    {text}"));
                }
                if kind.least.is_none() && how == Some(ENDLESS) {
                    fault(format!("no report would name the core that waits: {key}"));
                }
            }
            Verdict::Survived | Verdict::Unreached if survivor.is_some() => excused += 1,
            Verdict::Survived | Verdict::Unreached => {
                open += 1;
                println!("survives, and the list gives no reason: {key}");
            }
            Verdict::Refused(_) if kind.least.is_some() => refused += 1,
            Verdict::Refused(text) | Verdict::Fault(text) => {
                fault(format!("neither found nor survived: {key}: {text}"));
            }
        }
    }
    if whole {
        unseen.into_iter().for_each(|key| fault(format!("listed as a survivor, but there is no such mutation: {key}")));
    }
    let dead: usize = found.values().sum();
    let share = 100.0 * dead as f64 / (dead + open).max(1) as f64;
    let counts: Vec<String> = found.iter().map(|(how, count)| format!("{count} {how}")).collect();
    println!(
        "{} mutations, {refused} more that do not compile: {dead} found ({}), {excused} survive as listed, {open} survive; \
         {share:.1} % found, {} % asked; {faults} faults",
        all.len() - refused,
        counts.join(", "),
        kind.least.unwrap_or(100.0)
    );
    faults == 0 && kind.least.map_or(open == 0, |least| share >= least)
}
