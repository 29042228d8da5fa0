//! Removed code: the statements that keep order.

use crate::source::{Source, squeezed};
use std::collections::BTreeMap;
use std::ops::Range;

/// One mutation: a place in the source, and its change.
#[derive(Clone)]
pub struct Site {
    /// Line number with which it is reported.
    pub source: usize,
    pub line: usize,
    /// Unique key: source, function, and the removed text.
    pub key: String,
    /// Source, range of its text, and the replacement.
    pub edits: Vec<(usize, Range<usize>, String)>,
}

/// Statements that are removed one by one.
pub const STATEMENTS: &[&str] = &[
    "PipeBarrier<",
    "DataCacheCleanAndInvalid<",
    "asm volatile(",
    "core.Use(",
    "core.Fence(",
    "core.FencePeer(",
    "core.Signal(",
    "core.SignalPeer(",
    "SignalPeer(",
    "SignalBlocks(",
    "if (!core.Await",
    "if (!Await(",
    "SetAtomicAdd<",
    "SetAtomicNone(",
    // State that is left to the next kernel on a core, and data that the host reads.
    "SetMMLayoutTransform(false",
    "ResetMask(",
    "Publish(",
    // The clearing of counters, and the word that lets a peer continue.
    "ClearNextCounters(",
    "Store(Heap(peer) + launch.ready",
    // The number of the next launch, and the signal that there is no route.
    "KeepNumber(",
    "Signal(RouteMade(",
];

/// Functions that set flags before the first tile, and wait for them after the last.
const FRAME: &[&str] = &["Start", "Leave"];

/// All mutations of some sources.
pub fn sites(sources: &[Source]) -> Vec<Site> {
    let flags: Vec<Vec<Flag>> = sources.iter().map(flags).collect();
    let mut all = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        all.extend(STATEMENTS.iter().flat_map(|head| source.statements(head)).map(|at| single(number, source, at)));
        all.extend(pairs(&flags[number]).into_iter().map(|pair| together(sources, number, &pair)));
        all.extend(families(sources, &flags, number));
    }
    all.extend(unit_flags(sources));
    all.sort_by_key(|site| (site.source, site.line));
    name_apart(&mut all);
    all
}

fn single(number: usize, source: &Source, at: usize) -> Site {
    let range = source.statement(at);
    let mut what = squeezed(&source.code[range.clone()]);
    if what.starts_with("PipeBarrier") {
        what = match source.next_statement(range.end).as_str() {
            "" => format!("{what} at the end of its block"),
            next => format!("{what} before {next}"),
        };
    }
    let key = format!("{}, {}: {what}", source.name, source.function(at));
    Site { source: number, line: source.line(at), key, edits: vec![(number, range, String::new())] }
}

/// A `SetFlag` or a `WaitFlag`.
#[derive(Clone, PartialEq, Eq)]
struct Flag {
    set: bool,
    event: String,
    id: String,
    function: String,
    range: Range<usize>,
}

impl Flag {
    fn frame(&self) -> bool {
        FRAME.contains(&self.function.as_str())
    }
}

fn flags(source: &Source) -> Vec<Flag> {
    let flags = |head: &'static str| {
        source.statements(head).map(move |at| {
            let range = source.statement(at);
            let (event, id) = source.code[range.clone()][head.len()..].split_once(">(").expect("an event and an id");
            let function = source.function(at).to_owned();
            let id = id.trim_end_matches(';').strip_suffix(')').expect("the end of a call").to_owned();
            Flag { set: head.starts_with('S'), event: event.to_owned(), id, function, range }
        })
    };
    let mut all: Vec<Flag> = flags("SetFlag<HardEvent::").chain(flags("WaitFlag<HardEvent::")).collect();
    all.sort_by_key(|flag| flag.range.start);
    all
}

