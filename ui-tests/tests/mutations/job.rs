//! The work of a mutant's process.

use std::path::PathBuf;

/// A kernel, and the rows of launches that it runs.
#[derive(Clone, Debug)]
pub struct Job {
    pub kernel: String,
    pub library: PathBuf,
    /// Time of its longest row if the kernel is unchanged.
    pub milliseconds: u64,
    pub rows: Vec<usize>,
}

impl Job {
    /// The job as a process argument.
    pub fn text(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(ToString::to_string).collect();
        format!("{};{};{};{}", self.kernel, self.milliseconds, rows.join(","), self.library.display())
    }

    /// The job of a process argument.
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
