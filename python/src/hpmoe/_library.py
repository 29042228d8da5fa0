"""Libraries of kernels."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Iterator

from . import _c, _html
from ._errors import HpmoeError
from ._taskflow import Taskflow

_loaded: dict[str, "Library"] = {}
_loading = threading.Lock()


def load(path: str | os.PathLike[str]) -> "Library":
    """Opens a library of kernels: a crate of type ``cdylib`` with ``hpmoe_c::export!();``.

    Opening the same file again returns the same library.

    Raises:
        HpmoeError: If the file does not exist, is not a library of kernels, or has changed since this process opened it.
    """
    path = os.path.realpath(os.fspath(path))
    with _loading:
        if path not in _loaded:
            _loaded[path] = Library(path)
        elif _file(path) not in (None, _loaded[path].file):
            raise HpmoeError(f"{path} has changed since this process opened it, and can't be opened again: start a new process")
        return _loaded[path]


def _file(path: str) -> tuple[int, int, int] | None:
    """The identity of a file, which changes if another file replaces it."""
    try:
        found = os.stat(path)
    except OSError:
        # The file is gone, but a library that this process has opened stays usable.
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)


class Library:
    """The kernels of one library. ``library["moe::forward"]`` is a taskflow."""

    def __init__(self, path: str) -> None:
        """Opens the library. :func:`load` opens each file only once."""
        self.path = path
        self.file = _file(path)
        self._interface = _c.Interface(path)
        self._description = json.loads(self._interface.describe())
        flows = [(kernel, flow) for kernel in self._description["kernels"] for flow in kernel["taskflows"]]
        self._taskflows = {flow["name"]: Taskflow(self, kernel, flow) for kernel, flow in flows}

    def describe(self) -> dict[str, Any]:
        """The contents of the library: kernels, constants, taskflows and their arguments."""
        return json.loads(self._interface.describe())

    def __getitem__(self, name: str) -> "Taskflow":
        """The taskflow with that name, ``"kernel::taskflow"``."""
        if name not in self._taskflows:
            names = ", ".join(self._taskflows) or "none"
            raise HpmoeError(f"{self.path} has no taskflow {name!r}: it has {names}")
        return self._taskflows[name]

    def __iter__(self) -> Iterator["Taskflow"]:
        """All taskflows."""
        return iter(self._taskflows.values())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the file name; unpickling opens the file again."""
        return load, (self.path,)

    def _repr_html_(self) -> str:
        """A table of the taskflows' arguments, and the constants of each kernel."""
        parts = []
        for flow in self:
            constants = ", ".join(f"{name} = {value}" for name, value in flow.constants.items())
            rows = [[a.name, "writes" if a.writable else "reads", a.element, a.shape_text, a.rows] for a in flow.arguments]
            parts.append(_html.page(f"{flow.name} on {', '.join(map(str, flow.ranks))} ranks", _html.table(["argument", "", "element", "shape", "per"], rows)))
            parts.append(_html.preformatted(constants))
        return _html.page(self.path, *parts)

    def __repr__(self) -> str:
        """The file, and the names of the taskflows."""
        return f"<hpmoe library {self.path}: {', '.join(self._taskflows) or 'no taskflows'}>"
