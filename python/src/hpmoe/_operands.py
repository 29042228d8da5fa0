"""Checks of torch tensors as operands. Kernels read plain memory of one device; this module rejects everything else."""

from __future__ import annotations

import sys
from typing import Any, Iterable


def kind_fault(name: str, value: Any) -> str | None:
    """The reason why a tensor's memory does not hold its elements plainly (whatever its type and device); None if it does."""
    torch = sys.modules["torch"]
    if value.layout is not torch.strided:
        return f"`{name}` has the layout {value.layout}: pass .to_dense()"
    if value.is_nested:
        return f"`{name}` is a nested tensor: pass tensors of one shape"
    if value.is_quantized:
        return f"`{name}` is quantized ({value.dtype}): pass .dequantize()"
    return None


def device_fault(first: tuple[str, Any], others: Iterable[tuple[str, Any]], on_host: tuple[str, ...] = ()) -> str | None:
    """The reason why tensors can't be operands of one launch. All must lie on the first tensor's device; those named in `on_host` may lie on the CPU."""
    name, value = first
    wanted = value.device
    for other, tensor in others:
        device = tensor.device
        # Ids for a route made on the host are copied to the CPU from any device that holds data.
        if device == wanted or (other in on_host and "meta" not in (device.type, wanted.type)):
            continue
        if wanted.type == "meta":
            (name, wanted), (other, device) = (other, device), (name, wanted)
        return f"{other} is on {device}, but {name} on {wanted}: move it there with .to({str(wanted)!r})"
    return None


def address(name: str, value: Any) -> tuple[int, str | None]:
    """The address of a tensor's elements, or an error for tensors without memory: FakeTensor, DTensor across ranks, and tensors inside torch.func."""
    if value.is_conj() or value.is_neg():
        return 0, f"`{name}` is a view that is negated or conjugated when it is read: pass .resolve_conj().resolve_neg()"
    fault = f"`{name}` is of type {type(value).__name__} and has no memory of its own: pass a plain tensor"
    try:
        import torch

        if isinstance(value, torch._subclasses.FakeTensor):
            return 0, fault
        found = value.data_ptr()
    except RuntimeError as error:
        return 0, f"{fault} ({error})"
    return found, fault if found == 0 and value.numel() else None
