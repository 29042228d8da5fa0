//! hpmoe-macros.
