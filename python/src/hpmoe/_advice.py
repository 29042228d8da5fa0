"""Rewords ways out for Python: error messages of libraries name functions and fields of the C interface."""

from __future__ import annotations

import re

#: The names in error messages of libraries, and the Python names that replace them. ``..`` stands for a value.
IN_PYTHON = {
    "HpmoeOptions.npu": 'hpmoe.Group(device="npu:..")',
    "HpmoeOptions.device": 'hpmoe.Group(device="npu")',
    "HpmoeOptions.capacity_rows": "hpmoe.Group(capacity_rows=..)",
    "HpmoeOptions.time_limit_ms": "hpmoe.Group(time_limit=..)",
    "HpmoeOptions.threads": "hpmoe.Group(threads=..)",
    "HpmoeOptions.checks": "hpmoe.Group(checks=..)",
    "HpmoeJoining.secret": "hpmoe.Group.join(secret=..)",
    "HpmoeJoining.let_anyone_join": "hpmoe.Group.join(let_anyone_join=True)",
    "hpmoe_launch": "a call of the taskflow",
    "hpmoe_fix": "Taskflow.fix",
    "hpmoe_wait": "hpmoe.last_report",
    "hpmoe_memory_table": "Taskflow.shapes",
    "hpmoe_group_placed": "hpmoe.Group.placed",
}

_NAMES = re.compile(r"\b(" + "|".join(map(re.escape, IN_PYTHON)) + r")\b(?: = (\d+))?")


def in_python(message: str) -> str:
    """The message with Python names instead of C names."""
    return _NAMES.sub(lambda found: IN_PYTHON[found[1]].replace("..", found[2] or ".."), message)
