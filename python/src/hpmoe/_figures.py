"""Results of the command ``hpmoe``, parsed from its JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator

from ._errors import HpmoeError
from ._html import page, preformatted, table


@dataclass(frozen=True)
class CoreTimes:
    """Mean times of the matrix cores and of the vector cores of a rank, in µs."""

    aic: float
    aiv: float


@dataclass(frozen=True)
class Run:
    """A simulated launch under one policy. Times are in µs.

    Attributes:
        policy: ``"ours"``, ``"hyperparallel"`` or ``"serial"``.
        simulated_us: Latency, including the separate kernels that the policy needs before and after its own.
        separate_kernels_us: Time of these separate kernels, which is part of `simulated_us`.
        bound_us: Lower bound on the latency of any schedule.
        aic_useful: Fraction of the time in which matrix cores multiply.
        tasks: Number of tile tasks on all ranks.
        empty_tasks: Number of tile tasks without work.
        idle: Mean idle times by reason: dependency, communication, contention, tail.
        busy: Mean busy times by kind: work, overhead, launch.
        assumed: Constants of the target that are estimates and affect the result.
        schedule: For ``"ours"`` only: ``"default"``, ``"tuned"`` or ``"given"``.
        tile_sizes: For ``"ours"`` only: the tile sizes, by name.
        json: The command's whole output for this policy.
    """

    policy: str
    direction: str
    ranks: int
    target: str
    tokens: int
    simulated_us: float
    separate_kernels_us: float
    bound_us: float
    aic_useful: float
    tasks: int
    empty_tasks: int
    idle: dict[str, CoreTimes]
    busy: dict[str, CoreTimes]
    assumed: tuple[Any, ...]
    schedule: str | None
    tile_sizes: dict[str, int]
    json: dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, json: dict[str, Any]) -> "Run":
        """Parses the command's JSON object."""
        plain = ["policy", "direction", "ranks", "target", "tokens", "simulated_us", "separate_kernels_us", "bound_us", "aic_useful", "tasks", "empty_tasks"]
        times = {kind: {name: CoreTimes(**mean) for name, mean in json[kind].items()} for kind in ("idle", "busy")}
        of_ours = {"schedule": json.get("schedule"), "tile_sizes": json.get("tile_sizes", {})}
        return cls(**{name: json[name] for name in plain}, **times, **of_ours, assumed=tuple(json["assumed"]), json=json)


@dataclass(frozen=True)
class Simulation:
    """Simulated launches of one kernel, by policy: ``simulation["ours"]``, or ``simulation.ours``.

    Attributes:
        runs: The launches, by policy.
        does_not_apply: For each policy that can't run this kernel, the reason.
    """

    runs: dict[str, Run]
    does_not_apply: dict[str, str]

    @classmethod
    def of(cls, objects: list[dict[str, Any]]) -> "Simulation":
        """Parses the command's JSON list."""
        foreign = {value["policy"]: value["does_not_apply"] for value in objects if "does_not_apply" in value}
        return cls({value["policy"]: Run.of(value) for value in objects if value["policy"] not in foreign}, foreign)

    def __getitem__(self, policy: str) -> Run:
        """The launch under a policy."""
        if policy not in self.runs:
            why = self.does_not_apply.get(policy, f"simulated are {', '.join(self.runs)}")
            raise HpmoeError(f"there is no run by the policy {policy!r}: {why}")
        return self.runs[policy]

    def __iter__(self) -> Iterator[Run]:
        """All launches."""
        return iter(self.runs.values())

    @property
    def ours(self) -> Run:
        """The launch under hpmoe's schedule."""
        return self["ours"]

    def _repr_html_(self) -> str:
        """A table of the policies."""
        head = ["policy", "simulated µs", "lower bound µs", "matrix cores useful", "tile tasks"]
        rows = [[run.policy, f"{run.simulated_us:,.1f}", f"{run.bound_us:,.1f}", f"{run.aic_useful:.0%}", f"{run.tasks:,}"] for run in self]
        return page("simulated, not measured", table(head, rows), *map(preformatted, self.does_not_apply.values()))


@dataclass(frozen=True)
class Timeline:
    """A simulated launch and its picture: the work of each core of a rank over time.

    Attributes:
        run: The figures.
        svg: The picture.
    """

    run: Run
    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        """The picture."""
        return self.svg


@dataclass(frozen=True)
class Report:
    """The page of ``hpmoe report``, with its figures and its timeline.

    Attributes:
        simulation: The figures of all policies.
        timeline: The picture of the launch under hpmoe's schedule.
        page: The whole page as self-contained HTML.
    """

    simulation: Simulation
    timeline: Timeline = field(repr=False)
    page: str = field(repr=False)

    def _repr_html_(self) -> str:
        """The figures and the timeline; the whole page is :attr:`page`."""
        return self.simulation._repr_html_() + self.timeline.svg


@dataclass(frozen=True)
class Fault:
    """A fault of a kernel and its place. Lines and columns count from 1.

    Attributes:
        code: Error code, such as ``"HP01"``; None for a warning.
        message: What is wrong.
        help: What to write instead.
        also: Related places: line, column and a note.
    """

    code: str | None
    message: str
    help: str
    line: int
    column: int
    also: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(cls, json: dict[str, Any]) -> "Fault":
        """Parses the command's JSON object."""
        also = tuple((place["line"], place["column"], place["note"]) for place in json.get("also", []))
        return cls(json.get("code"), json["message"], json["help"], json["line"], json["column"], also)


@dataclass(frozen=True)
class CheckedTaskflow:
    """A taskflow without faults, and the size of its graph."""

    kernel: str
    taskflow: str
    tasks: int
    calls: int
    tensors: int
    dependencies: int


@dataclass(frozen=True)
class Check:
    """The result of ``hpmoe check`` for a file. As a condition, it is true if there are no faults."""

    file: str
    taskflows: tuple[CheckedTaskflow, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]

    @classmethod
    def of(cls, json: dict[str, Any]) -> "Check":
        """Parses the command's JSON object."""
        flows = tuple(CheckedTaskflow(**flow) for flow in json["taskflows"])
        return cls(json["file"], flows, tuple(map(Fault.of, json["faults"])), tuple(map(Fault.of, json["warnings"])))

    def __bool__(self) -> bool:
        """Whether there are no faults."""
        return not self.faults

    def __str__(self) -> str:
        """A line for each taskflow, fault and warning."""
        lines = [f"{flow.kernel}::{flow.taskflow} is right: {flow.tasks} tasks, {flow.calls} calls" for flow in self.taskflows]
        for kind, found in [("error", self.faults), ("warning", self.warnings)]:
            for fault in found:
                code = f"[{fault.code}]" if fault.code else ""
                lines.append(f"{self.file}:{fault.line}:{fault.column}: {kind}{code}: {fault.message}\n  help: {fault.help}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The text of `__str__`, escaped."""
        return preformatted(str(self))
