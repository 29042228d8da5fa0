//! What a mutant's process runs.

use std::path::PathBuf;

/// A kernel, and the rows that it is run with.
#[derive(Clone, Debug)]
pub struct Job {
    pub kernel: String,
    pub library: PathBuf,
    /// What its longest row takes if it is as it should be.
    pub milliseconds: u64,
    pub rows: Vec<usize>,
}

impl Job {
    /// An argument of a process.
    pub fn text(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(ToString::to_string).collect();
        format!("{};{};{};{}", self.kernel, self.milliseconds, rows.join(","), self.library.display())
    }

    /// The job that an argument tells of.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ';');
        let (kernel, milliseconds, rows, library) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let rows = rows.split(',').filter(|row| !row.is_empty()).map(|row| row.parse().ok()).collect::<Option<_>>()?;
        Some(Self {
            kernel: kernel.to_owned(),
            library: library.into(),
            milliseconds: milliseconds.parse().ok()?,
            rows,
        })
    }
}
