"""Figures of the command ``hpmoe``, as it prints them in JSON."""

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
    """A simulated launch by one policy. Times are µs.

    Attributes:
        policy: ``"ours"``, ``"hyperparallel"`` or ``"serial"``.
        simulated_us: Latency, with kernels before and after.
        separate_kernels_us: What of it are other kernels.
        bound_us: A time that no schedule can be below.
        aic_useful: Share of the time in which matrix cores multiply.
        tasks: Tile tasks of all ranks.
        empty_tasks: Those without work.
        idle: Mean idle times by their reason: dependency, communication, contention, tail.
        busy: Mean busy times: work, overhead, launch.
        assumed: Estimated constants of the target that the figures depend on.
        schedule: Of ``"ours"``: ``"default"``, ``"tuned"`` or ``"given"``.
        tile_sizes: Of ``"ours"``: the tile sizes, by name.
        json: All that the command says.
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
        """From the command's object."""
        plain = ["policy", "direction", "ranks", "target", "tokens", "simulated_us", "separate_kernels_us", "bound_us", "aic_useful", "tasks", "empty_tasks"]
        times = {kind: {name: CoreTimes(**mean) for name, mean in json[kind].items()} for kind in ("idle", "busy")}
        of_ours = {"schedule": json.get("schedule"), "tile_sizes": json.get("tile_sizes", {})}
        return cls(**{name: json[name] for name in plain}, **times, **of_ours, assumed=tuple(json["assumed"]), json=json)


@dataclass(frozen=True)
class Simulation:
    """Simulated launches of one kernel, by policy: ``simulation["ours"]``, or ``simulation.ours``.

    Attributes:
        runs: The launches, by policy.
        does_not_apply: Why a policy does not apply to this kernel, by policy.
    """

    runs: dict[str, Run]
    does_not_apply: dict[str, str]

    @classmethod
    def of(cls, objects: list[dict[str, Any]]) -> "Simulation":
        """From the command's list."""
        foreign = {value["policy"]: value["does_not_apply"] for value in objects if "does_not_apply" in value}
        return cls({value["policy"]: Run.of(value) for value in objects if value["policy"] not in foreign}, foreign)

    def __getitem__(self, policy: str) -> Run:
        """The launch by a policy."""
        if policy not in self.runs:
            why = self.does_not_apply.get(policy, f"simulated are {', '.join(self.runs)}")
            raise HpmoeError(f"there is no run by the policy {policy!r}: {why}")
        return self.runs[policy]

    def __iter__(self) -> Iterator[Run]:
        """All launches."""
        return iter(self.runs.values())

    @property
    def ours(self) -> Run:
        """The kernel as hpmoe schedules it."""
        return self["ours"]

    def _repr_html_(self) -> str:
        """A table of the policies."""
        head = ["policy", "simulated µs", "lower bound µs", "matrix cores useful", "tile tasks"]
        rows = [[run.policy, f"{run.simulated_us:,.1f}", f"{run.bound_us:,.1f}", f"{run.aic_useful:.0%}", f"{run.tasks:,}"] for run in self]
        return page("simulated, not measured", table(head, rows), *map(preformatted, self.does_not_apply.values()))


@dataclass(frozen=True)
class Timeline:
    """A simulated launch and its picture: what each core of a rank does, and when.

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
    """The page of ``hpmoe report``, its figures and its timeline.

    Attributes:
        simulation: The figures of all policies.
        timeline: The picture of the kernel's own launch.
        page: The whole page in HTML, which needs nothing but itself.
    """

    simulation: Simulation
    timeline: Timeline = field(repr=False)
    page: str = field(repr=False)

    def _repr_html_(self) -> str:
        """The figures and the timeline; the whole page is :attr:`page`."""
        return self.simulation._repr_html_() + self.timeline.svg


@dataclass(frozen=True)
class Fault:
    """A fault of a kernel at its place; lines and columns count from 1.

    Attributes:
        code: Its code, such as ``"HP01"``; None for a warning.
        message: What is wrong.
        help: What to write instead.
        also: Other places that belong to it: line, column and a note.
    """

    code: str | None
    message: str
    help: str
    line: int
    column: int
    also: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(cls, json: dict[str, Any]) -> "Fault":
        """From the command's object."""
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
    """What ``hpmoe check`` finds in a file. It is true if there are no faults."""

    file: str
    taskflows: tuple[CheckedTaskflow, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]

    @classmethod
    def of(cls, json: dict[str, Any]) -> "Check":
        """From the command's object."""
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
        """The same, escaped."""
        return preformatted(str(self))
