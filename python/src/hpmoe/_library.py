"""Libraries of kernels, and their taskflows."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any, Iterator

from . import _c
from ._errors import HpmoeError
from ._group import Group
from ._memory import View, count, empty_like, view

_reports = threading.local()
_loaded: dict[str, "Library"] = {}
_loading = threading.Lock()


def last_report() -> dict[str, Any] | None:
    """The report of the last launch of this thread: tasks, counters, copies, and ``"text"``, the same in words.

    None if there was none, or it failed.
    """
    return getattr(_reports, "last", None)


def load(path: str | os.PathLike[str]) -> "Library":
    """Opens a library of kernels: a crate of type ``cdylib`` with ``hpmoe_c::export!();``.

    A file that has been opened before is the same library.

    Raises:
        HpmoeError: If there is no such file, it is no library of kernels, or it has changed since this process opened it.
    """
    path = os.path.realpath(os.fspath(path))
    with _loading:
        if path not in _loaded:
            _loaded[path] = Library(path)
        elif _file(path) not in (None, _loaded[path].file):
            raise HpmoeError(f"{path} has changed since this process opened it, and can't be opened again: start a new process")
        return _loaded[path]


def _file(path: str) -> tuple[int, int, int] | None:
    """What tells a file from one that replaces it."""
    try:
        found = os.stat(path)
    except OSError:
        # It is gone, but what has been opened stays.
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True)
class Argument:
    """An argument of a taskflow.

    Attributes:
        name: Its name in the taskflow.
        element: ``"bf16"``, ``"f32"``, ``"i32"`` or ``"i8"``.
        columns: Number of columns.
        rows: What its rows stand for: ``"token"``, ``"slot"`` (one for each token and k), ``"received"``, ``"once"``,
            ``"expert"`` (``height`` for each expert) or ``"rank"`` (``height`` for each rank).
        height: Rows for each expert or rank; None for other kinds.
        writable: Whether the taskflow writes it.
        peers_write: Whether ranks write the parts of other ranks.
    """

    name: str
    element: str
    columns: int
    rows: str
    height: int | None
    writable: bool
    peers_write: bool

    def shape(self, flow: "Taskflow", group: Group, tokens: int, received: int, once: int) -> tuple[int, ...]:
        """Its shape in this process for a number of tokens here; `received` and `once` are those rows of each rank."""
        here = group.here
        rows = {"token": tokens, "slot": tokens * flow.top_k, "received": here * received, "once": here * once}
        if self.rows in rows:
            return (rows[self.rows], self.columns)
        assert self.height is not None
        experts = flow.experts // group.ranks * here
        return (experts if self.rows == "expert" else here, self.height, self.columns)


class Library:
    """The kernels of one library. ``library["moe::forward"]`` is a taskflow."""

    def __init__(self, path: str) -> None:
        """Opens the library; :func:`load` does that only once for each file."""
        self.path = path
        self.file = _file(path)
        self._interface = _c.Interface(path)
        self._description = json.loads(self._interface.describe())
        flows = [(kernel, flow) for kernel in self._description["kernels"] for flow in kernel["taskflows"]]
        self._taskflows = {flow["name"]: Taskflow(self, kernel, flow) for kernel, flow in flows}

    def describe(self) -> dict[str, Any]:
        """What is in the library: kernels, constants, taskflows and their arguments."""
        return json.loads(self._interface.describe())

    def __getitem__(self, name: str) -> "Taskflow":
        """The taskflow of that name, ``"kernel::taskflow"``."""
        if name not in self._taskflows:
            names = ", ".join(self._taskflows) or "none"
            raise HpmoeError(f"{self.path} has no taskflow {name!r}: it has {names}")
        return self._taskflows[name]

    def __iter__(self) -> Iterator["Taskflow"]:
        """All taskflows."""
        return iter(self._taskflows.values())

    def __repr__(self) -> str:
        """The file, and the names of the taskflows."""
        return f"<hpmoe library {self.path}: {', '.join(self._taskflows) or 'no taskflows'}>"


class Taskflow:
    """A taskflow of a library: call it to launch it.

    Attributes:
        name: ``"kernel::taskflow"``.
        fingerprint: Identifies source, constants, schedule and compiler.
        constants: The constants of the kernel, as it was built.
        arguments: Its arguments, in order.
        ranks: The numbers of ranks that it can run on.
        experts: Experts of the whole group.
        top_k: Experts of each token.
        tokens: Most tokens of a rank.
        chunks: Chunks that the tokens of a rank are cut into.
    """

    def __init__(self, library: Library, kernel: dict[str, Any], flow: dict[str, Any]) -> None:
        """From the description of the library."""
        self.library = library
        self.name: str = flow["name"]
        self.fingerprint: str = flow["fingerprint"]
        self.constants: dict[str, int | float] = dict(kernel["constants"])
        self.arguments = tuple(Argument(**argument) for argument in flow["arguments"])
        self.ranks: tuple[int, ...] = tuple(flow["ranks"])
        self.experts: int = flow["experts"]
        self.top_k: int = flow["top_k"]
        self.tokens: int = flow["tokens"]
        self.chunks: int = flow["chunks"]
        self._memory: dict[tuple[int, int], _c.Memory] = {}

    def __repr__(self) -> str:
        """Name and arguments."""
        arguments = ", ".join(f"{'&mut ' if a.writable else ''}{a.name}" for a in self.arguments)
        return f"<hpmoe taskflow {self.name}({arguments})>"

    def memory(self, group: Group) -> _c.Memory:
        """The memory that a launch on a group needs on each rank: ``workspace_bytes``, ``heap_bytes``, ``received_rows``,
        ``once_rows``."""
        key = (group.ranks, group.capacity_rows or 0)
        if key not in self._memory:
            self._memory[key] = self.library._interface.memory(self.name, *key)
        return self._memory[key]

    def shapes(self, group: Group, tokens: int) -> dict[str, tuple[int, ...]]:
        """The shape of each argument for `tokens` tokens of the ranks of this process together."""
        memory = self.memory(group)
        sizes = (group, tokens, memory.received_rows, memory.once_rows)
        return {argument.name: argument.shape(self, *sizes) for argument in self.arguments}

    def __call__(self, group: Group, ids: Any, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow on all ranks of a group and waits for it.

        Tensors are those of torch (on the CPU), arrays of numpy or buffers, without gaps. They are used where they lie. Each holds
        the parts of all ranks, rank after rank: tokens are cut into equal parts (the first ranks have one more where they can't be
        equal), experts belong to the ranks in order. If ranks are processes, they are the parts of this rank alone. Numpy has no bf16;
        ``uint16`` stands for it.

        Args:
            group: The ranks.
            ids: The router's expert ids, [tokens, top_k], of 32 or 64 bits; -1 names none.
            **tensors: All arguments that the taskflow reads, by name. What it writes can be passed, or is allocated.

        Returns:
            What the taskflow wrote, in the order of its arguments.

        Raises:
            HpmoeError: If something does not fit; nothing was started.
            LaunchError: If the launch went wrong; the group can no longer be used.
        """
        _reports.last = None
        handle = group._handle(self.library)
        interface = self.library._interface
        try:
            given, id_parts, parts = self._prepared(group, ids, tensors)
        except HpmoeError as error:
            if group.rank is not None:
                interface.refuse(handle, str(error))
            raise
        _reports.last = json.loads(interface.launch(handle, self.name, id_parts, parts, len(self.arguments)))
        return tuple(given[argument.name] for argument in self.arguments if argument.writable)

    def _prepared(
        self, group: Group, ids: Any, tensors: dict[str, Any]
    ) -> tuple[dict[str, Any], list[_c.Tensor], list[_c.Tensor]]:
        """All tensors by name, and the parts of the ids and of the tensors."""
        of_ids = view(ids, "ids", "int32 or int64")
        if len(of_ids.shape) != 2 or of_ids.shape[1] != self.top_k:
            raise HpmoeError(f"`ids` has the shape {list(of_ids.shape)}, but {self.name} takes [tokens, {self.top_k}]")
        if of_ids.element not in ("i32", "i64"):
            raise HpmoeError(f"`ids` has elements of {of_ids.element}: pass int32 or int64")
        names = [argument.name for argument in self.arguments]
        for name in tensors:
            if name not in names:
                raise HpmoeError(f"{self.name} has no argument `{name}`: it has {', '.join(names)}")
        shapes = self.shapes(group, of_ids.shape[0])
        given: dict[str, Any] = {}
        for argument in self.arguments:
            if tensors.get(argument.name) is not None:
                given[argument.name] = tensors[argument.name]
            elif argument.writable:
                given[argument.name] = empty_like(ids, shapes[argument.name], argument.element)
            else:
                raise HpmoeError(f"{self.name} reads `{argument.name}`, which is missing: pass {argument.name}=..")
        tokens = _cuts(of_ids.shape[0], group.here)
        parts: list[_c.Tensor] = []
        for argument in self.arguments:
            looked_at = view(given[argument.name], argument.name)
            self._check(argument, looked_at, shapes[argument.name])
            parts += self._parts(argument, looked_at, tokens, group.here)
        row = _c.BYTES[of_ids.element] * self.top_k
        element = _c.ELEMENTS[of_ids.element]
        cut = zip(tokens, tokens[1:])
        id_parts = [_c.Tensor(of_ids.address + row * start, end - start, self.top_k, element) for start, end in cut]
        return given, id_parts, parts

    def _check(self, argument: Argument, found: View, shape: tuple[int, ...]) -> None:
        if found.element != argument.element:
            raise HpmoeError(f"`{argument.name}` has elements of {found.element}, but {self.name} takes {argument.element}")
        replicated = argument.rows == "rank" and not argument.writable and found.shape == shape[1:]
        if found.shape != shape and not replicated and (argument.rows not in ("token", "slot") or count(found.shape) != count(shape)):
            raise HpmoeError(f"`{argument.name}` has the shape {list(found.shape)}, but {self.name} takes {list(shape)}")
        if argument.writable and not found.writable:
            raise HpmoeError(f"{self.name} writes `{argument.name}`, which is read-only: pass one that can be written")

    def _parts(self, argument: Argument, found: View, tokens: list[int], ranks: int) -> list[_c.Tensor]:
        """The part of each rank."""
        row = argument.columns * _c.BYTES[argument.element]
        if argument.rows == "token":
            cuts = tokens
        elif argument.rows == "slot":
            cuts = [token * self.top_k for token in tokens]
        elif argument.rows == "rank" and len(found.shape) == 2:
            part = _c.Tensor(found.address, found.shape[0], argument.columns, _c.ELEMENTS[argument.element])
            return [part] * ranks
        else:
            rows = count(found.shape) // argument.columns
            cuts = [rows // ranks * rank for rank in range(ranks + 1)]
        element = _c.ELEMENTS[argument.element]
        return [
            _c.Tensor(found.address + row * start, end - start, argument.columns, element)
            for start, end in zip(cuts, cuts[1:])
        ]


def _cuts(tokens: int, ranks: int) -> list[int]:
    """The first token of each rank, and the end."""
    each, more = divmod(tokens, ranks)
    return [rank * each + min(rank, more) for rank in range(ranks + 1)]
