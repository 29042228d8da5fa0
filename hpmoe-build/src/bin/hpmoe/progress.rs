//! A progress bar on stderr, for what takes longer than two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

const QUICK: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(200);

/// Goes away when dropped. Nothing is drawn where stderr is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Dropped first, which ends the waiting thread.
    end: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Progress {
    /// That many steps.
    pub(crate) fn new(steps: usize) -> Self {
        Self::with(Some(steps as u64), "{spinner} {msg} [{bar:24}] {pos}/{len} {elapsed}")
    }

    /// Nobody knows how many steps.
    pub(crate) fn counting(what: &'static str) -> Self {
        let progress = Self::with(None, "{spinner} {pos} {msg} {elapsed}");
        progress.bar.set_message(what);
        progress
    }

    fn with(steps: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(template).expect("the template is right"));
        let (end, ended) = channel::<()>();
        let shown = bar.clone();
        let waiting = spawn(move || {
            if ended.recv_timeout(QUICK) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self { bar, end: Some(end), waiting: Some(waiting) }
    }

    /// A step begins.
    pub(crate) fn begins(&self, what: String) {
        self.bar.set_message(what);
    }

    /// It is done.
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
