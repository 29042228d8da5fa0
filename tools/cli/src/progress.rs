//! A progress bar on stderr, for work that takes longer than two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

const QUICK: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(200);

/// The start of the command's first progress bar. All bars of a command count their time from it.
static START: OnceLock<Instant> = OnceLock::new();

/// A progress bar, which is erased when dropped. Nothing is drawn if stderr is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Dropped before `waiting`, so that the waiting thread ends.
    end: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

/// The reader of a command's output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Person,
    /// The user asked for JSON, so nothing is drawn.
    Program,
}

impl Reader {
    pub(crate) const fn new(json: bool) -> Self {
        if json { Self::Program } else { Self::Person }
    }

    fn target(self) -> ProgressDrawTarget {
        match self {
            Self::Person => ProgressDrawTarget::stderr(),
            Self::Program => ProgressDrawTarget::hidden(),
        }
    }
}

impl Progress {
    /// A bar for a known number of steps.
    pub(crate) fn new(steps: usize, reader: Reader) -> Self {
        Self::on(reader.target(), Some(steps as u64))
    }

    /// A bar for an unknown number of steps.
    pub(crate) fn counting(what: &'static str, reader: Reader) -> Self {
        let progress = Self::on(reader.target(), None);
        progress.begins(what.to_owned());
        progress
    }

    fn on(target: ProgressDrawTarget, steps: Option<u64>) -> Self {
        let elapsed = START.get_or_init(Instant::now).elapsed();
        Self::after(QUICK.saturating_sub(elapsed), target, steps)
    }

    fn after(quick: Duration, target: ProgressDrawTarget, steps: Option<u64>) -> Self {
        // The message comes last, and its end is cut off if the terminal is narrow, because two lines are harder to erase.
        let template = match steps {
            Some(_) => "{spinner} [{bar:24}] {pos}/{len} {elapsed} {wide_msg}",
            None => "{spinner} {pos} {elapsed} {wide_msg}",
        };
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        let (end, ended) = channel::<()>();
        let shown = bar.clone();
        let waiting = spawn(move || {
            if ended.recv_timeout(quick) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(target);
                shown.enable_steady_tick(TICK);
            }
        });
        Self { bar, end: Some(end), waiting: Some(waiting) }
    }

    /// Shows that a step begins.
    pub(crate) fn begins(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Counts a step as done.
    pub(crate) fn ended(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end.take();
        if let Some(waiting) = self.waiting.take() {
            // It only sleeps and draws.
            let _ = waiting.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;

    const COLUMNS: u16 = 60;

    fn terminal() -> (InMemoryTerm, ProgressDrawTarget) {
        let terminal = InMemoryTerm::new(10, COLUMNS);
        (terminal.clone(), ProgressDrawTarget::term_like(Box::new(terminal)))
    }

    /// Waits until the screen meets a condition, and returns its text; the test fails after a timeout.
    fn screen(terminal: &InMemoryTerm, wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let contents = terminal.contents();
            if wanted(&contents) || start.elapsed() > Duration::from_secs(20) {
                return contents;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_bar_is_drawn_goes_on_and_leaves_nothing() {
        let (terminal, target) = terminal();
        let progress = Progress::after(Duration::from_millis(50), target, Some(3));
        progress.begins("simulating ours".to_owned());
        let first = screen(&terminal, |contents| contents.contains("0/3"));
        assert!(first.ends_with("simulating ours") && first.contains("[░░░"), "{first}");
        progress.ended();
        progress.begins("simulating what takes longer than there is room for in a line".to_owned());
        let second = screen(&terminal, |contents| contents.contains("1/3") && contents.contains("what"));
        assert!(second.contains("[████"), "{second}");
        assert_eq!((second.lines().count(), second.chars().count()), (1, COLUMNS as usize), "{second}");
        drop(progress);
        assert_eq!(terminal.contents(), "");
        // The next line appears in place of the bar.
        assert_eq!(terminal.contents_formatted().len(), InMemoryTerm::new(10, COLUMNS).contents_formatted().len());
    }

    #[test]
    fn what_is_quick_is_not_drawn() {
        let (terminal, target) = terminal();
        let progress = Progress::after(Duration::from_secs(60), target, None);
        let start = Instant::now();
        progress.begins("simulations".to_owned());
        progress.ended();
        assert_eq!(terminal.contents(), "");
        drop(progress);
        assert_eq!((terminal.contents(), start.elapsed() < Duration::from_secs(30)), (String::new(), true));
    }

    #[test]
    fn a_program_gets_no_bar() {
        assert!(Reader::new(true).target().is_hidden());
    }
}
