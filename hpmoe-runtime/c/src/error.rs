//! Errors at the boundary: a status for the caller, and a message that the thread keeps.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hpmoe_runtime::printable::printable_lines;

use crate::advice::in_c;
use crate::header::{HPMOE_FAILED, HPMOE_INVALID, HPMOE_OK, HPMOE_PANICKED, HpmoeStatus};
use hpmoe_runtime::StandardArithmetic;

/// The error of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    status: HpmoeStatus,
    message: String,
}

impl Failure {
    /// An error that was found before anything was started.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { status: HPMOE_INVALID, message: message.into() }
    }

    /// The message, with a way out.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// An error of a launch that had started.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { status: HPMOE_FAILED, message: message.into() }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of an interface function, and catches panics. The floating-point state is that of kernels and references, regardless of
/// the caller's.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> HpmoeStatus {
    let _arithmetic = StandardArithmetic::begin();
    let panicked = |payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without words");
        let message = format!("hpmoe panicked ({text}): free the group, and report this fault of hpmoe");
        Err(Failure { status: HPMOE_PANICKED, message })
    };
    let (status, message) = match catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(panicked) {
        Ok(()) => (HPMOE_OK, String::new()),
        Err(Failure { status, message }) => (status, message),
    };
    LAST_ERROR.set(text(&printable_lines(&in_c(&message))));
    status
}

/// A C string of the message. Text after a zero byte is dropped.
pub(crate) fn text(message: &str) -> CString {
    let end = message.find('\0').unwrap_or(message.len());
    CString::new(&message[..end]).unwrap_or_default()
}

/// The error message of the thread's last call; empty if the call succeeded.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|message| CStr::as_ptr(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> String {
        // SAFETY: a string of this thread, which no call replaces meanwhile.
        unsafe { CStr::from_ptr(last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_and_the_next_call_clears_it() {
        assert_eq!(guarded(|| panic!("slot {} is taken", 7)), HPMOE_PANICKED);
        assert_eq!(said(), "hpmoe panicked (slot 7 is taken): free the group, and report this fault of hpmoe");
        assert_eq!(guarded(|| Err(Failure::invalid("first\0second"))), HPMOE_INVALID);
        assert_eq!(said(), "first\\u{0}second", "a string of C would end there");
        assert_eq!(guarded(|| Err(Failure::failed("stuck\u{1b}[2J\n  core 0"))), HPMOE_FAILED);
        assert_eq!(said(), "stuck\\u{1b}[2J\n  core 0", "nothing of it acts on a terminal");
        assert_eq!(guarded(|| Ok(())), HPMOE_OK);
        assert_eq!(said(), "");
    }
}
