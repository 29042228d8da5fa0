"""Libraries of kernels, and their taskflows."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any, Iterator, NamedTuple

from . import _c
from ._errors import HpmoeError
from ._group import Group
from ._memory import View, count, empty_like, view
from ._npu import MOST_PENDING, PendingLaunch, current_stream, device_of

_reports = threading.local()
#: Tensors of NPUs start at a multiple of this number of bytes.
ALIGNMENT = 64
_loaded: dict[str, "Library"] = {}
_loading = threading.Lock()


def last_report() -> dict[str, Any] | None:
    """The report of the last launch of this thread: tasks, counters, copies, and ``"text"``, the same in words.

    None if there was none, or it failed. If it runs on an NPU, this waits for it; if ranks are processes, it is None until all of them have
    waited (`Group.synchronize`).

    Raises:
        LaunchError: If it went wrong on an NPU.
    """
    last = getattr(_reports, "last", None)
    return last() if callable(last) else last


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
        makes_route: Whether the kernel makes its route itself; its launches have no ids.
        for_npus: Whether it was built for NPUs, too.
        capturable: Whether a launch can be captured in a graph of CANN.
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
        self.makes_route: bool = flow["route"] == "kernel"
        self.for_npus: bool = flow["npu"]
        self.capturable: bool = flow["capturable"]
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

    def __call__(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow on all ranks of a group.

        Tensors are those of torch, arrays of numpy or buffers, without gaps. They are used where they lie. Each holds
        the parts of all ranks, rank after rank: tokens are cut into equal parts (the first ranks have one more where they can't be
        equal), experts belong to the ranks in order. If ranks are processes, they are the parts of this rank alone. Numpy has no bf16;
        ``uint16`` stands for it.

        With tensors on an NPU, whose group runs there with one rank in this process, the launch is put on the current stream of torch, and
        this returns before it has ended. Ids on an NPU are copied to the host first, which waits for that stream; others are not. Tensors of
        the CPU are copied to the NPUs of a group and back, and this waits for the launch.

        Args:
            group: The ranks.
            ids: The router's expert ids, [tokens, top_k], of 32 or 64 bits; -1 names none. A kernel that makes its route itself takes
                those among its arguments alone.
            **tensors: All arguments that the taskflow reads, by name. What it writes can be passed, or is allocated.

        Returns:
            What the taskflow wrote, in the order of its arguments.

        Raises:
            HpmoeError: If something does not fit; nothing was started.
            LaunchError: If the launch went wrong, or on an NPU one before it; the group can no longer be used.
        """
        _reports.last = None
        handle = group._handle(self.library)
        interface = self.library._interface
        try:
            made = self._prepared(group, ids, tensors)
            stream = None if made.npu is None else current_stream(made.npu)
        except HpmoeError as error:
            if group.rank is not None:
                interface.refuse(handle, str(error))
            raise
        if stream is None:
            _reports.last = json.loads(interface.launch(handle, made.launch))
            return self._written(made.given)
        # What was launched before is over if the host has waited for the stream. Processes wait together.
        waited = device_of(ids) is not None or group.rank is not None
        group._launches.wait(0 if waited else MOST_PENDING)
        pending = PendingLaunch(interface, interface.enqueue(handle, made.launch, stream), made.copied)
        group._launches.add(pending)
        _reports.last = pending.wait if group.rank is None else pending.report
        for name, aligned in made.aligned.items():
            if name in {argument.name for argument in self.arguments if argument.writable}:
                made.given[name].copy_(aligned)
        return self._written(made.given)

    def reference(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow's reference, an ordinary function that calls task after task: the bits of a launch, without its speed.

        Args and results are those of a launch on the CPU. The ranks of the group are threads of this process, and the kernel's module is part
        of the library's crate.

        Raises:
            HpmoeError: If something does not fit, or the library has no reference.
        """
        handle = group._handle(self.library)
        made = self._prepared(group, ids, tensors)
        if made.npu is not None:
            raise HpmoeError(f"there are tensors on {made.npu}, but a reference runs on the CPU: move them there with .cpu()")
        self.library._interface.reference(handle, made.launch)
        return self._written(made.given)

    def _written(self, given: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(given[argument.name] for argument in self.arguments if argument.writable)

    def _prepared(self, group: Group, ids: Any, tensors: dict[str, Any]) -> "_Prepared":
        """All tensors by name, and the parts of the ids and of the tensors."""
        names = [argument.name for argument in self.arguments]
        if self.makes_route and "ids" in names:
            tensors, ids = {"ids": ids, **tensors}, None
        for name in tensors:
            if name not in names:
                raise HpmoeError(f"{self.name} has no argument `{name}`: it has {', '.join(names)}")
        npu = self._npu(group, tensors)
        if device_of(ids) is not None:
            # The host makes the route of them. This waits for the stream, and so for what has been launched on it.
            ids = ids.cpu()
        of_ids = self._ids(ids)
        like = ids if npu is None and ids is not None else next(value for value in tensors.values() if value is not None and device_of(value) == npu)
        tokens = self._tokens(tensors) if of_ids is None else of_ids.shape[0]
        shapes = self.shapes(group, tokens)
        given: dict[str, Any] = {}
        for argument in self.arguments:
            if tensors.get(argument.name) is not None:
                given[argument.name] = tensors[argument.name]
            elif argument.writable:
                given[argument.name] = empty_like(like, shapes[argument.name], argument.element)
            else:
                raise HpmoeError(f"{self.name} reads `{argument.name}`, which is missing: pass {argument.name}=..")
        cuts = _cuts(tokens, group.here)
        parts: list[_c.Tensor] = []
        aligned: dict[str, Any] = {}
        copied: list[dict[str, Any]] = []
        for argument in self.arguments:
            name = argument.name
            looked_at = view(given[name], name)
            self._check(argument, looked_at, shapes[name])
            if npu is not None and looked_at.address % ALIGNMENT and count(looked_at.shape):
                aligned[name] = given[name].clone()
                reason = f"it starts at {looked_at.address:#x}, which is not a multiple of {ALIGNMENT}"
                copied.append({"tensor": name, "rank": group.rank or 0, "bytes": aligned[name].nbytes, "reason": reason})
                looked_at = view(aligned[name], name)
            parts += self._parts(argument, looked_at, cuts, group.here)
        id_parts = None if of_ids is None else self._id_parts(of_ids, cuts)
        return _Prepared(given, ids, _c.Launch(self.name, group.here, id_parts, parts), npu, aligned, copied)

    def _ids(self, ids: Any) -> View | None:
        """Where the ids lie, in the host's memory."""
        if self.makes_route:
            if ids is not None:
                raise HpmoeError(f"{self.name} makes its route itself, of the ids among its arguments: leave out ids")
            return None
        if ids is None:
            raise HpmoeError(f"{self.name} takes a route, which the host makes of the router's ids: pass ids")
        of_ids = view(ids, "ids", "int32 or int64")
        if len(of_ids.shape) != 2 or of_ids.shape[1] != self.top_k:
            raise HpmoeError(f"`ids` has the shape {list(of_ids.shape)}, but {self.name} takes [tokens, {self.top_k}]")
        if of_ids.element not in ("i32", "i64"):
            raise HpmoeError(f"`ids` has elements of {of_ids.element}: pass int32 or int64")
        return of_ids

    def _id_parts(self, ids: View, cuts: list[int]) -> list[_c.Tensor]:
        row, element = _c.BYTES[ids.element] * self.top_k, _c.ELEMENTS[ids.element]
        return [_c.Tensor(ids.address + row * start, end - start, self.top_k, element) for start, end in zip(cuts, cuts[1:])]

    def _tokens(self, tensors: dict[str, Any]) -> int:
        """The tokens of a launch without ids: the rows of what has one for each."""
        for argument in self.arguments:
            if argument.rows == "token" and tensors.get(argument.name) is not None:
                return count(view(tensors[argument.name], argument.name).shape) // argument.columns
        raise HpmoeError(f"{self.name} has no tensor with a row for each token: pass one of those that it reads")

    def _npu(self, group: Group, tensors: dict[str, Any]) -> Any:
        """The NPU that the tensors lie on; None if they don't."""
        on_npus = {name: device for name, value in tensors.items() if (device := device_of(value)) is not None}
        if not on_npus:
            return None
        first, npu = next(iter(on_npus.items()))
        for name, value in tensors.items():
            if value is not None and on_npus.get(name) != npu:
                where = getattr(value, "device", f"a {type(value).__name__}")
                raise HpmoeError(f"`{name}` is on {where}, but `{first}` on {npu}: move it there with .to({str(npu)!r})")
        if group.device != npu.type:
            raise HpmoeError(f"`{first}` is on {npu}, but the group runs on the CPU: make it with hpmoe.Group(device={str(npu)!r})")
        if group.here > 1:
            raise HpmoeError(
                f"`{first}` is on {npu}, but the group has {group.here} ranks in this process, each with an NPU of its own: use a process for each "
                "rank (hpmoe.Group(process_group=..)), or tensors of the CPU, which are copied"
            )
        return npu

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
            part = _c.Tensor(found.address, found.shape[0], argument.columns, _c.ELEMENTS[argument.element], _place(found))
            return [part] * ranks
        else:
            rows = count(found.shape) // argument.columns
            cuts = [rows // ranks * rank for rank in range(ranks + 1)]
        element = _c.ELEMENTS[argument.element]
        return [
            _c.Tensor(found.address + row * start, end - start, argument.columns, element, _place(found))
            for start, end in zip(cuts, cuts[1:])
        ]


def _place(found: View) -> int:
    """Whose memory it lies in, as the C interface says it."""
    return _c.DEVICES["cpu" if found.npu is None else "npu"]


class _Prepared(NamedTuple):
    """A launch whose tensors fit."""

    #: All tensors by name.
    given: dict[str, Any]
    #: The ids on the host, whose memory the launch reads.
    ids: Any
    launch: _c.Launch
    #: The NPU that they lie on.
    npu: Any
    #: Copies of those that don't start where tensors of NPUs have to, by name.
    aligned: dict[str, Any]
    #: What the report says of these.
    copied: list[dict[str, Any]]


def _cuts(tokens: int, ranks: int) -> list[int]:
    """The first token of each rank, and the end."""
    each, more = divmod(tokens, ranks)
    return [rank * each + min(rank, more) for rank in range(ranks + 1)]
