//! The sizes in the heads of a kernel's loops.

use super::ast::{Flow, Over, Stmt};
use super::constants::Constants;
use crate::finding::Errors;
use crate::names::ByName;

/// The sizes in the heads of all loops of a kernel, in the order of the source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopSizes {
    /// The lengths of constant ranges (`0..HIDDEN.div_ceil(TILE_N)`), which are numbers of tiles.
    pub(crate) ranges: Vec<usize>,
    /// The rows of row tiles, puts and blocks, and the numbers of chunks.
    pub(crate) others: Vec<usize>,
}

impl LoopSizes {
    /// The sizes with these values of constants; `None` if a size can't be computed.
    pub(crate) fn of(flows: &[Flow], constants: &Constants) -> Option<Self> {
        let mut sizes = Self::default();
        flows.iter().try_for_each(|flow| sizes.add(&flow.body, constants))?;
        Some(sizes)
    }

    fn add(&mut self, statements: &[Stmt], constants: &Constants) -> Option<()> {
        for statement in statements {
            let Stmt::For { over, body, .. } = statement else { continue };
            let head = match over {
                Over::Range { extent } => Some((extent, &mut self.ranges)),
                Over::Chunks { count: size }
                | Over::Sends { height: size, .. }
                | Over::SendsOnce { height: size, .. }
                | Over::RowTiles { height: size, .. }
                | Over::TokenBlocks { height: size, .. } => Some((size, &mut self.others)),
                Over::Ranks | Over::Experts | Over::ExpertsOf(_) => None,
            };
            if let Some((size, sizes)) = head {
                sizes.push(constants.evaluate(size, &ByName::new(), &mut Errors::default())?);
            }
            self.add(body, constants)?;
        }
        Some(())
    }
}
