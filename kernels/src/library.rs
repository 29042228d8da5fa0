//! The list of the library's functions.

/// Includes the source files of a library folder, one function each.
macro_rules! library {
    ($folder:literal: $($name:ident),* $(,)?) => {
        /// Name and source of each function.
        pub const SOURCES: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("../", $folder, "/", stringify!($name), ".rs")))),*];
    };
}
