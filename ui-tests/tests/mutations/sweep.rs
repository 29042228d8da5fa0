//! All mutations of a kind: judged, several at a time, and compared with the list of survivors.

use crate::compile::sources;
use crate::expressions::expressions;
use crate::given::given;
use crate::judge::{Judge, side_by_side};
use crate::known::Known;
use crate::process::Verdict;
use crate::sites::{Site, sites};
use crate::source::Source;
use crate::survivors::{EXPRESSIONS, STATEMENTS, Survivor, survivors};
use crate::{Options, conclusion};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Kind of the changes.
pub struct Kind {
    pub name: &'static str,
    all: fn(&[Source], &Options) -> Result<Vec<Site>, String>,
    pub survivors: &'static str,
    /// The share that must be found, in percent; `None` for all of them.
    pub least: Option<f64>,
    /// Number of rows of each kernel.
    rows: usize,
}

/// Statements that keep order. A missing statement shows in few interleavings, so they run often.
pub static REMOVED: Kind =
    Kind { name: "statements", all: |sources, _| Ok(sites(sources)), survivors: STATEMENTS, least: None, rows: 64 };

/// Expressions.
pub static CHANGED: Kind = Kind {
    name: "expressions",
    all: |sources, _| Ok(expressions(sources)),
    survivors: EXPRESSIONS,
    least: Some(97.0),
    rows: 16,
};

/// The changes of a file: a wait for one row too few shows in as few interleavings as a missing wait.
pub static GIVEN: Kind = Kind {
    name: "given",
    all: |sources, options| read(sources, options.given.as_ref().expect("`--given` asks for this kind")),
    survivors: "",
    least: None,
    rows: 64,
};

/// Rows of a mutant that is listed as a survivor: enough to see whether the list is stale.
const LISTED_ROWS: usize = 12;

/// Number of rows of each kernel in the first runs of a sample. They find nearly all missing statements.
const SAMPLE_ROWS: usize = 3;

/// Runs the requested mutations.
pub fn sweep(kind: &Kind, options: &Options) -> ExitCode {
    let start = Instant::now();
    let rows = options.rows.unwrap_or(kind.rows);
    let sources = sources();
    let listed = survivors(kind.survivors);
    let all = match (kind.all)(&sources, options) {
        Ok(all) => all,
        Err(text) => {
            println!("error: {text}");
            return ExitCode::FAILURE;
        }
    };
    let asks =
        |site: &Site| options.asks(&site.key) && !(options.sample.is_some() && listed.contains_key(site.key.as_str()));
    let all: Vec<Site> = all.into_iter().filter(asks).collect();
    let every = options.sample.map_or(options.every, |count| all.len().div_ceil(count.max(1)));
    let asked: Vec<Site> = all.into_iter().skip(options.from).step_by(every.max(1)).collect();
    let known = Known::open(kind.name, rows, options.fresh);
    let before: Vec<Option<Verdict>> = asked.iter().map(|site| known.verdict(&sources, site)).collect();
    let again = |verdict: &Verdict| options.survivors && matches!(verdict, Verdict::Survived | Verdict::Unreached);
    let (mut done, mut open) = (Vec::new(), Vec::new());
    for (site, verdict) in asked.into_iter().zip(before) {
        match verdict {
            Some(verdict) if !again(&verdict) => done.push((site, verdict)),
            None if options.survivors => {}
            _ => open.push(site),
        }
    }
    println!("{}: {} mutations known, {} to be run", kind.name, done.len(), open.len());
    if options.list {
        open.iter().for_each(|site| println!("{}", site.key));
        return ExitCode::SUCCESS;
    }
    let (both, differ) = (options.both, AtomicUsize::new(0));
    let sweep = Sweep { sources: &sources, listed: &listed, known: &known, start, both, differ };
    let hasty = options.sample.map(|_| (rows.min(SAMPLE_ROWS), true));
    for (rows, hasty) in hasty.into_iter().chain([(rows, false)]) {
        match sweep.run(&mut open, rows, hasty) {
            Ok(verdicts) => done.extend(verdicts),
            Err(text) => {
                println!("kernels as they are fail, so a mutant's failure would tell nothing: {text}");
                return ExitCode::FAILURE;
            }
        }
    }
    done.sort_by_key(|(site, _)| (site.source, site.line));
    let good = conclusion::conclude(kind, &done, &listed, options.whole());
    println!("{} s", start.elapsed().as_secs());
    let differ = sweep.differ.into_inner();
    if both {
        println!("{differ} other verdicts when they are built apart");
    }
    if good && differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Sweep<'a> {
    sources: &'a [Source],
    listed: &'a BTreeMap<&'a str, Survivor>,
    known: &'a Known,
    start: Instant,
    both: bool,
    /// Number of mutations with another verdict when they are built separately.
    differ: AtomicUsize,
}

