"""Taskflows and their arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _c
from ._errors import HpmoeError
from ._fixed import FixedLaunch
from ._group import Group
from ._npu import MOST_PENDING, PendingLaunch, current_stream, device_of
from ._prepare import prepared, written
from ._reports import reports

if TYPE_CHECKING:
    from ._library import Library

@dataclass(frozen=True)
class Argument:
    """An argument of a taskflow.

    Attributes:
        name: Its name in the taskflow.
        element: ``"bf16"``, ``"f16"``, ``"f32"``, ``"i32"``, ``"i8"`` or ``"i4x2"``, two numbers of 4 bits in a byte.
        columns: Number of columns.
        rows: What its rows stand for: ``"token"``, ``"slot"`` (one for each token and k), ``"received"``, ``"once"``,
            ``"expert"`` (``height`` for each expert), ``"rank"`` (``height`` for each rank) or ``"routed"`` (the words of a kept
            route, of a rank of a group whose ranks are processes).
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
        if self.rows == "routed":
            # Ranks with other numbers of tokens have other numbers of words, which one tensor does not cut.
            if here != 1:
                raise HpmoeError(f"`{self.name}` of {flow.name} is a kept route, which a process passes for one rank alone: make a group of processes")
            counts = group.ranks * -(-flow.experts // 128) * 128
            return (16 + counts + 2 * -(-tokens * flow.top_k // 8) * 8, self.columns)
        if self.rows in rows:
            return (rows[self.rows], self.columns)
        assert self.height is not None
        experts = flow.experts // group.ranks * here
        return (experts if self.rows == "expert" else here, self.height, self.columns)


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
        capturable: Whether a graph of CANN that captures a fixed launch (:meth:`fix`) routes the tokens of each of its launches: the kernel makes its
            route itself. With a route of the host, all launches of the graph have that one.
    """

    def __init__(self, library: "Library", kernel: dict[str, Any], flow: dict[str, Any]) -> None:
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
        reports.last = None
        handle = group._handle(self.library)
        interface = self.library._interface
        try:
            made = prepared(self, group, ids, tensors)
            stream = None if made.npu is None else current_stream(made.npu)
        except HpmoeError as error:
            if group.rank is not None:
                interface.refuse(handle, str(error))
            raise
        if stream is None:
            reports.last = json.loads(group._waiting(lambda: interface.launch(handle, made.launch)))
            return written(self, made.given)
        # What was launched before is over if the host has waited for the stream. Processes wait together.
        waited = (device_of(ids) is not None and not self.makes_route) or group.rank is not None
        group._launches.wait(0 if waited else MOST_PENDING)
        number = group._waiting(lambda: interface.enqueue(handle, made.launch, stream))
        pending = PendingLaunch(lambda: group._waiting(lambda: interface.wait(number)), made.copied)
        group._launches.add(pending)
        reports.last = pending.wait if group.rank is None else pending.report
        for name, aligned in made.aligned.items():
            if name in {argument.name for argument in self.arguments if argument.writable}:
                made.given[name].copy_(aligned)
        return written(self, made.given)

    def fix(self, group: Group, ids: Any = None, **tensors: Any) -> FixedLaunch:
        """Makes a launch with these tensors, to be launched again and again with other data in them, also from a graph that is captured. Nothing is launched yet.

        Args are those of a launch. The kernel takes from the host, once and for all, where the tensors lie and how many tokens there are; and the
        route of `ids`, unless it makes its route itself. Fewer tokens are filled up with some whose ids are all -1.

        Raises:
            HpmoeError: If something does not fit, or would have to be copied: tensors of a group on NPUs lie on the NPU, and all start at a multiple of
                64 bytes.
        """
        return FixedLaunch(self, group, ids, tensors)

    def reference(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow's reference, an ordinary function that calls task after task: the bits of a launch, without its speed.

        Args and results are those of a launch on the CPU. The ranks of the group are threads of this process, and the kernel's module is part
        of the library's crate.

        Raises:
            HpmoeError: If something does not fit, or the library has no reference.
        """
        handle = group._handle(self.library)
        made = prepared(self, group, ids, tensors)
        if made.npu is not None:
            raise HpmoeError(f"there are tensors on {made.npu}, but a reference runs on the CPU: move them there with .cpu()")
        self.library._interface.reference(handle, made.launch)
        return written(self, made.given)
