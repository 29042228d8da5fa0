"""Errors, each with a way out in its words."""


class HpmoeError(Exception):
    """Something does not fit. Nothing was started, and everything can be used as before."""


class LaunchError(HpmoeError):
    """A launch went wrong after it had started. Its group can no longer be used."""


class BuildError(HpmoeError):
    """A crate of kernels could not be built."""


class MissingToolError(BuildError):
    """There is no cargo to build with."""
