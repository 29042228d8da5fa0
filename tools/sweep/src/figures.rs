//! The simulated figures of a case.

use std::fmt;

/// The table's columns for [`Figures`].
pub(crate) const COLUMNS: [&str; 9] = [
    "ours_us",
    "original_us",
    "serial_us",
    "bound_us",
    "dependency",
    "communication",
    "contention",
    "tail",
    "overhead",
];

/// The simulated times of a case in µs, and the shares of the matrix cores' time in `ours` that are not work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Figures {
    pub(crate) ours: f64,
    pub(crate) original: f64,
    pub(crate) serial: f64,
    /// The lower bound of the latency for any order of the tiles of `ours`.
    pub(crate) bound: f64,
    /// The shares for dependency, communication, contention, tail and overhead.
    pub(crate) idle: [f64; 5],
}

impl Figures {
    /// The latency of the faster of the two other policies, divided by the latency of `ours`.
    pub(crate) fn lead(&self) -> f64 {
        self.original.min(self.serial) / self.ours
    }

    pub(crate) fn over_bound(&self) -> f64 {
        self.ours / self.bound
    }

    /// The figures in the order of the columns, separated by commas.
    pub(crate) fn written(&self) -> String {
        let Self { ours, original, serial, bound, idle } = self;
        let times = [ours, original, serial, bound].map(|time| format!("{time:.1}"));
        let idle = idle.map(|share| format!("{share:.4}"));
        times.into_iter().chain(idle).collect::<Vec<_>>().join(",")
    }

    /// Parses the output of [`Self::written`].
    pub(crate) fn read(text: &str) -> Option<Self> {
        let values: Option<Vec<f64>> = text.split(',').map(|value| value.parse().ok()).collect();
        let &[ours, original, serial, bound, ref idle @ ..] = values.as_deref()? else { return None };
        Some(Self { ours, original, serial, bound, idle: idle.try_into().ok()? })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, original, serial, .. } = self;
        let [dependency, communication, contention, tail, overhead] = self.idle.map(|share| 100.0 * share);
        write!(
            f,
            "{ours:.1} µs, original/ours {:.3}, serial/ours {:.3}, ours/bound {:.3}; of matrix cores {dependency:.0} % wait for \
             work, {communication:.0} % for rows, {contention:.0} % for memories, {tail:.0} % at the end, overhead {overhead:.0} %",
            original / ours,
            serial / ours,
            self.over_bound()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_as_written() {
        let figures =
            Figures { ours: 10.5, original: 12.0, serial: 11.0, bound: 10.0, idle: [0.125, 0.0, 0.5, 0.25, 0.0625] };
        assert_eq!(Figures::read(&figures.written()), Some(figures));
        assert_eq!(figures.written().split(',').count(), COLUMNS.len());
        assert_eq!(Figures::read("1,2,3"), None);
        assert!((figures.lead() - 11.0 / 10.5).abs() < 1e-12 && (figures.over_bound() - 1.05).abs() < 1e-12);
    }
}
