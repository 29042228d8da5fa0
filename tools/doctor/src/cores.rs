//! The cores of a launch.

/// Number of cores of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cores {
    pub(crate) matrix: u32,
}

impl Cores {
    pub(crate) const fn vector(self) -> u32 {
        2 * self.matrix
    }

    pub(crate) const fn count(self) -> usize {
        (3 * self.matrix) as usize
    }

    /// The name of a core, given its number among all cores, matrix cores first.
    pub(crate) fn name(self, slot: usize) -> String {
        let matrix = self.matrix as usize;
        if slot < matrix { format!("matrix core {slot}") } else { format!("vector core {}", slot - matrix) }
    }
}
