"""Launches on NPUs that are still pending."""

from __future__ import annotations

import json
import threading
from collections import deque
from typing import Any, Callable, Protocol

from ._errors import HpmoeError

#: Most pending launches, if nothing else makes the host wait for them.
MOST_PENDING = 16


class PendingLaunch:
    """A launch that the host has not waited for yet."""

    def __init__(self, wait: Callable[[], str], copied: list[dict[str, Any]]) -> None:
        """`wait` waits for the launch and returns its report as JSON; `copied` lists copies that were made for the launch."""
        self._end, self._copied = wait, copied
        self._waiting = threading.Lock()
        self._report: dict[str, Any] | None = None
        self._error: HpmoeError | None = None
        self._over = False

    def report(self) -> dict[str, Any] | None:
        """The report, if the launch was waited for; None before."""
        return self.wait() if self._over else None

    def wait(self) -> dict[str, Any]:
        """Waits until the launch has ended, and returns its report.

        Raises:
            LaunchError: If the launch failed.
        """
        with self._waiting:
            if not self._over:
                self._over = True
                try:
                    self._report = with_copies(json.loads(self._end()), self._copied)
                except HpmoeError as error:
                    self._error = error
        if self._report is None:
            raise self._error or HpmoeError("the launch has ended without a report")
        return self._report


class Waited(Protocol):
    """One or several launches that can be waited for."""

    def wait(self) -> Any:
        """Waits until the launches have ended.

        Raises:
            LaunchError: If a launch failed.
        """


class Launches:
    """The pending launches of a group, oldest first."""

    def __init__(self) -> None:
        """Starts without launches."""
        self._pending: deque[Waited] = deque()

    def add(self, launch: Waited) -> None:
        """Adds a launch that was put on the stream. A fixed launch is added once for all its launches."""
        if launch not in self._pending:
            self._pending.append(launch)

    def wait(self, most: int = 0) -> None:
        """Waits for all launches if there are more than `most`.

        Raises:
            LaunchError: If a launch failed.
        """
        if len(self._pending) > most:
            while self._pending:
                self._pending.popleft().wait()


def with_copies(report: dict[str, Any], copied: list[dict[str, Any]]) -> dict[str, Any]:
    """A report extended by the copies that this package made, in addition to those of the library."""
    for copy in copied:
        report["copied"].append(copy)
        report["text"] += "\n  `{tensor}` of rank {rank} was copied ({bytes} bytes): {reason}".format(**copy)
    return report
