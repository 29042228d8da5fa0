//! The attributes of functions in a kernel module.

use syn::Attribute;

/// The name of the attribute that marks a taskflow.
pub const TASKFLOW: &str = "taskflow";

/// All marker attributes.
const MARKERS: [&str; 4] = ["aic_task", "aiv_task", "comm_put", TASKFLOW];

/// The name of a marker attribute, whatever path precedes it; `None` if the attribute is not a marker.
#[must_use]
pub fn marker(attribute: &Attribute) -> Option<&'static str> {
    let name = &attribute.path().segments.last()?.ident;
    MARKERS.into_iter().find(|marker| name == marker)
}
