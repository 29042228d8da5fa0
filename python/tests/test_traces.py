"""Traces of launches: merged into a profile, and drawn."""

import gzip
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest

import hpmoe
from test_library import layer


def report(begun: int, kernel: str = "layer::forward") -> hpmoe.LaunchReport:
    """The report of a launch with one tile on each of two ranks."""
    events = []
    for rank in range(2):
        pid, tid = rank + 1, rank + 1
        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": tid, "args": {"name": f"rank {rank}, measured"}})
        events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": pid}})
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": "AIC 00"}})
        events.append({"ph": "X", "name": "project→<g>", "cat": "task", "pid": pid, "tid": tid, "ts": 2.5 + rank, "dur": 1.0, "args": {}})
    return hpmoe.LaunchReport(kernel=kernel, text="done", began_unix_ns=begun, trace={"traceEvents": events})


PROFILE = {
    "baseTimeNanoseconds": 1_000_000_000,
    "displayTimeUnit": "ms",
    "traceEvents": [
        {"ph": "X", "name": "hpmoe::run", "cat": "cpu_op", "pid": 40, "tid": 77, "ts": 100.0, "dur": 50.0},
        {"ph": "M", "name": "process_name", "pid": "Spans", "tid": 0, "args": {"name": "Spans"}},
    ],
}


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_launches_are_merged_on_the_clock_of_the_profile(tmp_path: Path, suffix: str) -> None:
    profile, out = tmp_path / f"profile.{suffix}", tmp_path / f"merged.{suffix}"
    text = json.dumps(PROFILE)
    profile.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    launches = [report(1_000_110_000), report(1_000_130_000)]
    hpmoe.merge_trace(profile, launches, out)
    content = out.read_bytes()
    merged = json.loads(gzip.decompress(content) if suffix.endswith("gz") else content)
    assert merged["traceEvents"][:2] == PROFILE["traceEvents"] and merged["displayTimeUnit"] == "ms"
    tiles = [event for event in merged["traceEvents"] if event.get("cat") == "task"]
    assert [tile["ts"] for tile in tiles] == pytest.approx([112.5, 113.5, 132.5, 133.5])
    # Process and thread numbers don't clash with the profile's.
    assert [(tile["pid"], tile["tid"]) for tile in tiles] == [(42, 79), (43, 80)] * 2
    names = {event["args"]["name"] for event in merged["traceEvents"] if event["name"] == "process_name"}
    assert names == {"Spans", "hpmoe rank 0, measured", "hpmoe rank 1, measured"}
    # Reports are not changed.
    assert launches[0]["trace"]["traceEvents"][3]["ts"] == 2.5


def test_older_profiles_count_from_1970(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"traceEvents": PROFILE["traceEvents"]}))
    hpmoe.merge_trace(profile, report(5_000_000), profile)
    tiles = [event for event in json.loads(profile.read_text())["traceEvents"] if event.get("cat") == "task"]
    assert [tile["ts"] for tile in tiles] == pytest.approx([5002.5, 5003.5])


def test_what_can_not_be_merged(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    with pytest.raises(hpmoe.HpmoeError, match="profile.json can't be read as a trace: "):
        hpmoe.merge_trace(profile, report(0), profile)
    profile.write_text("[]")
    with pytest.raises(hpmoe.HpmoeError, match="profile.json has no list traceEvents: pass a file that prof.export_chrome_trace has written"):
        hpmoe.merge_trace(profile, report(0), profile)
    profile.write_text(json.dumps(PROFILE))
    launch = report(0)
    launch["trace"] = None
    with pytest.raises(hpmoe.HpmoeError, match="the launch of layer::forward has no time stamps: set HPMOE_TIME_STAMPS=on in the environment"):
        hpmoe.merge_trace(profile, [report(0), launch], profile)
    assert json.loads(profile.read_text()) == PROFILE


def test_a_notebook_shows_the_tiles() -> None:
    shown = report(0)._repr_html_()
    picture = ElementTree.fromstring(shown[shown.index("<svg") : shown.index("</svg>") + 6])
    boxes = [element for element in picture.iter() if element.tag.endswith("rect")]
    assert len(boxes) == 2 and "<g>" not in shown and "project→&lt;g&gt;" in shown


@pytest.mark.slow
def test_launches_of_kernels_with_time_stamps_have_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    from conftest import of_gate

    monkeypatch.setenv("HPMOE_TIME_STAMPS", "on")
    ids, tensors = layer()
    with hpmoe.Group(ranks=2) as group:
        of_gate("swiglu")["swiglu::forward"](group, ids, **tensors)
    found = hpmoe.last_report()
    tiles = [event for event in found["trace"]["traceEvents"] if event.get("cat") == "task"]
    assert len(tiles) == found["tasks"] and numpy.ptp([tile["ts"] for tile in tiles]) * 1e-6 < found["wall_us"]
    assert "<svg" in found._repr_html_()
