"""Packages that parts of this package need, and that its installation does not bring along."""

from __future__ import annotations

import importlib

from ._errors import MissingPackageError

#: The names of packages in messages, and what pip installs.
PACKAGES = {
    "torch": ("PyTorch", "torch>=2.6"),
    "transformers": ("transformers", "transformers>=5"),
    "safetensors": ("safetensors", "safetensors"),
    "torchtitan": ("TorchTitan", "torchtitan"),
}

#: The calls of this package that need no other package.
WITHOUT = (
    ". Without it, hpmoe.load and hpmoe.build run kernels on numpy arrays and buffers, and hpmoe.check, hpmoe.simulate, hpmoe.report and hpmoe.timeline work "
    "on kernel files"
)


def require(what: str, *packages: str) -> None:
    """Checks that packages are installed.

    Args:
        what: The call or the module that needs them.
        *packages: The names by which they are imported.

    Raises:
        MissingPackageError: If one is not installed.
    """
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                # The package is installed, but lacks one of its own.
                raise
            name, _ = PACKAGES[package]
            wanted = " ".join(f"'{PACKAGES[one][1]}'" for one in packages)
            without = WITHOUT if package == "torch" else ""
            raise MissingPackageError(
                f"{what} needs {name}, which is not installed: install it with `pip install {wanted}`{without}", name=package
            ) from error
