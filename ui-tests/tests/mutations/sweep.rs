//! All mutations of a kind: judged, several at a time, and compared with the list of survivors.

use crate::compile::sources;
use crate::expressions::expressions;
use crate::given::given;
use crate::judge::{Judge, side_by_side};
use crate::known::Known;
use crate::process::Verdict;
use crate::sites::{Site, sites};
use crate::source::Source;
use crate::survivors::{EXPRESSIONS, STATEMENTS, survivors};
use crate::{Options, conclusion};
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
    /// Whether a mutant's first result counts: nothing is run again, kept or built separately, and listed survivors are
    /// not run.
    hasty: bool,
}

/// Statements that keep order. A missing statement shows in few interleavings, so they run often.
pub static REMOVED: Kind = Kind {
    name: "statements",
    all: |sources, _| Ok(sites(sources)),
    survivors: STATEMENTS,
    least: None,
    rows: 64,
    hasty: false,
};

/// Expressions.
pub static CHANGED: Kind = Kind {
    name: "expressions",
    all: |sources, _| Ok(expressions(sources)),
    survivors: EXPRESSIONS,
    least: Some(97.0),
    rows: 16,
    hasty: false,
};

/// As many statements as expressions. A few rows find nearly all statements and most expressions; many of the remaining
/// expressions change nothing that a run can show.
pub static SAMPLE: Kind = Kind {
    name: "sample",
    all: |sources, _| {
        let (removed, changed) = (sites(sources), expressions(sources));
        let step = changed.len().div_ceil(removed.len());
        Ok(removed.into_iter().chain(changed.into_iter().step_by(step)).collect())
    },
    survivors: concat!(include_str!("survivors.txt"), include_str!("expressions.txt")),
    least: Some(81.0), // of about 95 mutations; in a full sweep, runs find 90 %, and three times the spread of a sample is 9 %
    rows: 3,
    hasty: true,
};

/// The changes of a file: a wait for one row too few shows in as few interleavings as a missing wait.
pub static GIVEN: Kind = Kind {
    name: "given",
    all: |sources, options| read(sources, options.given.as_ref().expect("`--given` asks for this kind")),
    survivors: "",
    least: None,
    rows: 64,
    hasty: false,
};

/// Rows of a mutant that is listed as a survivor: enough to see whether the list is stale.
const LISTED_ROWS: usize = 12;

/// Runs the requested mutations.
pub fn sweep(kind: &Kind, options: &Options) -> ExitCode {
    let start = Instant::now();
    let rows = options.rows.unwrap_or(kind.rows);
    let sources = sources();
    let listed = survivors(kind.survivors);
    let asks = |site: &Site| options.asks(&site.key) && !(kind.hasty && listed.contains_key(site.key.as_str()));
    let all = match (kind.all)(&sources, options) {
        Ok(all) => all,
        Err(text) => {
            println!("error: {text}");
            return ExitCode::FAILURE;
        }
    };
    let all: Vec<Site> = all.into_iter().filter(asks).collect();
    let every = options.sample.map_or(options.every, |count| all.len().div_ceil(count.max(1)));
    let asked: Vec<Site> = all.into_iter().skip(options.from).step_by(every.max(1)).collect();
    let known = Known::open(kind.name, rows, options.fresh || kind.hasty);
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
    let workplace = tempfile::tempdir().expect("a temporary folder");
    let mut differ = 0;
    if !open.is_empty() {
        let judge = match Judge::new(&sources, &open, workplace.path(), rows, kind.hasty) {
            Ok(judge) => judge,
            Err(text) => {
                println!("kernels as they are fail, so a mutant's failure would tell nothing: {text}");
                return ExitCode::FAILURE;
            }
        };
        let (apart, seconds) = (judge.apart.len(), start.elapsed().as_secs());
        println!(
            "kernels as they are: {rows} runs each, all as the reference; {apart} mutations are built apart ({seconds} s)"
        );
        let count = AtomicUsize::new(0);
        // Mutations that need their own compilation come last.
        let (apart, chosen): (Vec<usize>, Vec<usize>) =
            (0..open.len()).partition(|number| judge.apart.contains(number));
        let order = [chosen, apart].concat();
        let verdicts = side_by_side(open.len(), |turn| {
            let number = order[turn];
            let site = &open[number];
            if kind.hasty && judge.apart.contains(&number) {
                return (None, true);
            }
            let rows = if listed.contains_key(site.key.as_str()) { rows.min(LISTED_ROWS) } else { rows };
            let verdict = judge.verdict(number, rows);
            let other = (options.both && !judge.apart.contains(&number)).then(|| judge.built_apart(number, rows));
            if !kind.hasty {
                known.keep(&sources, site, &verdict);
            }
            let at = count.fetch_add(1, Ordering::Relaxed) + 1;
            println!("[{at} of {}, {} s] {}", open.len(), start.elapsed().as_secs(), told(site, &verdict));
            let agrees = other.as_ref().is_none_or(|other| alike(other, &verdict));
            if let Some(other) = other.filter(|_| !agrees) {
                println!("another verdict when it is built apart: {}", told(site, &other));
            }
            (Some(verdict), agrees)
        });
        differ = verdicts.iter().filter(|(_, agrees)| !agrees).count();
        let verdicts = order.iter().zip(verdicts);
        done.extend(verdicts.filter_map(|(number, (verdict, _))| Some((open[*number].clone(), verdict?))));
    }
    done.sort_by_key(|(site, _)| (site.source, site.line));
    let good = conclusion::conclude(kind, &done, &listed, options.whole());
    println!("{} s", start.elapsed().as_secs());
    if options.both {
        println!("{differ} other verdicts when they are built apart");
    }
    if good && differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
