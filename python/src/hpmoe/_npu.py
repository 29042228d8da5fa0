"""Tensors of NPUs, as torch_npu has them: their device, its current stream, and launches that are pending on it."""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable

from ._errors import HpmoeError

if TYPE_CHECKING:
    from ._fixed import FixedLaunch

#: The type of device by which torch_npu names NPUs.
NPU = "npu"
#: Most launches that are pending where nothing else makes the host wait for them.
MOST_PENDING = 16


def device_of(value: Any) -> Any:
    """The device of a tensor of torch that lies on an NPU; None for everything else."""
    device = getattr(value, "device", None)
    return device if getattr(device, "type", None) == NPU else None


def number_of(device: Any) -> int:
    """The number of an NPU among those that the process sees."""
    return _module(device).current_device() if device.index is None else device.index


def is_captured(device: Any) -> bool:
    """Whether what torch puts on its current stream is being captured in a graph."""
    return bool(getattr(_module(device), "is_current_stream_capturing", bool)())


def stream_of(device: Any) -> int:
    """The handle of the stream that torch puts its work on."""
    return _module(device).current_stream(device).npu_stream


def current_stream(device: Any) -> int:
    """The same for a launch whose tables come from the host.

    Raises:
        HpmoeError: If that stream is being captured in a graph.
    """
    if is_captured(device):
        raise HpmoeError(
            f"the current stream of {device} is being captured in a graph, but a launch takes its tables from the host: fix it before "
            "(Taskflow.fix) and launch that in the graph, or leave layers of hpmoe out of the graph"
        )
    return stream_of(device)


def synchronize(device: Any) -> None:
    """Waits for what torch has put on the NPU."""
    _module(device).synchronize(number_of(device))


def device_for(kind: str) -> str:
    """The device of a group for tensors of this kind of device, such as that of a mesh: that NPU which torch has chosen, or the CPU."""
    return f"{NPU}:{getattr(sys.modules['torch'], NPU).current_device()}" if kind == NPU else "cpu"


def _module(device: Any) -> Any:
    """The module of torch for NPUs."""
    module = getattr(sys.modules["torch"], device.type, None)
    if module is None or not hasattr(module, "current_stream"):
        raise HpmoeError(f"there is a tensor on {device}, but torch has no module torch.{device.type}: import torch_npu")
    return module


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


class Launches:
    """The launches of a group that are pending, first come first."""

    def __init__(self) -> None:
        """None."""
        self._pending: deque[PendingLaunch | "FixedLaunch"] = deque()

    def add(self, launch: "PendingLaunch | FixedLaunch") -> None:
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
