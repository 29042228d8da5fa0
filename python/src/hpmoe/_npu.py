"""Tensors of NPUs as torch_npu represents them: their device and its current stream."""

from __future__ import annotations

import sys
from typing import Any

from ._errors import HpmoeError

#: The type of device by which torch_npu names NPUs.
NPU = "npu"


def device_of(value: Any) -> Any:
    """The device of a torch tensor on an NPU; None for all other objects."""
    device = getattr(value, "device", None)
    return device if getattr(device, "type", None) == NPU else None


def number_of(device: Any) -> int:
    """The number of an NPU among those that the process can see."""
    return _module(device).current_device() if device.index is None else device.index


def is_captured(device: Any) -> bool:
    """Whether torch's current stream is being captured in a graph."""
    return bool(getattr(_module(device), "is_current_stream_capturing", bool)())


def stream_of(device: Any) -> int:
    """The handle of torch's current stream."""
    return _module(device).current_stream(device).npu_stream


def current_stream(device: Any) -> int:
    """The handle of torch's current stream, for a launch whose tables come from the host.

    Raises:
        HpmoeError: If that stream is being captured in a graph.
    """
    if is_captured(device):
        raise HpmoeError(
            f"the current stream of {device} is being captured in a graph, but a launch takes its tables from the host: fix the launch before "
            "the capture (Taskflow.fix) and launch it in the graph by its launch(), or leave layers of hpmoe out of the graph"
        )
    return stream_of(device)


def synchronize(device: Any) -> None:
    """Waits for all work that torch has put on the NPU."""
    _module(device).synchronize(number_of(device))


def device_for(kind: str) -> str:
    """The group device for tensors on this kind of device, for instance a mesh's: torch's current NPU, or the CPU."""
    return f"{NPU}:{getattr(sys.modules['torch'], NPU).current_device()}" if kind == NPU else "cpu"


def _module(device: Any) -> Any:
    """The torch module for NPUs."""
    module = getattr(sys.modules["torch"], device.type, None)
    if module is None or not hasattr(module, "current_stream"):
        raise HpmoeError(f"there is a tensor on {device}, but torch has no module torch.{device.type}: import torch_npu")
    return module
