"""Memory of other libraries: addresses and element types of their tensors."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from typing import Any, NamedTuple

from ._errors import HpmoeError
from ._npu import device_of
from ._operands import address, kind_fault

#: Element types by numpy's names. Numpy has no bf16, so two raw bytes or a 16-bit unsigned integer represent it.
NUMPY = {"f2": "f16", "f4": "f32", "i4": "i32", "i1": "i8", "i8": "i64", "u1": "i4x2", "u2": "bf16", "V2": "bf16"}
#: Element types by the format of a buffer.
FORMATS = {"e": "f16", "f": "f32", "i": "i32", "l": "i64", "q": "i64", "b": "i8", "B": "i4x2", "H": "bf16"}

#: Alignment in bytes of tensors that a launch uses in place.
ALIGNMENT = 64


class View(NamedTuple):
    """The memory of an object whose elements lie one after another without gaps."""

    address: int
    shape: tuple[int, ...]
    element: str
    #: Whether the memory may be written.
    writable: bool
    #: The torch device, if the memory is on an NPU.
    npu: Any = None


def torch_elements() -> dict[Any, str]:
    """Element types by torch type, if torch has been imported."""
    return _torch_elements() if "torch" in sys.modules else {}


@functools.cache
def _torch_elements() -> dict[Any, str]:
    torch = sys.modules["torch"]
    wide = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", torch.int32: "i32", torch.int64: "i64"}
    return wide | {torch.int8: "i8", torch.uint8: "i4x2"}


def view(value: Any, name: str, kinds: str = "bfloat16, float16, float32, int32, int8 or uint8") -> View:
    """The memory of a torch tensor, a numpy array, or any object with a buffer. `kinds` names the allowed torch types for error messages."""
    if hasattr(value, "data_ptr"):
        return _of_torch(value, name, kinds)
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return _of_numpy(interface, value, name)
    try:
        buffer = memoryview(value)
    except TypeError as error:
        raise HpmoeError(
            f"`{name}` is of type {type(value).__name__}: pass a tensor of torch, an array of numpy, or a buffer"
        ) from error
    element = FORMATS.get(buffer.format.lstrip("@=<"))
    if element is None:
        raise HpmoeError(f"`{name}` has elements of the format {buffer.format!r}: pass one of {', '.join(FORMATS)}")
    if not buffer.c_contiguous:
        raise HpmoeError(f"`{name}` has gaps between its elements: pass a contiguous copy")
    if buffer.nbytes == 0:
        return View(0, buffer.shape, element, not buffer.readonly)
    if buffer.readonly:
        raise HpmoeError(f"`{name}` is read-only, and Python gives no address for read-only buffers: pass a writable one")
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer.cast("B")))
    return View(address, buffer.shape, element, True)


@functools.cache
def _torch_types() -> dict[str, Any]:
    return {name: kind for kind, name in torch_elements().items()}


def _of_plain(value: Any) -> View | None:
    """Fast path for most tensors: contiguous, on the CPU, with a kernel's element type. None for all others, which need a full check."""
    torch = sys.modules["torch"]
    element = torch_elements().get(value.dtype)
    if element is None or type(value) not in (torch.Tensor, torch.nn.Parameter) or not value.is_cpu or value.layout is not torch.strided:
        return None
    if value.is_nested or value.is_neg() or not value.is_contiguous():
        return None
    try:
        start = value.data_ptr()
    except RuntimeError:
        return None
    return View(start, tuple(value.shape), element, True) if start else None


def _of_torch(value: Any, name: str, kinds: str) -> View:
    if (plain := _of_plain(value)) is not None:
        return plain
    if fault := kind_fault(name, value):
        raise HpmoeError(fault)
    element = torch_elements().get(value.dtype)
    if element is None:
        raise HpmoeError(f"`{name}` has elements of {value.dtype}: pass {kinds}")
    npu = device_of(value)
    if npu is None and value.device.type != "cpu":
        raise HpmoeError(f"`{name}` is on {value.device}: kernels run on the CPU and on NPUs, so move it to the CPU with .cpu()")
    if not value.is_contiguous():
        raise HpmoeError(f"`{name}` has gaps between its elements (strides {tuple(value.stride())}): pass .contiguous()")
    start, fault = address(name, value)
    if fault is not None:
        raise HpmoeError(fault)
    return View(start, tuple(value.shape), element, True, npu)


def _of_numpy(interface: dict[str, Any], value: Any, name: str) -> View:
    kind = interface["typestr"]
    element = NUMPY.get(kind[1:]) if kind[0] in "<|" else None
    if element is None:
        raise HpmoeError(f"`{name}` has elements of {value.dtype}: pass float32, float16, int32, int8, uint8 for i4x2, or uint16 for bf16")
    if interface.get("strides") is not None:
        raise HpmoeError(f"`{name}` has gaps between its elements: pass numpy.ascontiguousarray of it")
    if hasattr(value, "mask"):
        raise HpmoeError(f"`{name}` is a masked array, whose mask a kernel does not read: pass .filled(0)")
    address, read_only = interface["data"]
    return View(address, tuple(interface["shape"]), element, not read_only)


def empty_like(value: Any, shape: tuple[int, ...], element: str) -> Any:
    """New memory of the same library as `value`: a torch tensor on the same device, or a numpy array."""
    if hasattr(value, "data_ptr"):
        return sys.modules["torch"].empty(shape, dtype=_torch_types()[element], device=value.device)
    if hasattr(value, "__array_interface__"):
        import numpy

        wide = {"bf16": numpy.uint16, "f16": numpy.float16, "f32": numpy.float32, "i32": numpy.int32}
        kinds = wide | {"i8": numpy.int8, "i4x2": numpy.uint8}
        # The memory starts at a multiple of 64 bytes, so that a launch can use it in place; numpy does not promise that alignment.
        size = count(shape) * kinds[element]().itemsize
        memory = numpy.empty(size + ALIGNMENT, dtype=numpy.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        return memory[start : start + size].view(kinds[element]).reshape(shape)
    raise HpmoeError("outputs can't be allocated for arguments that are plain buffers: pass the outputs, too")


def zeros_like(value: Any, shape: tuple[int, ...], element: str) -> Any:
    """Like :func:`empty_like`, with zeros."""
    made = empty_like(value, shape, element)
    made[...] = 0
    return made


def count(shape: tuple[int, ...]) -> int:
    """Number of elements."""
    return math.prod(shape)
