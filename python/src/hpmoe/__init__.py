"""Fused Mixture-of-Experts kernels, written in Rust, for Python and PyTorch.

A crate of kernels becomes a library by ``hpmoe_c::export!()``. From Python:

>>> import hpmoe
>>> library = hpmoe.load("libmy_kernels.so")            # or hpmoe.build("my_crate", HIDDEN=64)
>>> group = hpmoe.Group(ranks=4)                        # threads of this process
>>> y, = library["moe::forward"](group, ids, x=x, weights=w, gate=g, up=u, down=d)

``hpmoe.moe(hidden=.., inter=.., experts=.., top_k=..)`` is a ready-made layer with gradients for PyTorch.

The PyTorch operators, ``torch.ops.hpmoe``, exist if torch was imported before this package, or once a layer has been made.
"""

import sys as _sys

from ._build import build
from ._errors import BuildError, HpmoeError, LaunchError
from ._fixed import FixedLaunch
from ._group import Group
from ._library import Library, load
from ._memory_table import MemoryLine, MemoryTable, memory
from ._moe import MoE, moe
from ._placement import Placement
from ._planner import placement
from ._reports import LaunchReport, last_report
from ._signature import Argument
from ._figures import Check, Fault, Report, Run, Simulation, Timeline
from ._taskflow import Taskflow
from ._tools import check, report, simulate, timeline
from ._trace import merge_trace
from ._version import __version__ as __version__

__all__ = [
    "Argument",
    "BuildError",
    "Check",
    "Fault",
    "FixedLaunch",
    "Group",
    "HpmoeError",
    "LaunchError",
    "LaunchReport",
    "Library",
    "MemoryLine",
    "MemoryTable",
    "MoE",
    "Placement",
    "Report",
    "Run",
    "Simulation",
    "Taskflow",
    "Timeline",
    "build",
    "check",
    "last_report",
    "load",
    "memory",
    "merge_trace",
    "moe",
    "placement",
    "report",
    "simulate",
    "timeline",
]
if _sys.modules.get("torch") is not None:
    # Exported programs look up the operators by name.
    from . import _torch as _torch
