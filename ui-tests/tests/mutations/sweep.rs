//! All mutations, several at a time.

use crate::compile::{compile, sources, write};
use crate::kernels::ALL;
use crate::mutant::{ARGUMENT, FOUND, SURVIVED};
use crate::sites::{Site, sites};
use crate::source::Source;
use crate::survivors::survivors;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No process of a mutant may take longer: a mutant gives up by itself.
const LIMIT: Duration = Duration::from_secs(90);

/// What became of a mutant.
enum Verdict {
    Found(String),
    Survived,
    /// It did not compile, or it waited for ever: a fault of this tool, or of the runtime.
    Fault(String),
}

/// Runs the mutations whose lines have all `words`.
pub fn sweep(words: &[&String]) -> ExitCode {
    let start = Instant::now();
    let sources = sources();
    let workplace = tempfile::tempdir().expect("a temporary folder");
    let whole: Vec<usize> = (0..ALL.len()).collect();
    match judge(&sources, None, &whole, workplace.path()) {
        Verdict::Survived => println!("kernels as they are: {} runs each, all as the reference", ALL[0].rows().len()),
        Verdict::Found(text) | Verdict::Fault(text) => {
            println!("kernels as they are fail, so a mutant's failure would tell nothing: {text}");
            return ExitCode::FAILURE;
        }
    }
    let asked = |site: &Site| words.iter().all(|word| site.key.contains(*word));
    let sites: Vec<Site> = sites(&sources).into_iter().filter(asked).collect();
    let verdicts = judge_all(&sources, &sites, workplace.path());
    let code = conclude(&sites, &verdicts, words.is_empty());
    println!("{:.0} s", start.elapsed().as_secs_f32());
    code
}

fn judge_all(sources: &[Source], sites: &[Site], workplace: &Path) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let verdicts: Mutex<Vec<(usize, Verdict)>> = Mutex::new(Vec::new());
    // Mutants that make no progress sleep most of their time.
    let workers = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(site) = sites.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = sites.iter().position(|other| std::ptr::eq(other, site)).expect("one of them");
                    let folder = workplace.join(number.to_string());
                    let verdict = judge(sources, Some(site), &reached(sources, site), &folder);
                    let _ = std::fs::remove_dir_all(&folder);
                    tell(site, &verdict);
                    verdicts.lock().expect("no worker panics").push((number, verdict));
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().expect("no worker panics");
    verdicts.sort_by_key(|(number, _)| *number);
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

/// The kernels that a mutation changes.
fn reached(sources: &[Source], site: &Site) -> Vec<usize> {
    let name = &sources[site.source].name;
    let own = ALL.iter().position(|kernel| *name == format!("{}.cpp", kernel.name));
    own.map_or_else(|| (0..ALL.len()).collect(), |kernel| vec![kernel])
}

fn judge(sources: &[Source], site: Option<&Site>, kernels: &[usize], folder: &Path) -> Verdict {
    write(sources, site, folder);
    for &kernel in kernels {
        let name = ALL[kernel].name;
        match compile(folder, name).map(|library| run(name, &library)) {
            Ok(Verdict::Survived) => {}
            Ok(other) => return other,
            Err(problem) => return Verdict::Fault(format!("does not compile: {problem}")),
        }
    }
    Verdict::Survived
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
        Verdict::Fault(text) => &format!("FAULT: {text}"),
    };
    println!("{} (line {})\n    {text}", site.key, site.line);
}

/// The summary, and whether all is as the list of survivors says.
fn conclude(sites: &[Site], verdicts: &[Verdict], all: bool) -> ExitCode {
    let mut listed = survivors();
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
            (Verdict::Survived, Some(survivor)) => {
                *found.entry("listed as needless or invisible here").or_default() += 1;
                println!("survives as listed: {}\n    {}", site.key, survivor.reason);
            }
            (Verdict::Survived, None) => {
                faults += 1;
                println!("survives, and survivors.txt gives no reason: {}", site.key);
            }
            (Verdict::Fault(text), _) => {
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
