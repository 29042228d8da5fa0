//! A step: a program that runs for a limited time, and its outcome.
#![expect(unsafe_code, reason = "the end of processes")]

use hpmoe_runtime::printable::printable_path;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Number of bytes that are reported from the end of a failed program's output.
const LAST: usize = 4000;

/// The outcome of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    Ok,
    Failed,
    /// The step exceeded its time limit.
    TimedOut,
    /// Something that the step needs is missing.
    Skipped,
}

impl Status {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Skipped => "skipped",
        }
    }
}

/// A completed step.
pub(super) struct Step {
    pub(super) name: String,
    pub(super) status: Status,
    pub(super) seconds: f64,
    /// The result as a sentence.
    pub(super) said: String,
    /// All details as JSON.
    pub(super) detail: Value,
}

/// A function that records a completed step.
pub(super) type Add<'a> = dyn FnMut(Step) -> Result<(), String> + 'a;

impl Step {
    pub(super) fn json(&self) -> Value {
        let Self { name, status, seconds, said, detail } = self;
        let seconds = (seconds * 1000.0).round() / 1000.0;
        json!({ "name": name, "status": status.name(), "seconds": seconds, "said": said, "detail": detail })
    }

    /// A skipped step, with the reason.
    pub(super) fn skipped(name: &str, why: impl Into<String>) -> Self {
        Self { name: name.to_owned(), status: Status::Skipped, seconds: 0.0, said: why.into(), detail: Value::Null }
    }
}

/// The outcome of a program.
pub(super) struct Ran {
    pub(super) status: Status,
    pub(super) seconds: f64,
    /// The whole output of the program.
    pub(super) text: String,
    /// A description of how it ended.
    pub(super) end: String,
}

impl Ran {
    /// The last lines of the output.
    pub(super) fn last(&self) -> &str {
        let mut from = self.text.len().saturating_sub(LAST);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        &self.text[from..]
    }
}

/// Runs a program for at most `limit`. Its output is written to a file, which is kept.
pub(super) fn run(command: Command, limit: Duration, log: &Path) -> Ran {
    run_and_look(command, limit, log, &mut |_| {})
}

/// Like [`run`], and calls `look` with the number of the process again and again while the process runs.
pub(super) fn run_and_look(mut command: Command, limit: Duration, log: &Path, look: &mut dyn FnMut(u32)) -> Ran {
    let start = Instant::now();
    let shown = format!("`{}`", printable_path(Path::new(command.get_program())));
    let started = File::create(log).and_then(|file| {
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        command.spawn()
    });
    let (status, end) = match started.and_then(|mut child| wait(&mut child, start + limit, look)) {
        Ok(Some(status)) if status.success() => (Status::Ok, format!("{shown} ended well")),
        Ok(Some(status)) => (Status::Failed, format!("{shown} ended with {status}")),
        Ok(None) => (Status::TimedOut, format!("{shown} took longer than {} s and was ended", limit.as_secs())),
        Err(error) => (Status::Failed, format!("can't run {shown}: {error}")),
    };
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    Ran { status, seconds: start.elapsed().as_secs_f64(), text, end }
}

/// Waits until a program has ended. Returns `None` if the deadline has passed; then the program and all processes that
/// it has started were ended.
fn wait(
    child: &mut Child,
    deadline: Instant,
    look: &mut dyn FnMut(u32),
) -> io::Result<Option<std::process::ExitStatus>> {
    while Instant::now() < deadline {
        look(child.id());
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(20));
    }
    for process in descendants(child.id()) {
        if let Ok(process) = i32::try_from(process) {
            // SAFETY: a signal to a descendant of a process that this one has started.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }
    child.kill().and_then(|()| child.wait())?;
    Ok(None)
}

/// All processes that a process has started, directly or indirectly.
pub(super) fn descendants(process: u32) -> Vec<u32> {
    let parent = |entry: io::Result<fs::DirEntry>| -> Option<(u32, u32)> {
        let entry = entry.ok()?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // After the name in brackets: the state, and the parent.
        let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some((number, parent))
    };
    let all: Vec<(u32, u32)> = fs::read_dir("/proc").into_iter().flatten().filter_map(parent).collect();
    let mut found = vec![process];
    let mut at = 0;
    while at < found.len() {
        let of = found[at];
        found.extend(all.iter().filter(|(_, parent)| *parent == of).map(|(number, _)| *number));
        at += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: u64) -> Ran {
        let folder = std::env::temp_dir().join(format!("hpmoe-step-{}-{seconds}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, Duration::from_secs(seconds), &folder.join("log"))
    }

    #[test]
    fn programs_end_well_badly_or_at_their_limit() {
        let ran = shell("echo good; echo bad >&2", 20);
        assert_eq!((ran.status, ran.text.as_str()), (Status::Ok, "good\nbad\n"));
        let ran = shell("exit 3", 21);
        assert!(ran.status == Status::Failed && ran.end.contains("exit status: 3"), "{}", ran.end);
        // Processes that it has started end as well.
        let ran = shell("sleep 600 & echo $!; wait", 1);
        assert!(ran.status == Status::TimedOut && ran.end.contains("took longer than 1 s"), "{}", ran.end);
        let started = Path::new("/proc").join(ran.text.trim());
        let runs = || fs::read_to_string(started.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
        // A signal ends a process some time after it was sent.
        let sent = Instant::now();
        while runs() && sent.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(10));
        }
        assert!(!runs());
    }
}
