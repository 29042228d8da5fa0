"""The report of the last launch of each thread, and of each group."""

from __future__ import annotations

import json
import threading
from typing import Any

from . import _html
from ._errors import HpmoeError
from ._trace import svg


class LaunchReport(dict[str, Any]):
    """The report of a launch: tasks, counters, copies, ``"trace"``, and ``"text"``, which has the same facts in words. A notebook shows its text and its
    trace.
    """

    def _repr_html_(self) -> str:
        """The text, and a picture of each core's tiles over time if the kernel records time stamps."""
        picture = [] if self["trace"] is None else [svg(self["trace"])]
        return _html.page(self["kernel"], _html.preformatted(self["text"]), *picture)


class LastReport:
    """Stores the report of the last launch."""

    def __init__(self) -> None:
        """Starts without a launch."""
        #: The report (parsed or as JSON), None for a launch without a report, or a call that waits for the launch and returns a report or None.
        self.kept: Any = None
        self.launched = False

    def keep(self, report: Any) -> None:
        """Stores the report of a new launch."""
        self.kept, self.launched = report, True

    def get(self) -> LaunchReport | None:
        """The report. Waits for a pending launch."""
        if isinstance(self.kept, str):
            # Parsed only on request, because most reports are never read.
            self.kept = json.loads(self.kept)
        found = self.kept() if callable(self.kept) else self.kept
        return None if found is None else LaunchReport(found)


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.last = LastReport()


_of_thread = _OfThread()
#: The last launch of any thread.
_of_process = LastReport()


def keep(report: Any, of_group: LastReport) -> None:
    """Stores the report of a launch for this thread, for its group and for the process."""
    for place in (_of_thread.last, of_group, _of_process):
        place.keep(report)


def last_report() -> LaunchReport | None:
    """The report of this thread's last launch: tasks, counters, copies, and ``"text"``, which has the same facts in words.

    None if there was no launch, or it failed. If the launch runs on an NPU, this waits for it. If ranks are processes, the result is None until all of
    them have waited (`Group.synchronize`).

    Raises:
        LaunchError: If the launch failed on an NPU.
        HpmoeError: If this thread has launched nothing, but another one has: :meth:`hpmoe.Group.last_report` has the report of any thread.
    """
    if _of_process.launched and not _of_thread.last.launched:
        raise HpmoeError(
            f"thread {threading.current_thread().name!r} has launched nothing, and last_report() is about the thread that calls it: call "
            "last_report() of the group, such as layer.group.last_report(), for launches of any thread"
        )
    return _of_thread.last.get()
