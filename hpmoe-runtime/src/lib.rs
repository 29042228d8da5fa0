//! hpmoe-runtime.
