//! The main thread's part: shows progress, and waits for the search no longer than the user allows.

use super::found::Found;
use super::worker::{Doing, Job, Stops, Told};
use crate::input::SourceFile;
use crate::options::TuneArgs;
use crate::progress::{Progress, Reader};
use hpmoe_core::target::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Number of steps of the progress bar.
const STEPS: usize = 100;
/// The interval at which the main thread checks the clock and Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
/// Additional time for a search, as a share of the given time and in seconds. A search can end only between two steps of its work, and the
/// first comparison may also use the additional time. The command promises 10 % and one second.
const GRACE: (f64, f64) = (0.08, 0.8);
/// Stack size of the worker in bytes: the default for a main thread on Linux, which the front end is designed for.
const STACK: usize = 8 << 20;
/// How many times the given time is suggested if it is not known how long a candidate takes.
const MUCH_MORE: f64 = 10.0;

/// Searches for a schedule of one kernel in a file. A search that doesn't end in time is left running, and its best result so far is used.
pub(super) fn found(
    options: &TuneArgs,
    target: &Target,
    input: &SourceFile,
    place: usize,
    interrupted: &AtomicBool,
) -> Result<Found, String> {
    let name = input.kernels[place].module.ident.to_string();
    let start = Instant::now();
    let stops = Arc::new(Stops::default());
    let (sender, receiver) = channel();
    let file = (input.name.clone(), input.text.clone());
    let job = Job { options: options.clone(), target: target.clone(), file, place };
    let of_worker = Arc::clone(&stops);
    let worker = move || {
        // The main thread may have gone on without this one.
        let tell = |told| drop(sender.send(told));
        tell(Told::Ended(job.run(&tell, &of_worker)));
    };
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(worker);
    worker.map_err(|error| format!("can't start a thread for the search: {error}"))?;
    let bar = Progress::new(STEPS, Reader::new(options.json));
    let time = Duration::try_from_secs_f64(options.seconds).unwrap_or(Duration::MAX);
    let ended = Watch { name: &name, bar, start, time, stops: &stops, interrupted }.wait(&receiver);
    stops.all.store(true, Ordering::Relaxed);
    ended.map_err(|failure| match failure {
        Failure::Said(problem) => problem,
        Failure::Interrupted => format!("kernel `{name}`: interrupted before a schedule was compared with another"),
        Failure::Overdue(doing) => no_time(options, &name, &doing),
        Failure::Panicked => format!("kernel `{name}`: the search has panicked, which is a fault of hpmoe"),
    })
}

/// An error message for a search whose time was too short to compare anything.
fn no_time(options: &TuneArgs, kernel: &str, Doing { text, part }: &Doing) -> String {
    let seconds = options.seconds;
    // Enough time for the whole start, whose finished part is known, and as much again for candidates.
    let times = part.filter(|part| *part > 0.0).map_or(MUCH_MORE, |part| 2.0 / part);
    let fewer = if options.routings.len() == 1 {
        "or simulate fewer tokens or ranks (`--set TOKENS=…`, `--ranks`)"
    } else {
        "or simulate fewer routings (`--routing balanced`)"
    };
    format!(
        "kernel `{kernel}`: after {seconds} s the search was still {text}, and has compared nothing: give it more time (`--seconds \
         {}`), {fewer}",
        (seconds * times).ceil()
    )
}

/// The reason why there is no result, not even a first candidate.
enum Failure {
    Said(String),
    Interrupted,
    /// The time is over. Contains the state of the search.
    Overdue(Doing),
    Panicked,
}

struct Watch<'a> {
    name: &'a str,
    bar: Progress,
    start: Instant,
    time: Duration,
    stops: &'a Stops,
    interrupted: &'a AtomicBool,
}

impl Watch<'_> {
    fn wait(self, receiver: &Receiver<Told>) -> Result<Found, Failure> {
        let grace = self.time.mul_f64(GRACE.0).saturating_add(Duration::from_secs_f64(GRACE.1));
        let mut best = None;
        let mut doing = Doing { text: "reading the kernel".to_owned(), part: None };
        let mut shown = 0;
        // When the search was asked to end.
        let mut asked: Option<Instant> = None;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Told::Doing(now)) => {
                    self.bar.begins(format!("{}: {}", self.name, now.text));
                    doing = now;
                }
                Ok(Told::Found(found)) => best = Some(found),
                Ok(Told::Ended(result)) => return result.map(|found| *found).map_err(Failure::Said),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::Panicked),
            }
            let part = self.start.elapsed().as_secs_f64() / self.time.as_secs_f64();
            while shown < STEPS.min((part * STEPS as f64) as usize) {
                self.bar.ended();
                shown += 1;
            }
            let interrupted = self.interrupted.load(Ordering::Relaxed);
            if asked.is_none() && (interrupted || self.start.elapsed() >= self.time) {
                self.stops.candidates.store(true, Ordering::Relaxed);
                asked = Some(Instant::now());
            }
            if interrupted && best.is_none() {
                return Err(Failure::Interrupted);
            }
            if asked.is_some_and(|asked| asked.elapsed() >= grace) {
                return best.map(|found| *found).ok_or(Failure::Overdue(doing));
            }
        }
    }
}
