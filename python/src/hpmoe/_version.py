"""The version of this package, which is that of its crates."""

__version__ = "0.1.0"
