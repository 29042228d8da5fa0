//! How the library of the language is listed.

/// The texts of a folder of the library, each of one function.
macro_rules! library {
    ($folder:literal: $($name:ident),* $(,)?) => {
        /// Name and source of every function.
        pub const SOURCES: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("../", $folder, "/", stringify!($name), ".rs")))),*];
    };
}
