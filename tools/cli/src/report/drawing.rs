//! Code that the page's pictures share.

use hpmoe_core::report::drawing::number;
use svg::Document;
use svg::node::element::{Rectangle, Title};

/// An empty picture with a size in pixels, which is scaled down with the page.
pub(super) fn picture(width: f64, height: f64, label: &str) -> Document {
    Document::new()
        .set("viewBox", format!("0 0 {} {}", number(width), number(height)))
        .set("width", number(width))
        .set("role", "img")
        .set("aria-label", label.to_owned())
}

/// A rectangle with a text that appears when the pointer rests on it.
pub(super) fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), fill: &str, hint: String) -> Rectangle {
    Rectangle::new()
        .set("x", number(x))
        .set("y", number(y))
        .set("width", number(width))
        .set("height", number(height))
        .set("fill", fill)
        .add(Title::new(hint))
}
