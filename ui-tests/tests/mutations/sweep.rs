//! All mutations, several at a time.

use crate::compile::{Built, compile, sources, write};
use crate::kernels::ALL;
use crate::mutant::{ARGUMENT, FOUND, SURVIVED};
use crate::sites::{Site, sites};
use crate::source::Source;
use crate::survivors::{STATEMENTS, survivors};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No process of a mutant may take longer: a mutant gives up by itself.
const LIMIT: Duration = Duration::from_secs(90);

/// What became of a mutant.
pub enum Verdict {
    Found(String),
    Survived,
    /// No kernel has other code than without it.
    Unreached,
    /// It does not compile.
    Refused(String),
    /// It waited for ever, or this tool failed: a fault of the runtime, or of the tool.
    Fault(String),
}

/// Runs the mutations whose lines have all `words`.
pub fn sweep(words: &[&String]) -> ExitCode {
    let start = Instant::now();
    let sources = sources();
    let workplace = tempfile::tempdir().expect("a temporary folder");
    let Some(judge) = Judge::new(&sources, workplace.path()) else { return ExitCode::FAILURE };
    let asked = |site: &Site| words.iter().all(|word| site.key.contains(*word));
    let sites: Vec<Site> = sites(&sources).into_iter().filter(asked).collect();
    let verdicts = judge.all(&sites, |_, _| ());
    let code = conclude(&sites, &verdicts, words.is_empty());
    println!("{:.0} s", start.elapsed().as_secs_f32());
    code
}

/// What mutants are compared with.
pub struct Judge<'a> {
    sources: &'a [Source],
    workplace: &'a Path,
    /// The libraries of the kernels as they are.
    whole: Vec<Built>,
}

impl<'a> Judge<'a> {
    /// Compiles the kernels as they are, runs them, and says how that went; `None` if they fail.
    pub fn new(sources: &'a [Source], workplace: &'a Path) -> Option<Self> {
        match Self::try_new(sources, workplace) {
            Ok(judge) => {
                println!("kernels as they are: {} runs each, all as the reference", ALL[0].rows().len());
                Some(judge)
            }
            Err(text) => {
                println!("kernels as they are fail, so a mutant's failure would tell nothing: {text}");
                None
            }
        }
    }

    fn try_new(sources: &'a [Source], workplace: &'a Path) -> Result<Self, String> {
        write(sources, None, workplace);
        let whole = ALL.iter().map(|kernel| compile(workplace, kernel.name)).collect::<Result<Vec<Built>, _>>()?;
        for (kernel, built) in ALL.iter().zip(&whole) {
            match run(kernel.name, &built.library) {
                Verdict::Found(text) | Verdict::Fault(text) => return Err(text),
                _ => {}
            }
        }
        Ok(Self { sources, workplace, whole })
    }

    /// The verdict of each mutation, which is also passed on as soon as it is known.
    pub fn all(&self, sites: &[Site], tell_also: impl Fn(&Site, &Verdict) + Sync) -> Vec<Verdict> {
        let next = AtomicUsize::new(0);
        let verdicts: Mutex<Vec<(usize, Verdict)>> = Mutex::new(Vec::new());
        // Mutants that make no progress sleep most of their time.
        let workers = std::thread::available_parallelism().map_or(1, usize::from) + 1;
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(site) = sites.get(number) else { break };
                        let folder = self.workplace.join(number.to_string());
                        let verdict = self.one(site, &folder);
                        let _ = std::fs::remove_dir_all(&folder);
                        tell(site, &verdict);
                        tell_also(site, &verdict);
                        verdicts.lock().expect("no worker panics").push((number, verdict));
                    }
                });
            }
        });
        let mut verdicts = verdicts.into_inner().expect("no worker panics");
        verdicts.sort_by_key(|(number, _)| *number);
        verdicts.into_iter().map(|(_, verdict)| verdict).collect()
    }

    fn one(&self, site: &Site, folder: &Path) -> Verdict {
        write(self.sources, Some(site), folder);
        let mut reached = false;
        for kernel in self.changed(site) {
            let name = ALL[kernel].name;
            match compile(folder, name) {
                Ok(built) if built.bytes == self.whole[kernel].bytes => {}
                Ok(built) => match run(name, &built.library) {
                    Verdict::Survived => reached = true,
                    other => return other,
                },
                Err(problem) => return Verdict::Refused(problem),
            }
        }
        if reached { Verdict::Survived } else { Verdict::Unreached }
    }

    /// The kernels that a mutation may change.
    fn changed(&self, site: &Site) -> Vec<usize> {
        let name = &self.sources[site.source].name;
        let own = ALL.iter().position(|kernel| *name == format!("{}.cpp", kernel.name));
        let includes = |kernel: &usize| !name.starts_with("routing/") || ALL[*kernel].text.contains("routing/make.h");
        own.map_or_else(|| (0..ALL.len()).filter(includes).collect(), |kernel| vec![kernel])
    }
}

