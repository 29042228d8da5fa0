//! Sizes that are no larger than the tensor dimension that they divide.

use super::ladders::OpenSize;
use crate::analyze::CheckedGraph;
use crate::front::ReadModule;
use crate::graph::Height;
use crate::syntax::Overrides;
use crate::tuned::{NamedSizes, overrides};

/// The sizes of tiles along columns, or along rows of matrices. The number of such tiles depends only on the size and the tensors.
const OF_COLUMNS: [&str; 4] = ["TILE_N", "GRAD_M", "GRAD_N", "COLUMNS"];
/// The size of tiles along the tokens of a rank.
const OF_TOKENS: &str = "BLOCK";
/// The size of tiles along the rows of an expert.
const OF_PUTS: &str = "PUT";
/// Columns of a fractal of the matrix cores: 32 bytes of bf16. Narrower tiles take as much room.
const GRAIN: usize = 16;

/// Reduces each size that exceeds every dimension it divides to the smallest one with the same tiles: 256 columns become 80 for a tensor of
/// 80 columns.
pub(super) fn fitted(module: &mut ReadModule, (set, ranks): (&Overrides, u32), mut sizes: NamedSizes) -> NamedSizes {
    let Ok(flows) = module.check(&overrides(set, &sizes)) else { return sizes };
    let tokens = flows.iter().map(|flow| flow.graph().sizes.tokens).max().unwrap_or(usize::MAX);
    // An expert has at most one row of each token of the group.
    for (name, most) in [(OF_TOKENS, tokens), (OF_PUTS, ranks as usize * tokens)] {
        if sizes.get(name).is_some_and(|size| *size > most) {
            let smaller = with(&sizes, name, most);
            if module.check(&overrides(set, &smaller)).is_ok() {
                sizes = smaller;
            }
        }
    }
    let (tiles_of, heights_of) = (tiles(&flows), heights(&flows));
    let mut flows_with = |sizes: &NamedSizes| module.check(&overrides(set, sizes)).ok();
    for (name, size) in sizes.clone() {
        // A size with a name of the kernel's own divides only columns if it changes the number of tiles, but not their rows.
        let of_columns = match OpenSize::is_usual(&name) {
            true => OF_COLUMNS.contains(&name.as_str()),
            false => {
                let narrow = flows_with(&with(&sizes, &name, GRAIN));
                narrow.is_some_and(|flows| tiles(&flows) != tiles_of && heights(&flows) == heights_of)
            }
        };
        if !of_columns {
            continue;
        }
        // Half the size divides what this size covers, or leaves it whole.
        let halves = flows_with(&with(&sizes, &name, (size / 2).next_multiple_of(GRAIN)));
        if !halves.is_some_and(|halves| covers(&tiles_of, &tiles(&halves))) {
            continue;
        }
        // The number of tiles doesn't grow with the size: bisect for the least size with the same number.
        let (mut less, mut enough) = (0, size.div_ceil(GRAIN));
        while less + 1 < enough {
            let next = usize::midpoint(less, enough);
            if flows_with(&with(&sizes, &name, next * GRAIN)).is_some_and(|flows| tiles(&flows) == tiles_of) {
                enough = next;
            } else {
                less = next;
            }
        }
        sizes.insert(name, size.min(enough * GRAIN));
    }
    sizes
}

/// The rows of the items of each taskflow's spaces.
fn heights(flows: &[CheckedGraph]) -> Vec<Height> {
    flows.iter().flat_map(|flow| flow.graph().spaces.iter().map(|(_, space)| space.height)).collect()
}

fn with(sizes: &NamedSizes, name: &str, size: usize) -> NamedSizes {
    let mut other = sizes.clone();
    other.insert(name.to_owned(), size);
    other
}

/// The extents of the constant ranges around each phase of each taskflow, which are numbers of tiles.
fn tiles(flows: &[CheckedGraph]) -> Vec<Vec<u32>> {
    flows.iter().flat_map(|flow| flow.graph().phases.iter().map(|(_, phase)| phase.ranges.clone())).collect()
}

/// Whether every range that is longer with the smaller size has a single tile with this size.
fn covers(tiles: &[Vec<u32>], smaller: &[Vec<u32>]) -> bool {
    let mut ranges = tiles.iter().flatten().zip(smaller.iter().flatten());
    ranges.all(|(length, smaller)| length == smaller || *length == 1)
}
