"""The memory of a launch, tensor by tensor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._errors import HpmoeError
from ._moe import MoE
from ._taskflow import Taskflow


@dataclass(frozen=True)
class MemoryLine:
    """A tensor of a launch, or words of it, on each rank.

    Attributes:
        name: Its name in the taskflow.
        place: ``"symmetric heap"``, ``"workspace"`` or ``"caller"``.
        purpose: What it is for, such as ``"kept for another launch"``.
        formula: Its rows: T tokens of the rank, k experts of a token, R ranks, E experts, S physical experts of a rank, rows those that a rank has room
            to receive (of each chunk). Empty for words.
        rows: Its rows as a number; 0 for words.
        row_bytes: Bytes from one row to the next; 0 for words.
        bytes: Bytes of all of it.
    """

    name: str
    place: str
    purpose: str
    formula: str
    rows: int
    row_bytes: int
    bytes: int


@dataclass(frozen=True)
class MemoryTable:
    """The memory of a launch on each rank; printed, it is a table.

    Attributes:
        capacity_rows: Rows (of each chunk) that a rank has room to receive.
        heap_bytes: Bytes of the symmetric heap, which a group allocates at the first launch and keeps.
        workspace_bytes: Bytes of the workspace, which a group allocates at the first launch and keeps.
        kept_bytes: Bytes of the caller's tensors that one launch keeps for another.
        lines: All lines.
    """

    capacity_rows: int
    heap_bytes: int
    workspace_bytes: int
    kept_bytes: int
    lines: tuple[MemoryLine, ...]

    def __str__(self) -> str:
        """The table."""
        cells = [(one.name, one.place, f"{one.bytes:,} B", one.formula and f"{one.formula} = {one.rows:,}", one.purpose) for one in self.lines]
        widths = [max(len(row[column]) for row in cells) for column in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        total = f"room for {self.capacity_rows:,} received rows: symmetric heap {self.heap_bytes:,} B, workspace {self.workspace_bytes:,} B"
        return "\n".join([*lines, f"{total}, kept for another launch {self.kept_bytes:,} B"])


def memory(flow: Taskflow | MoE, *, ranks: int, tokens: int | None = None, rows: int | None = None) -> MemoryTable:
    """The memory of a launch on each rank, as a group allocates it, to the byte.

    Args:
        flow: A taskflow of a library, or a layer, for its forward pass.
        ranks: Ranks of the group.
        tokens: Tokens of the rank, for the caller's tensors; by default the most that the taskflow was built for.
        rows: Received rows (of each chunk) that a rank has room for, as ``hpmoe.Group(capacity_rows=..)`` says; by default as many as any
            routing can need.

    Raises:
        HpmoeError: If the taskflow can't run on that number of ranks, or was built for fewer tokens.
    """
    flow = flow.taskflow if isinstance(flow, MoE) else flow
    for name, value, least in [("ranks", ranks, 1), ("tokens", tokens, 0), ("rows", rows, 1)]:
        if value is not None and (not isinstance(value, int) or value < least):
            raise HpmoeError(f"{name} is {value!r}, but has to be a whole number of at least {least}")
    text = flow._interface.memory_table(flow.name, ranks, rows or 0, flow.max_tokens if tokens is None else tokens)
    found: dict[str, Any] = json.loads(text)
    return MemoryTable(**{**found, "lines": tuple(MemoryLine(**line) for line in found["lines"])})
