//! Lookup of environment variables.

use std::cell::RefCell;
use std::env::{self, VarError};

use super::BootstrapError;

/// Calls `read` with a function that looks up environment variables; empty ones count as unset. If `read` looks up a
/// variable that is not valid UTF-8, this is an error: if it counted as unset, a job could run without its secret.
pub(super) fn with_variables<T>(
    read: impl FnOnce(&dyn Fn(&str) -> Option<String>) -> Result<T, BootstrapError>,
) -> Result<T, BootstrapError> {
    let no_text = RefCell::new(None);
    let result = read(&|name| match env::var(name) {
        Ok(value) => Some(value).filter(|value| !value.is_empty()),
        Err(VarError::NotPresent) => None,
        Err(VarError::NotUnicode(value)) => {
            let (variable, value) = (name.to_owned(), value.to_string_lossy().into_owned());
            no_text.borrow_mut().get_or_insert(BootstrapError::Variable { variable, value, wanted: "text in UTF-8" });
            None
        }
    });
    no_text.into_inner().map_or(result, Err)
}