impl Sweep<'_> {
    /// Runs mutations, prints the verdicts, and returns the mutations that have one. The others remain in `open`: in haste,
    /// nothing is built separately or kept, and only mutations that are found have a verdict.
    fn run(&self, open: &mut Vec<Site>, rows: usize, hasty: bool) -> Result<Vec<(Site, Verdict)>, String> {
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let sites = std::mem::take(open);
        let workplace = tempfile::tempdir().expect("a temporary folder");
        let judge = Judge::new(self.sources, &sites, workplace.path(), rows, hasty)?;
        let (apart, seconds) = (judge.apart.len(), self.start.elapsed().as_secs());
        let built = if hasty { "left for later" } else { "built apart" };
        println!(
            "kernels as they are: {rows} runs each, all as the reference; {apart} mutations are {built} ({seconds} s)"
        );
        let count = AtomicUsize::new(0);
        // Mutations that need their own compilation come last.
        let (apart, chosen): (Vec<usize>, Vec<usize>) =
            (0..sites.len()).partition(|number| judge.apart.contains(number));
        let order = [chosen, apart].concat();
        let verdicts = side_by_side(sites.len(), |turn| {
            let number = order[turn];
            let (site, apart) = (&sites[number], judge.apart.contains(&number));
            if hasty && apart {
                return None;
            }
            let rows = if self.listed.contains_key(site.key.as_str()) { rows.min(LISTED_ROWS) } else { rows };
            let verdict = judge.verdict(number, rows);
            if hasty && !is_plain(&verdict) {
                return None;
            }
            let other = (self.both && !hasty && !apart).then(|| judge.built_apart(number, rows));
            if !hasty {
                self.known.keep(self.sources, site, &verdict);
            }
            let at = count.fetch_add(1, Ordering::Relaxed) + 1;
            println!("[{at} of {}, {} s] {}", sites.len(), self.start.elapsed().as_secs(), told(site, &verdict));
            if let Some(other) = other.filter(|other| !alike(other, &verdict)) {
                println!("another verdict when it is built apart: {}", told(site, &other));
                self.differ.fetch_add(1, Ordering::Relaxed);
            }
            Some(verdict)
        });
        let mut done = Vec::new();
        for (number, verdict) in order.into_iter().zip(verdicts) {
            let site = sites[number].clone();
            match verdict {
                Some(verdict) => done.push((site, verdict)),
                None => open.push(site),
            }
        }
        Ok(done)
    }
}

/// Whether a mutation is found, and not only because it computes for ever.
fn is_plain(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Found(text) if !text.starts_with(conclusion::ENDLESS))
}

fn read(sources: &[Source], path: &Path) -> Result<Vec<Site>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("can't read `{}`: {error}", path.display()))?;
    given(sources, &text)
}

fn told(site: &Site, verdict: &Verdict) -> String {
    let text = match verdict {
        Verdict::Found(text) => text,
        Verdict::Survived => "SURVIVED",
        Verdict::Unreached => "SURVIVED: no run comes here",
        Verdict::Refused(_) => "does not compile",
        Verdict::Fault(text) => &format!("FAULT: {text}"),
    };
    format!("{} (line {})\n    {text}", site.key, site.line)
}

fn alike(one: &Verdict, other: &Verdict) -> bool {
    let lives = |verdict: &Verdict| matches!(verdict, Verdict::Survived | Verdict::Unreached);
    std::mem::discriminant(one) == std::mem::discriminant(other) || lives(one) && lives(other)
}
