"""Analyses of kernels by the command ``hpmoe``, without a build: faults, and simulated launches on a described machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Union

from ._command import run
from ._errors import HpmoeError
from ._figures import Check, Report, Run, Simulation, Timeline
from ._source import source_of

if TYPE_CHECKING:
    from ._library import Library
    from ._moe import MoE
    from ._taskflow import Taskflow

    Kernel = Union[str, os.PathLike[str], MoE, Taskflow, Library]

#: The policies that a launch is simulated by.
POLICIES = ("ours", "hyperparallel", "serial")


def check(kernel: "Kernel", **constants: int | float) -> Check:
    """Finds all faults of all kernels in a file, with their positions. Nothing is compiled.

    Args:
        kernel: A file with a ``#[megakernel]`` module; or a layer, a taskflow or a library, which stands for its source file.
        **constants: Constants of the kernel, such as ``HIDDEN=64``.

    Raises:
        HpmoeError: If the file can't be read.
    """
    return Check.of(run(["check", *source_of(kernel).arguments(constants), "--json"], may_be_faulty=True))


def simulate(
    kernel: "Kernel",
    *,
    ranks: int = 8,
    taskflow: str | None = None,
    routing: str | os.PathLike[str] = "balanced",
    placement: str | os.PathLike[str] | None = None,
    target: str | os.PathLike[str] = "ascend-a3",
    **constants: int | float,
) -> Simulation:
    """Simulates a launch of a kernel on NPUs under hpmoe's schedule and under the policies that it is compared with. It needs no build and no NPU.

    Args:
        kernel: A layer, a taskflow or a library, with the constants that it was built with; or a kernel file. Open tile sizes of a file are
            chosen for the simulated machine.
        ranks: Ranks of the group.
        taskflow: The taskflow, as ``"name"`` or ``"kernel::name"``; by default the layer's, or the forward pass.
        routing: ``"balanced"``, ``"zipf:EXPONENT[:SEED]"``, ``"drifting:EXPONENT[:SEED]"``, or a JSON file.
        placement: The placement of experts: a file that ``hpmoe place`` has written, or ``FILE:LAYER``.
        target: The name of a machine, or a file that describes one.
        **constants: Other constants of the kernel, such as ``max_tokens=4096`` of a layer, or ``TOKENS=4096``.

    Raises:
        HpmoeError: If an argument is invalid; the message is the command's.
        MissingToolError: If the command ``hpmoe`` is not installed.
    """
    layer = _layer(kernel, ranks, taskflow, routing, placement, target, constants)
    return Simulation.of(run(["simulate", *layer, "--json"]))


def timeline(
    kernel: "Kernel",
    *,
    policy: str = "ours",
    ranks: int = 8,
    taskflow: str | None = None,
    routing: str | os.PathLike[str] = "balanced",
    placement: str | os.PathLike[str] | None = None,
    target: str | os.PathLike[str] = "ascend-a3",
    **constants: int | float,
) -> Timeline:
    """The picture of a simulated launch under one policy, which a notebook shows. Args are those of :func:`simulate`."""
    if policy not in POLICIES:
        raise HpmoeError(f"there is no policy {policy!r}: use one of {', '.join(map(repr, POLICIES))}")
    return _timeline(_layer(kernel, ranks, taskflow, routing, placement, target, constants), policy)


def report(
    kernel: "Kernel",
    *,
    out: str | os.PathLike[str] | None = None,
    ranks: int = 8,
    taskflow: str | None = None,
    routing: str | os.PathLike[str] = "balanced",
    placement: str | os.PathLike[str] | None = None,
    target: str | os.PathLike[str] = "ascend-a3",
    **constants: int | float,
) -> Report:
    """A page about a kernel: its graph, its simulated launch task by task, traffic and memory. Args are those of :func:`simulate`.

    Args:
        out: Path to write the page to; by default the page is only returned.
    """
    layer = _layer(kernel, ranks, taskflow, routing, placement, target, constants)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html" if out is None else Path(out)
        figures = Simulation.of(run(["report", *layer, "--out", str(file), "--json"]))
        return Report(figures, _timeline(layer, "ours"), file.read_text())


def _timeline(layer: list[str], policy: str) -> Timeline:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "timeline.svg"
        figures = run(["simulate", *layer, "--policy", policy, "--gantt", str(file), "--json"])
        return Timeline(Run.of(figures), file.read_text())


def _layer(
    kernel: "Kernel",
    ranks: int,
    taskflow: str | None,
    routing: str | os.PathLike[str],
    placement: str | os.PathLike[str] | None,
    target: str | os.PathLike[str],
    constants: dict[str, int | float],
) -> list[str]:
    """A layer as command-line arguments."""
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 1 <= ranks <= 256:
        raise HpmoeError(f"ranks is {ranks!r}, but must be a whole number from 1 to 256")
    source = source_of(kernel)
    arguments = source.arguments(constants)
    arguments += ["--ranks", str(ranks), "--routing", os.fspath(routing), "--target", os.fspath(target)]
    chosen = taskflow or source.taskflow
    if chosen is not None:
        arguments += ["--taskflow", chosen]
    if placement is not None:
        arguments += ["--placement", os.fspath(placement)]
    return arguments