/// Runs one kernel of a mutant in a process of its own.
fn run(kernel: &str, library: &Path) -> Verdict {
    let itself = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(itself);
    command.args([ARGUMENT, kernel]).arg(library).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("this program can be started");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Verdict::Fault(format!("{kernel}: still runs after {LIMIT:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let (mut text, mut errors) = (String::new(), String::new());
    let _ = child.stdout.take().expect("it is piped").read_to_string(&mut text);
    let _ = child.stderr.take().expect("it is piped").read_to_string(&mut errors);
    match text.lines().find_map(|line| line.strip_prefix(FOUND)) {
        Some(found) => Verdict::Found(found.to_owned()),
        None if status.success() && text.contains(SURVIVED) => Verdict::Survived,
        // A panic is this tool's own; a mutant dies by a signal.
        None if status.code().is_some() => {
            Verdict::Fault(format!("{kernel}: the process ended with {status}: {}", errors.trim_end()))
        }
        None => Verdict::Found(format!("crash: {status} [{kernel}]")),
    }
}

fn tell(site: &Site, verdict: &Verdict) {
    let text = match verdict {
        Verdict::Found(text) => text,
        Verdict::Survived => "SURVIVED",
        Verdict::Unreached => "SURVIVED: no kernel has other code",
        Verdict::Refused(_) => "does not compile",
        Verdict::Fault(text) => &format!("FAULT: {text}"),
    };
    println!("{} (line {})\n    {text}", site.key, site.line);
}

/// The summary, and whether all is as the list of survivors says.
fn conclude(sites: &[Site], verdicts: &[Verdict], all: bool) -> ExitCode {
    let mut listed = survivors(STATEMENTS);
    let (mut faults, mut found) = (0, std::collections::BTreeMap::<&str, usize>::new());
    for (site, verdict) in sites.iter().zip(verdicts) {
        let survivor = listed.remove(site.key.as_str());
        match (verdict, survivor) {
            (Verdict::Found(text), survivor) => {
                let how = ["other bits", "broken rule", "no progress"].into_iter().find(|how| text.starts_with(how));
                *found.entry(how.unwrap_or("crash")).or_default() += 1;
                if survivor.is_some_and(|survivor| !survivor.sometimes) {
                    faults += 1;
                    println!("listed as a survivor, but found: {}", site.key);
                }
            }
            (Verdict::Survived | Verdict::Unreached, Some(survivor)) => {
                *found.entry("listed as needless or invisible here").or_default() += 1;
                println!("survives as listed: {}\n    {}", site.key, survivor.reason);
            }
            (Verdict::Survived | Verdict::Unreached, None) => {
                faults += 1;
                println!("survives, and survivors.txt gives no reason: {}", site.key);
            }
            (Verdict::Refused(text) | Verdict::Fault(text), _) => {
                faults += 1;
                println!("neither found nor survived: {}: {text}", site.key);
            }
        }
    }
    if all {
        faults += listed.len();
        listed.keys().for_each(|key| println!("listed as a survivor, but there is no such statement: {key}"));
    }
    let counts: Vec<String> = found.iter().map(|(how, count)| format!("{count} {how}")).collect();
    println!("{} mutations: {}; {faults} not as they should be", sites.len(), counts.join(", "));
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
