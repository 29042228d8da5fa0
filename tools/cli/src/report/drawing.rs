//! Common code of the page's pictures.

use hpmoe_core::report::drawing::number;
use svg::Document;
use svg::node::element::{Rectangle, Title};

/// An empty picture of a size in pixels, which shrinks with the page.
pub(super) fn picture(width: f64, height: f64, label: &str) -> Document {
    Document::new()
        .set("viewBox", format!("0 0 {} {}", number(width), number(height)))
        .set("width", number(width))
        .set("role", "img")
        .set("aria-label", label.to_owned())
}

/// A rectangle with a text that shows when a pointer rests on it.
pub(super) fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), fill: &str, hint: String) -> Rectangle {
    Rectangle::new()
        .set("x", number(x))
        .set("y", number(y))
        .set("width", number(width))
        .set("height", number(height))
        .set("fill", fill)
        .add(Title::new(hint))
}
