//! Common code of the pictures of schedules and of simulated runs.

mod axis;
mod shades;

pub use axis::Axis;
pub use shades::Shades;
use svg::node::element::Text;

/// A coordinate with two decimals, so that pictures have the same bytes on every machine.
#[must_use]
pub fn number(value: f64) -> String {
    format!("{value:.2}")
}

/// A text at a point, styled by a class of the picture's style sheet.
#[must_use]
pub fn text(content: String, x: f64, y: f64, class: &str) -> Text {
    Text::new(content).set("x", number(x)).set("y", number(y)).set("class", class)
}
