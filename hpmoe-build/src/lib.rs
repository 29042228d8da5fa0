//! hpmoe-build.
