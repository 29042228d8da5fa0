"""The version of this package, which equals the version of its crates."""

__version__ = "0.1.0"
