"""Kernel source files of built libraries, for the command ``hpmoe``, which works on sources."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from ._errors import HpmoeError
from ._library import Library
from ._moe import SIZES, MoE, crate
from ._taskflow import Taskflow


@dataclass(frozen=True)
class Source:
    """A kernel file, the constants that it was built with, and the selected taskflow, if there is one."""

    file: Path
    constants: Mapping[str, int | float]
    taskflow: str | None

    def arguments(self, constants: Mapping[str, int | float]) -> list[str]:
        """The file and the constants as command-line arguments. `constants` override those of the build, and may have a layer's argument names (hidden)."""
        for name, value in constants.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise HpmoeError(f"{name} is {value!r}: constants of kernels are whole numbers or floats")
        pairs = {**self.constants, **{SIZES.get(name, name): value for name, value in constants.items()}}
        return [str(self.file), *(part for name, value in pairs.items() for part in ("--set", f"{name}={value!r}"))]


def source_of(kernel: Any) -> Source:
    """The source of a layer, a taskflow or a library, or a file given by name.

    Raises:
        HpmoeError: If the file does not exist, or has changed since the build.
    """
    if isinstance(kernel, (str, os.PathLike)):
        file = Path(kernel)
        if not file.is_file():
            raise HpmoeError(f"there is no kernel file {file}: pass a .rs file with a #[megakernel] module, a layer, a taskflow or a library")
        return Source(file, {}, None)
    if isinstance(kernel, MoE):
        return _of_flow(kernel.taskflow)
    if isinstance(kernel, Taskflow):
        return _of_flow(kernel)
    if isinstance(kernel, Library):
        return _of_library(kernel)
    raise HpmoeError(f"an object of type {type(kernel).__name__} has no kernel file: pass a .rs file, a layer, a taskflow or a library")


def _of_library(library: Library) -> Source:
    files = {kernel["file"] for kernel in library.describe()["kernels"]}
    if len(files) != 1:
        names = ", ".join(flow.name for flow in library)
        raise HpmoeError(f"{library.path} was built from {len(files)} kernel files: pass one of its taskflows ({names})")
    return _found(library, files.pop(), None)


def _of_flow(flow: Taskflow) -> Source:
    module = flow.name.partition("::")[0]
    (file,) = (kernel["file"] for kernel in flow.library.describe()["kernels"] if kernel["name"] == module)
    return _found(flow.library, file, flow.name)


def _found(library: Library, file: str, taskflow: str | None) -> Source:
    kept = Path(library.path).with_suffix(".json")
    if not kept.is_file():
        raise HpmoeError(f"the source files of {library.path} are unknown: build it with hpmoe.build, or pass the kernel file")
    built = json.loads(kept.read_text())
    # Layers of the wheel are built from the sources that the wheel includes.
    found = (crate() if built["crate"] is None else Path(built["crate"])) / file
    if not found.is_file():
        raise HpmoeError(f"{found}, from which {library.path} was built, is gone: build it again with hpmoe.build, or pass the kernel file")
    if built["sources"].get(file, digest(found)) != digest(found):
        raise HpmoeError(f"{found} has changed since {library.path} was built from it: build it again, or pass the file itself")
    # Leaves out constants of kernels in other files of the library.
    known = {"SPARE"}.union(*(kernel["constants"] for kernel in library.describe()["kernels"] if kernel["file"] == file))
    return Source(found, {name: value for name, value in built["constants"].items() if name.rpartition("::")[2] in known}, taskflow)


def digest(file: Path) -> str:
    """Identifies the content of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
