//! Targets: machines described by constants, each with its source.
