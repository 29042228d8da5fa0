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
    """One tensor of a launch, or one area of control words, on each rank.

    Attributes:
        name: Name in the taskflow.
        place: ``"symmetric heap"``, ``"workspace"`` or ``"caller"``.
        purpose: Use of the memory, such as ``"kept for another launch"``.
        formula: Formula for the number of rows. Its letters: T tokens of the rank, k experts per token, R ranks, E experts, S physical experts per
            rank, ``rows`` received rows (of each chunk) that a rank has room for. Empty for control words.
        rows: Number of rows; 0 for control words.
        row_bytes: Bytes from one row to the next; 0 for control words.
        bytes: Total bytes.
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
    """The memory of a launch on each rank. Printing it shows a table.

    Attributes:
        capacity_rows: Received rows (of each chunk) that a rank has room for.
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
    """The exact memory of a launch on each rank, as a group allocates it.

    Args:
        flow: A taskflow of a library; or a layer, which stands for its forward pass.
        ranks: Ranks of the group.
        tokens: Tokens of the rank, for the size of the caller's tensors; by default the maximum that the taskflow was built for.
        rows: Received rows (of each chunk) that a rank has room for, as in ``hpmoe.Group(capacity_rows=..)``; by default the maximum over all
            routings.

    Raises:
        HpmoeError: If the taskflow can't run on that number of ranks, or was built for fewer tokens.
    """
    flow = flow.taskflow if isinstance(flow, MoE) else flow
    for name, value, least in [("ranks", ranks, 1), ("tokens", tokens, 0), ("rows", rows, 1)]:
        if value is not None and (not isinstance(value, int) or value < least):
            raise HpmoeError(f"{name} is {value!r}, but must be a whole number of at least {least}")
    text = flow._interface.memory_table(flow.name, ranks, rows or 0, flow.max_tokens if tokens is None else tokens)
    found: dict[str, Any] = json.loads(text)
    return MemoryTable(**{**found, "lines": tuple(MemoryLine(**line) for line in found["lines"])})
