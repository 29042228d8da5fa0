//! The time axis of pictures.

use super::number;
use crate::units::Nanos;
use svg::node::element::{Group, Line, Text};

/// The minimum distance between tick marks, in pixels.
const TICK: f64 = 90.0;

/// The time axis of a picture: maps times to horizontal coordinates, in pixels.
pub struct Axis {
    end: Nanos,
    left: f64,
    width: f64,
}

impl Axis {
    /// An axis from zero to `end` that starts at `left` and is `width` pixels wide.
    #[must_use]
    pub fn new(end: Nanos, left: f64, width: f64) -> Self {
        Self { end: Nanos(end.0.max(1)), left, width }
    }

    /// The horizontal coordinate of a time, in pixels.
    #[must_use]
    pub fn x(&self, time: Nanos) -> f64 {
        self.left + self.width * time.0 as f64 / self.end.0 as f64
    }

    /// A time as text: in milliseconds if the axis ends at 2 ms or later, otherwise in microseconds.
    pub fn time(&self, time: Nanos) -> String {
        if self.millis() { format!("{:.2} ms", time.0 as f64 / 1e6) } else { format!("{:.1} µs", time.0 as f64 / 1e3) }
    }

    /// Draws tick marks from `top` to `bottom`, with their times below.
    pub fn draw(&self, top: f64, bottom: f64) -> Group {
        let mut axis = Group::new();
        let step = self.step();
        let mut at = Nanos(0);
        while at <= self.end {
            let x = number(self.x(at));
            let line = Line::new()
                .set("x1", x.clone())
                .set("x2", x.clone())
                .set("y1", number(top))
                .set("y2", number(bottom))
                .set("stroke", "#d5dae0");
            let label = Text::new(self.tick(at)).set("x", x).set("y", number(bottom + 16.0)).set("class", "tick");
            axis = axis.add(line).add(label);
            at += step;
        }
        axis
    }

    fn tick(&self, time: Nanos) -> String {
        if self.millis() { format!("{} ms", time.0 as f64 / 1e6) } else { format!("{} µs", time.0 as f64 / 1e3) }
    }

    fn millis(&self) -> bool {
        self.end >= Nanos(2_000_000)
    }

    /// The time between tick marks: 1, 2 or 5 times a power of ten.
    fn step(&self) -> Nanos {
        let least = (self.end.0 as f64 * TICK / self.width) as u64;
        let mut power = 1;
        loop {
            for factor in [1, 2, 5] {
                if factor * power >= least {
                    return Nanos(factor * power);
                }
            }
            power *= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        for (end, step) in [(11_300_000, 2_000_000), (50_000, 5_000), (1, 1)] {
            assert_eq!(Axis::new(Nanos(end), 0.0, 1000.0).step(), Nanos(step));
        }
    }
}
