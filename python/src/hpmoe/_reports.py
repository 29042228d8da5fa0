"""The report of the last launch of each thread."""

from __future__ import annotations

import threading
from typing import Any

reports = threading.local()


def last_report() -> dict[str, Any] | None:
    """The report of the last launch of this thread: tasks, counters, copies, and ``"text"``, the same in words.

    None if there was none, or it failed. If it runs on an NPU, this waits for it; if ranks are processes, it is None until all of them have
    waited (`Group.synchronize`).

    Raises:
        LaunchError: If it went wrong on an NPU.
    """
    last = getattr(reports, "last", None)
    return last() if callable(last) else last
