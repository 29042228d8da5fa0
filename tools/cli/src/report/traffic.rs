//! A picture of the traffic between ranks.

use super::drawing::{picture, rectangle};
use hpmoe_core::report::drawing::text;
use svg::node::element::Group;

const LEFT: f64 = 60.0;
const TOP: f64 = 36.0;
/// Minimum and maximum size of a cell in pixels.
const CELL: (f64, f64) = (4.0, 40.0);
const WIDTH: f64 = 480.0;

/// The picture (SVG): a cell for each pair of ranks, which is darker if one rank puts more bytes to the other.
pub(super) fn traffic(bytes: &[Vec<u64>]) -> String {
    let ranks = bytes.len();
    let cell = (WIDTH / ranks as f64).clamp(CELL.0, CELL.1);
    let most = bytes.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    let size = LEFT + cell * ranks as f64 + 12.0;
    let mut cells = Group::new();
    for (from, row) in bytes.iter().enumerate() {
        for (to, &sent) in row.iter().enumerate() {
            let hint = format!("rank {from} to rank {to}: {:.3} MB", sent as f64 / 1e6);
            let at = (LEFT + to as f64 * cell, TOP + from as f64 * cell);
            let shade = 0.06 + 0.94 * sent as f64 / most;
            cells = cells.add(
                rectangle(at, (cell - 1.0, cell - 1.0), "#2f6db3", hint).set("fill-opacity", format!("{shade:.3}")),
            );
        }
    }
    // As many numbers as fit.
    let step = (18.0 / cell).ceil().max(1.0) as usize;
    let mut labels = Group::new().add(text("to rank".to_owned(), LEFT, 14.0, "small")).add(text(
        "from".to_owned(),
        8.0,
        TOP - 6.0,
        "small",
    ));
    for rank in (0..ranks).step_by(step) {
        let middle = (rank as f64 + 0.5) * cell;
        labels = labels.add(text(rank.to_string(), LEFT + middle - 4.0, TOP - 6.0, "small")).add(text(
            rank.to_string(),
            LEFT - 24.0,
            TOP + middle + 4.0,
            "small",
        ));
    }
    picture(size, TOP + cell * ranks as f64 + 8.0, "bytes put between ranks").add(cells).add(labels).to_string()
}