/// Pairs whose removal leaves a flag balanced: a set and its wait next to each other; all with one id in a function;
/// all of one event in a file.
fn pairs(flags: &[Flag]) -> Vec<Vec<Flag>> {
    let mut left: Vec<Flag> = flags.iter().filter(|flag| !flag.frame()).cloned().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < left.len() {
        let (first, second) = (&left[at], &left[at + 1]);
        let one = (&first.event, &first.id, &first.function) == (&second.event, &second.id, &second.function);
        if one && first.set && !second.set {
            found.push(left.drain(at..at + 2).collect());
        } else {
            at += 1;
        }
    }
    for key in [
        |flag: &Flag| (flag.event.clone(), flag.id.clone() + &flag.function),
        |flag: &Flag| (flag.event.clone(), String::new()),
    ] {
        let mut groups: BTreeMap<(String, String), Vec<Flag>> = BTreeMap::new();
        for flag in &left {
            groups.entry(key(flag)).or_default().push(flag.clone());
        }
        for group in groups.into_values().filter(|group| group.iter().any(|f| f.set) && group.iter().any(|f| !f.set)) {
            left.retain(|flag| !group.contains(flag));
            found.push(group);
        }
    }
    assert!(
        left.is_empty(),
        "flags without a partner in their file: {:?}",
        left.iter().map(|f| &f.event).collect::<Vec<_>>()
    );
    found
}

fn together(sources: &[Source], number: usize, pair: &[Flag]) -> Site {
    let source = &sources[number];
    let text = |flag: &Flag| squeezed(&source.code[flag.range.clone()]);
    let what: Vec<String> = pair.iter().map(text).collect();
    let key = format!("{}, {}: {}", source.name, pair[0].function, what.join(" "));
    let edits = pair.iter().map(|flag| (number, flag.range.clone(), String::new())).collect();
    Site { source: number, line: source.line(pair[0].range.start), key, edits }
}

/// For each event that this core sets before the first tile: all of its sets and waits, everywhere.
fn families(sources: &[Source], flags: &[Vec<Flag>], number: usize) -> Vec<Site> {
    let framed = |source: usize| flags[source].iter().any(Flag::frame);
    let primed: BTreeMap<&str, &Flag> =
        flags[number].iter().filter(|flag| flag.frame() && flag.set).map(|flag| (flag.event.as_str(), flag)).collect();
    let site = |(event, first): (&str, &Flag)| {
        let reached = (0..sources.len()).filter(|&other| other == number || !framed(other));
        let edits = reached.flat_map(|other| {
            flags[other]
                .iter()
                .filter(|flag| flag.event == event)
                .map(move |flag| (other, flag.range.clone(), String::new()))
        });
        let source = &sources[number];
        let key = format!("{}, everywhere: all of {event}", source.name);
        Site { source: number, line: source.line(first.range.start), key, edits: edits.collect() }
    };
    primed.into_iter().map(site).collect()
}

/// The marks that order Mmad and Fixpipe.
fn unit_flags(sources: &[Source]) -> Option<Site> {
    let number = sources.iter().position(|source| source.name == "matmul.h")?;
    let source = &sources[number];
    let edits: Vec<_> = [("", "last ? 3 : 2", ","), ("1, 0, 0, ", "3", "));")]
        .into_iter()
        .map(|(before, text, after)| {
            let whole = format!("{before}{text}{after}");
            let at = source.code.find(&whole).expect("the unit flags of Mmad and Fixpipe stand elsewhere: say where");
            let begin = at + before.len();
            (number, begin..begin + text.len(), "0".to_owned())
        })
        .collect();
    let line = source.line(edits[0].1.start);
    Some(Site { source: number, line, key: format!("{}, everywhere: unit flags", source.name), edits })
}

/// Numbers the mutations that have the same name.
pub fn name_apart(sites: &mut [Site]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for site in sites {
        let count = seen.entry(site.key.clone()).or_default();
        *count += 1;
        if *count > 1 {
            site.key = format!("{} ({count})", site.key);
        }
    }
}
