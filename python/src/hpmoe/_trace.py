"""Traces of launches: the times at which each core ran its tiles."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any, Mapping, Sequence

from . import _html
from ._errors import HpmoeError


def merge_trace(
    profile: str | os.PathLike[str], reports: Mapping[str, Any] | Sequence[Mapping[str, Any]], out: str | os.PathLike[str]
) -> None:
    """Adds the tasks of launches to a torch.profiler trace: a process for each rank, a thread for each core, a slice for each tile.

    Kernels record time stamps if they are built with ``HPMOE_TIME_STAMPS=on`` in the environment. Times are placed on the
    machine's clock by the start of the launch, which is known to within the time that a rank's thread takes to start.

    Args:
        profile: The file that ``prof.export_chrome_trace`` has written.
        reports: The report of a launch, or a list of reports: ``hpmoe.last_report()`` after each launch.
        out: Path of the merged trace. A name that ends in ``.gz`` is compressed.

    Raises:
        HpmoeError: If the file is not a trace, or a launch has no time stamps.
    """
    launches = [reports] if isinstance(reports, Mapping) else list(reports)
    merged = _read(Path(profile))
    events = merged["traceEvents"]
    base = int(merged.get("baseTimeNanoseconds", 0))
    pid, tid = _most(events, "pid") + 1, _most(events, "tid") + 1
    for launch in launches:
        trace = launch.get("trace")
        if trace is None:
            raise HpmoeError(
                f"the launch of {launch.get('kernel')} has no time stamps: set HPMOE_TIME_STAMPS=on in the environment, and make the layer or "
                "build the library again in a new process"
            )
        begun = (launch["began_unix_ns"] - base) / 1e3
        events += [_moved(event, pid, tid, begun) for event in trace["traceEvents"]]
    with _opened(Path(out), "w") as file:
        json.dump(merged, file)


def _moved(event: dict[str, Any], pid: int, tid: int, begun: float) -> dict[str, Any]:
    """An event with new process and thread numbers, on the profile's clock."""
    moved = {**event, "pid": event["pid"] + pid, "tid": event["tid"] + tid}
    if "ts" in event:
        moved["ts"] = event["ts"] + begun
    if event["name"] == "process_name":
        moved["args"] = {"name": f"hpmoe {event['args']['name']}"}
    if event["name"] == "process_sort_index":
        moved["args"] = {"sort_index": moved["pid"]}
    return moved


def _most(events: list[dict[str, Any]], key: str) -> int:
    """The largest process or thread number."""
    return max((event[key] for event in events if isinstance(event.get(key), int)), default=0)


def _opened(path: Path, mode: str) -> Any:
    return gzip.open(path, f"{mode}t", encoding="utf-8") if path.suffix == ".gz" else open(path, mode, encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        with _opened(path, "r") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise HpmoeError(f"{path} can't be read as a trace: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("traceEvents"), list):
        raise HpmoeError(f"{path} has no list traceEvents: pass a file that prof.export_chrome_trace has written")
    return found


#: Sizes of a picture, in its units: width of a trace, height of a core, width of names.
WIDTH, HEIGHT, NAMES = 900, 8, 90
#: Colours of tasks, in turn.
COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f"]


def svg(trace: Mapping[str, Any]) -> str:
    """The picture of a trace: a row for each core, a box for each tile."""
    events = trace["traceEvents"]
    names = {event["tid"]: f"rank {event['pid'] - 1} {event['args']['name']}" for event in events if event["name"] == "thread_name"}
    lines = {tid: line for line, tid in enumerate(names)}
    tiles = [event for event in events if event["ph"] == "X" and event["cat"] == "task"]
    tasks = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(dict.fromkeys(tile["name"] for tile in tiles))}
    end = max((tile["ts"] + tile["dur"] for tile in tiles), default=0) or 1
    scale = WIDTH / end
    texts = [f'<text x="0" y="{line * HEIGHT + 7}">{_html.text(names[tid])}</text>' for tid, line in lines.items()]
    boxes = [
        f'<rect x="{NAMES + tile["ts"] * scale:.2f}" y="{lines[tile["tid"]] * HEIGHT}" width="{max(tile["dur"] * scale, 0.2):.2f}" '
        f'height="{HEIGHT - 1}" fill="{tasks[tile["name"]]}"><title>{_html.text(tile["name"])}, {tile["dur"]:,.1f} µs</title></rect>'
        for tile in tiles
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {NAMES + WIDTH} {max(len(lines), 1) * HEIGHT}" font-size="7" font-family="sans-serif">'
    return head + "".join(texts + boxes) + "</svg>"
