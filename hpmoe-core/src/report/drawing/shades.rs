//! Colours of operations. Operations with the same kind of work share a hue.

use hpmoe_kernels::op::TaskKind;

/// Colours of a kind that are easy to tell apart (red, green, blue).
const fn hues(kind: TaskKind) -> [[u8; 3]; 4] {
    match kind {
        TaskKind::Matrix => [[0x2f, 0x6d, 0xb3], [0x5c, 0x9b, 0xd6], [0x1b, 0x4a, 0x82], [0x8a, 0x7f, 0xd0]],
        TaskKind::Vector => [[0x3f, 0x8f, 0x5f], [0x2b, 0x6b, 0x6f], [0x86, 0xa8, 0x3c], [0x1f, 0x5a, 0x3a]],
        TaskKind::Put => [[0xd9, 0x82, 0x2b], [0xb0, 0x4a, 0x3a], [0xc9, 0xa2, 0x27], [0x8c, 0x4a, 0x12]],
    }
}

/// Gives each operation of a picture its own colour.
#[derive(Default, Debug)]
pub struct Shades {
    /// The number of operations of each kind that already have a colour.
    used: [usize; 3],
}

impl Shades {
    /// The colour of the next operation of a kind, as `#rrggbb`.
    pub fn next(&mut self, kind: TaskKind) -> String {
        let used = &mut self.used[kind as usize];
        *used += 1;
        shade(kind, *used - 1)
    }
}

/// The colour of an operation among those of its kind: four colours, then lighter and darker ones of the same hues.
fn shade(kind: TaskKind, number: usize) -> String {
    let hues = hues(kind);
    let round = number / hues.len();
    // Towards white and black in turn, further each time.
    let (end, steps) = if round % 2 == 1 { (255.0, round.div_ceil(2)) } else { (0.0, round / 2) };
    let share = steps as f64 / (steps as f64 + 1.5);
    let [red, green, blue] = hues[number % hues.len()].map(|part| {
        let part = f64::from(part);
        (part + (end - part) * share).round() as u8
    });
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_operations_have_one_colour() {
        let kinds = [TaskKind::Matrix, TaskKind::Vector, TaskKind::Put];
        let mut shades = Shades::default();
        let all: BTreeSet<String> = (0..24).flat_map(|_| kinds.map(|kind| shades.next(kind))).collect();
        assert_eq!(all.len(), 3 * 24);
        assert_eq!([0, 1, 4].map(|number| shade(TaskKind::Matrix, number)), ["#2f6db3", "#5c9bd6", "#82a7d1"]);
    }
}
