"""Fused Mixture-of-Experts kernels, written in Rust, for Python and PyTorch.

A crate of kernels becomes a library by ``hpmoe_c::export!()``. From Python:

>>> import hpmoe
>>> library = hpmoe.load("libmy_kernels.so")            # or hpmoe.build("my_crate", HIDDEN=64)
>>> group = hpmoe.Group(ranks=4)                        # threads of this process
>>> y, = library["moe::forward"](group, ids, x=x, weights=w, gate=g, up=u, down=d)

``hpmoe.moe(hidden=.., inter=.., experts=.., top_k=..)`` is a layer that this package brings along, with gradients for PyTorch.

The operators of PyTorch, ``torch.ops.hpmoe``, are there if torch was imported before this package, or when a layer has been made.
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
from ._reports import last_report
from ._signature import Argument
from ._taskflow import Taskflow

__all__ = [
    "Argument",
    "BuildError",
    "FixedLaunch",
    "Group",
    "HpmoeError",
    "LaunchError",
    "Library",
    "MemoryLine",
    "MemoryTable",
    "MoE",
    "Placement",
    "Taskflow",
    "build",
    "last_report",
    "load",
    "memory",
    "moe",
    "placement",
]
__version__ = "0.1.0"

if _sys.modules.get("torch") is not None:
    # Programs that were exported look for the operators.
    from . import _torch as _torch
