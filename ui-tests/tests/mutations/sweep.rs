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
    let is_listed = |site: &Site| listed.contains_key(site.key.as_str());
    let all = match (kind.all)(&sources, options) {
        Ok(all) => all,
        Err(text) => {
            println!("error: {text}");
            return ExitCode::FAILURE;
        }
    };
    let asks = |site: &Site| options.asks(&site.key) && !(options.sample.is_some() && is_listed(site));
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
    let sweep = Sweep { sources: &sources, known: &known, start, both: options.both };
    let passes = [options.sample.map(|_| (rows.min(SAMPLE_ROWS), true)), Some((rows, false))];
    let mut differ = 0;
    for (rows, hasty) in passes.into_iter().flatten() {
        let of_site = |site: &Site| if is_listed(site) { rows.min(LISTED_ROWS) } else { rows };
        match sweep.run(&open, rows, of_site, hasty) {
            Ok((found, others)) => {
                differ += others;
                let (now, later) = open.into_iter().zip(found).partition::<Vec<_>, _>(|(_, verdict)| verdict.is_some());
                done.extend(now.into_iter().filter_map(|(site, verdict)| Some((site, verdict?))));
                open = later.into_iter().map(|(site, _)| site).collect();
            }
            Err(text) => {
                println!("kernels as they are fail, so a mutant's failure would tell nothing: {text}");
                return ExitCode::FAILURE;
            }
        }
    }
    done.sort_by_key(|(site, _)| (site.source, site.line));
    let good = conclusion::conclude(kind, &done, &listed, options.whole());
    println!("{} s", start.elapsed().as_secs());
    if options.both {
        println!("{differ} other verdicts when they are built apart");
    }
    if good && differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Sweep<'a> {
    sources: &'a [Source],
    known: &'a Known,
    start: Instant,
    both: bool,
}

impl Sweep<'_> {
    /// Runs mutations, and prints the verdicts, in the order of `open`. Also returns how many have another verdict when they
    /// are built separately. `of_site` is the number of rows of a mutation. In haste, nothing is built separately or kept, and
    /// only mutations that are found have a verdict.
    fn run(
        &self,
        open: &[Site],
        rows: usize,
        of_site: impl Fn(&Site) -> usize + Sync,
        hasty: bool,
    ) -> Result<(Vec<Option<Verdict>>, usize), String> {
        if open.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let workplace = tempfile::tempdir().expect("a temporary folder");
        let judge = Judge::new(self.sources, open, workplace.path(), rows, hasty)?;
        let (apart, seconds) = (judge.apart.len(), self.start.elapsed().as_secs());
        let built = if hasty { "left for later" } else { "built apart" };
        println!(
            "kernels as they are: {rows} runs each, all as the reference; {apart} mutations are {built} ({seconds} s)"
        );
        let (count, differ) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // Mutations that need their own compilation come last.
        let (apart, chosen): (Vec<usize>, Vec<usize>) =
            (0..open.len()).partition(|number| judge.apart.contains(number));
        let order = [chosen, apart].concat();
        let verdicts = side_by_side(open.len(), |turn| {
            let number = order[turn];
            let site = &open[number];
            if hasty && judge.apart.contains(&number) {
                return (number, None);
            }
            let rows = of_site(site);
            let verdict = judge.verdict(number, rows);
            if hasty && !is_plain(&verdict) {
                return (number, None);
            }
            let other =
                (self.both && !hasty && !judge.apart.contains(&number)).then(|| judge.built_apart(number, rows));
            if !hasty {
                self.known.keep(self.sources, site, &verdict);
            }
            let at = count.fetch_add(1, Ordering::Relaxed) + 1;
            println!("[{at} of {}, {} s] {}", open.len(), self.start.elapsed().as_secs(), told(site, &verdict));
            if let Some(other) = other.filter(|other| !alike(other, &verdict)) {
                println!("another verdict when it is built apart: {}", told(site, &other));
                differ.fetch_add(1, Ordering::Relaxed);
            }
            (number, Some(verdict))
        });
        let by_number: BTreeMap<usize, Option<Verdict>> = verdicts.into_iter().collect();
        Ok((by_number.into_values().collect(), differ.into_inner()))
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
