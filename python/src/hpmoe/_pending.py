"""Launches on NPUs that the host has not waited for."""

from __future__ import annotations

import json
import threading
from collections import deque
from typing import Any, Callable, Protocol

from ._errors import HpmoeError

#: Most launches that are pending where nothing else makes the host wait for them.
MOST_PENDING = 16


class PendingLaunch:
    """A launch that the host has not waited for."""

    def __init__(self, wait: Callable[[], str], copied: list[dict[str, Any]]) -> None:
        """From a call that waits for it and returns its report as JSON; `copied` are copies that were made for it."""
        self._end, self._copied = wait, copied
        self._waiting = threading.Lock()
        self._report: dict[str, Any] | None = None
        self._error: HpmoeError | None = None
        self._over = False

    def report(self) -> dict[str, Any] | None:
        """The report, if the launch has been waited for."""
        return self.wait() if self._over else None

    def wait(self) -> dict[str, Any]:
        """Waits until the launch has ended, and returns its report.

        Raises:
            LaunchError: If it went wrong.
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
    """A launch, or several, that can be waited for."""

    def wait(self) -> Any:
        """Waits until it has ended.

        Raises:
            LaunchError: If it went wrong.
        """


class Launches:
    """The launches of a group that are pending, first come first."""

    def __init__(self) -> None:
        """None."""
        self._pending: deque[Waited] = deque()

    def add(self, launch: Waited) -> None:
        """A launch that has been put on the stream; one that is fixed stands for all of its launches."""
        if launch not in self._pending:
            self._pending.append(launch)

    def wait(self, most: int = 0) -> None:
        """Waits for all, if there are more than `most`.

        Raises:
            LaunchError: If one went wrong.
        """
        if len(self._pending) > most:
            while self._pending:
                self._pending.popleft().wait()


def with_copies(report: dict[str, Any], copied: list[dict[str, Any]]) -> dict[str, Any]:
    """A report that tells of copies that this package has made, next to those of the library."""
    for copy in copied:
        report["copied"].append(copy)
        report["text"] += "\n  `{tensor}` of rank {rank} was copied ({bytes} bytes): {reason}".format(**copy)
    return report
