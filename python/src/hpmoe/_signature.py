"""Taskflows and their arguments, as described by their libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _c
from ._errors import HpmoeError
from ._group import Group


#: Maximum number of token counts for which shapes are cached.
MOST_SHAPES = 64


@dataclass(frozen=True)
class Argument:
    """An argument of a taskflow.

    Attributes:
        name: Name in the taskflow.
        element: ``"bf16"``, ``"f16"``, ``"f32"``, ``"i32"``, ``"i8"``, or ``"i4x2"`` (two 4-bit numbers per byte).
        columns: Number of columns.
        rows: Kind of the rows: ``"token"``, ``"slot"`` (one for each token and k), ``"received"``, ``"once"``,
            ``"expert"`` (``height`` for each expert), ``"rank"`` (``height`` for each rank) or ``"routed"`` (the words of a kept
            route; only for groups whose ranks are processes).
        height: Rows for each expert or rank; None for other kinds.
        writable: Whether the taskflow writes the argument.
        peers_write: Whether ranks write the parts of other ranks.
    """

    name: str
    element: str
    columns: int
    rows: str
    height: int | None
    writable: bool
    peers_write: bool

    @property
    def shape_text(self) -> str:
        """The sizes that the kernel fixes, as text: the columns, and the rows per expert or rank."""
        return f"{self.columns}" if self.height is None else f"{self.height} x {self.columns}"

    def shape(self, flow: "Signature", group: Group, tokens: int, received: int, once: int) -> tuple[int, ...]:
        """The shape in this process, for a number of local tokens. `received` and `once` are the numbers of those rows on each rank."""
        here = group.here
        rows = {"token": tokens, "slot": tokens * flow.top_k, "received": here * received, "once": here * once}
        if self.rows == "routed":
            # The number of words depends on a rank's tokens, so one tensor can't be split evenly among ranks.
            if here != 1:
                raise HpmoeError(f"`{self.name}` of {flow.name} is a kept route, which a process passes for one rank alone: make a group of processes")
            counts = group.ranks * (flow.chunks_at_most or flow.chunks) * -(-flow.experts // 128) * 128
            return (16 + counts + 2 * -(-tokens * flow.top_k // 8) * 8, self.columns)
        if self.rows in rows:
            return (rows[self.rows], self.columns)
        assert self.height is not None
        experts = (-(-flow.experts // group.ranks) + flow.spare) * here
        return (experts if self.rows == "expert" else here, self.height, self.columns)


class Signature:
    """Name, sizes and arguments of a taskflow."""

    def __init__(self, interface: _c.Interface, kernel: dict[str, Any], flow: dict[str, Any]) -> None:
        """Parses a library's description."""
        self._interface = interface
        self.name: str = flow["name"]
        self.fingerprint: str = flow["fingerprint"]
        self.constants: dict[str, int | float] = dict(kernel["constants"])
        self.arguments = tuple(Argument(**argument) for argument in flow["arguments"])
        self.ranks: tuple[int, ...] = tuple(flow["ranks"])
        self.experts: int = flow["experts"]
        self.spare: int = flow["spare"]
        self.top_k: int = flow["top_k"]
        self.max_tokens: int = flow["tokens"]
        self.chunks: int = flow["chunks"]
        self.chunks_at_most: int | None = flow["chunks_at_most"]
        self.makes_route: bool = flow["route"] == "kernel"
        self.for_npus: bool = flow["npu"]
        self.capturable: bool = flow["capturable"]
        self._memory: dict[tuple[int, int], _c.Memory] = {}
        # Cached by number of tokens, because most layers and steps of a model have the same number.
        self._shapes: dict[tuple[int, ...], dict[str, tuple[int, ...]]] = {}

    def adds_to(self, argument: Argument) -> bool:
        """Whether chunks add to an argument. The launch does not set such an argument to zeros."""
        return argument.writable and argument.rows == "expert" and (self.chunks > 1 or self.chunks_at_most is not None)

    def memory(self, group: Group) -> _c.Memory:
        """The memory that a launch on a group needs on each rank: ``workspace_bytes``, ``heap_bytes``, ``received_rows``,
        ``once_rows``.
        """
        key = (group.ranks, group.capacity_rows or 0)
        if key not in self._memory:
            self._memory[key] = self._interface.memory(self.name, *key)
        return self._memory[key]

    def shapes(self, group: Group, tokens: int) -> dict[str, tuple[int, ...]]:
        """The shape of each argument, for a total of `tokens` tokens on the ranks of this process."""
        # A symbolic number of tokens, as in a graph of torch, is not a key.
        key = (group.ranks, group.here, group.capacity_rows or 0, tokens) if type(tokens) is int else None
        if key is not None and key in self._shapes:
            return self._shapes[key]
        memory = self.memory(group)
        sizes = (group, tokens, memory.received_rows, memory.once_rows)
        shapes = {argument.name: argument.shape(self, *sizes) for argument in self.arguments}
        if key is not None:
            if len(self._shapes) >= MOST_SHAPES:
                self._shapes.clear()
            self._shapes[key] = shapes
        return shapes
