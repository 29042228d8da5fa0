"""Exceptions. Every message says what to do."""

from ._printable import printable_lines


class HpmoeError(Exception):
    """An argument or a setting is invalid. Nothing was started, and groups and libraries remain usable."""

    def __init__(self, message: str = "") -> None:
        """Keeps the message, with control characters escaped, because it can contain file names and environment values."""
        super().__init__(printable_lines(str(message)))


class LaunchError(HpmoeError):
    """A launch failed after it had started. Its group can no longer be used."""


class BuildError(HpmoeError):
    """A crate of kernels could not be built."""


class MissingToolError(BuildError):
    """A program that is needed is not installed, such as cargo."""


class MissingPackageError(HpmoeError, ModuleNotFoundError):
    """A Python package that a call needs is not installed, such as PyTorch.

    Attributes:
        name: The name by which the package is imported.
    """

    def __init__(self, message: str = "", *, name: str | None = None) -> None:
        """Keeps the message and the package's name."""
        super().__init__(message)
        self.name = name
