"""Errors, each with a way out in its words."""

from ._printable import printable_lines


class HpmoeError(Exception):
    """Something does not fit. Nothing was started, and everything can be used as before."""

    def __init__(self, message: str = "") -> None:
        """Keeps the message, whose control characters are escaped: names of files and values of the environment are among its words."""
        super().__init__(printable_lines(str(message)))


class LaunchError(HpmoeError):
    """A launch went wrong after it had started. Its group can no longer be used."""


class BuildError(HpmoeError):
    """A crate of kernels could not be built."""


class MissingToolError(BuildError):
    """There is no cargo to build with."""
