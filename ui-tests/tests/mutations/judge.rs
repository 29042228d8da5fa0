//! From mutations to verdicts.

use crate::choices::{Choices, choices};
use crate::compile::{Built, compile, compile_choices, is_part, write};
use crate::job::Job;
use crate::kernels::ALL;
use crate::process::{Noted, Verdict, judge, note};
use crate::sites::Site;
use crate::source::Source;
use crate::suites::Suites;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// The environment in which mutants run, and the results that they are compared with.
pub struct Judge<'a> {
    sources: &'a [Source],
    sites: &'a [Site],
    workplace: &'a Path,
    choices: Choices,
    /// Mutations that are built separately.
    pub apart: BTreeSet<usize>,
    /// The kernels that have mutations, the fastest first.
    kernels: Vec<Instrumented>,
    /// The libraries of unchanged kernels, for mutations that are built separately.
    whole: Vec<OnceLock<Result<Built, String>>>,
    /// Judges of headers, if any header is changed.
    suites: Option<Suites>,
    rows: usize,
    hasty: bool,
}

/// A kernel with all mutations that can be chosen.
struct Instrumented {
    kernel: usize,
    built: Built,
    /// By row.
    noted: Vec<Noted>,
}

impl<'a> Judge<'a> {
    /// Compiles the kernels that the mutations change, and runs this many rows of each unchanged kernel.
    pub fn new(
        sources: &'a [Source],
        sites: &'a [Site],
        workplace: &'a Path,
        rows: usize,
        hasty: bool,
    ) -> Result<Self, String> {
        let choices = choices(sources, sites);
        let changed: BTreeSet<usize> = sites.iter().flat_map(|site| &site.edits).map(|(source, ..)| *source).collect();
        let is_changed = |kernel: &usize| changed.iter().any(|source| is_part(&sources[*source], *kernel));
        let asked: Vec<usize> = (0..ALL.len()).filter(is_changed).collect();
        let instrument = |kernel: usize| {
            let folder = workplace.join(ALL[kernel].name);
            let (built, apart) = compile_choices(sources, &choices, kernel, &folder)?;
            let noted = note(ALL[kernel].name, &built.library, choices.points.len(), rows)?;
            Ok((Instrumented { kernel, built, noted }, apart))
        };
        let made: Result<Vec<_>, String> = side_by_side(asked.len(), |at| instrument(asked[at])).into_iter().collect();
        let (mut kernels, aparts): (Vec<_>, Vec<_>) = made?.into_iter().unzip();
        kernels.sort_by_key(|kernel| kernel.noted.iter().map(|row| row.milliseconds).sum::<u64>());
        let apart: BTreeSet<usize> = aparts.into_iter().flatten().collect();
        let whole = ALL.iter().map(|_| OnceLock::new()).collect();
        // In haste, nothing more is built.
        let suites = (!hasty).then(|| Suites::new(sources, sites, &choices, &apart, workplace)).transpose()?;
        Ok(Self { sources, sites, workplace, choices, apart, kernels, whole, suites, rows, hasty })
    }

    /// The verdict on a mutation, after at most this many rows of each kernel.
    pub fn verdict(&self, number: usize, rows: usize) -> Verdict {
        if self.apart.contains(&number) { self.built_apart(number, rows) } else { self.chosen(number, rows) }
    }

    /// Chooses the mutation at run time, in the rows that reach it.
    fn chosen(&self, number: usize, rows: usize) -> Verdict {
        let points = &self.choices.of_site[number];
        let comes = |row: &Noted| points.iter().any(|point| row.points.contains(point));
        let job = |kernel: &Instrumented| {
            let reached = kernel.noted.iter().enumerate().filter(|(_, row)| comes(row)).map(|(row, _)| row);
            self.job(kernel, &kernel.built, reached.take(rows).collect())
        };
        let jobs: Vec<Job> = self.kernels.iter().map(job).filter(|job| !job.rows.is_empty()).collect();
        let verdict = if jobs.is_empty() { Verdict::Unreached } else { judge(&jobs, Some(number), self.hasty) };
        self.judged(verdict, |suites, site| suites.chosen(self.sources, site, number), number)
    }

    /// The verdict of kernels; if they don't find the mutation, that of the suites.
    fn judged(&self, verdict: Verdict, ask: impl Fn(&Suites, &Site) -> Option<Verdict>, number: usize) -> Verdict {
        match (&verdict, &self.suites) {
            (Verdict::Survived | Verdict::Unreached, Some(suites)) => {
                ask(suites, &self.sites[number]).unwrap_or(verdict)
            }
            _ => verdict,
        }
    }

    /// Builds the kernels that the mutation may change, one after another.
    pub fn built_apart(&self, number: usize, rows: usize) -> Verdict {
        let site = &self.sites[number];
        let folder = self.workplace.join(number.to_string());
        write(self.sources, Some(site), &folder);
        let changes = |kernel: &usize| site.edits.iter().any(|(source, ..)| is_part(&self.sources[*source], *kernel));
        let mut verdict = Verdict::Unreached;
        for kernel in self.kernels.iter().filter(|instrumented| changes(&instrumented.kernel)) {
            let name = ALL[kernel.kernel].name;
            let judged = match (compile(&folder, name, &[]), self.whole(kernel.kernel)) {
                (Err(problem), _) => Verdict::Refused(problem),
                (_, Err(problem)) => Verdict::Fault(problem.clone()),
                (Ok(built), Ok(whole)) if built.bytes == whole.bytes => continue,
                (Ok(built), Ok(_)) => {
                    judge(&[self.job(kernel, &built, (0..rows.min(self.rows)).collect())], None, self.hasty)
                }
            };
            let survived = judged == Verdict::Survived;
            verdict = judged;
            if !survived {
                break;
            }
        }
        let verdict = self.judged(verdict, |suites, site| suites.apart(self.sources, site, &folder), number);
        let _ = std::fs::remove_dir_all(&folder);
        verdict
    }

    fn job(&self, kernel: &Instrumented, built: &Built, rows: Vec<usize>) -> Job {
        Job {
            kernel: ALL[kernel.kernel].name.to_owned(),
            library: built.library.clone(),
            milliseconds: kernel.noted.iter().map(|row| row.milliseconds).max().unwrap_or(0),
            rows,
        }
    }

    fn whole(&self, kernel: usize) -> &Result<Built, String> {
        self.whole[kernel].get_or_init(|| {
            let folder = self.workplace.join(format!("{} as it is", ALL[kernel].name));
            write(self.sources, None, &folder);
            compile(&folder, ALL[kernel].name, &[])
        })
    }
}

/// The results for each number below `count`, computed several at a time, in order.
pub fn side_by_side<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    // Mutants that make no progress sleep most of the time.
    let workers = std::thread::available_parallelism().map_or(1, usize::from) * 2;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = work(number);
                    done.lock().expect("no worker panics").push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
