"""The C interface of a library of kernels: the functions of hpmoe.h."""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int32, c_uint, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple

from ._advice import in_python
from ._errors import HpmoeError, LaunchError

ABI = 6
OK, INVALID = 0, 1

#: The number of each element type.
ELEMENTS = {"bf16": 1, "f32": 2, "i32": 3, "i8": 4, "i64": 5, "i4x2": 6, "f16": 7}
#: Bytes of an element.
BYTES = {"bf16": 2, "f32": 4, "i32": 4, "i8": 1, "i64": 8, "i4x2": 1, "f16": 2}
#: The number of each device.
DEVICES = {"cpu": 0, "npu": 1}
#: Whether launches are checked.
CHECKS_ON, CHECKS_OFF = 1, 2


#: The type of the function that a thread calls while it waits for a launch.
ATTEND = CFUNCTYPE(None)


class Options(Structure):
    """Settings of a group."""

    _fields_ = [
        ("seed", c_uint64),
        ("time_limit_ms", c_uint64),
        ("capacity_rows", c_uint64),
        ("threads", c_uint32),
        ("device", c_uint),
        ("npu", c_uint32),
        ("cancel", POINTER(c_uint32)),
        ("checks", c_uint),
        ("attend", ATTEND),
    ]


class Joining(Structure):
    """Who may join a group of processes, and the time limit."""

    _fields_ = [
        ("job", c_char_p),
        ("secret", c_char_p),
        ("secret_bytes", c_uint64),
        ("time_limit_ms", c_uint64),
        ("let_anyone_join", c_uint32),
    ]


class Tensor(Structure):
    """One rank's part of a tensor."""

    _fields_ = [("data", c_void_p), ("rows", c_uint64), ("columns", c_uint32), ("element", c_uint), ("device", c_uint)]


class Placement(Structure):
    """The logical expert of each place, and the shares of copies."""

    _fields_ = [
        ("experts", c_uint64),
        ("places", c_uint64),
        ("physical_to_logical", POINTER(c_int32)),
        ("shares", POINTER(c_uint32)),
    ]


class Memory(Structure):
    """The memory that a launch needs on each rank."""

    _fields_ = [
        ("workspace_bytes", c_uint64),
        ("heap_bytes", c_uint64),
        ("received_rows", c_uint64),
        ("once_rows", c_uint64),
    ]


#: Argument types of a launch: group, taskflow, ids, ranks, tensors, arguments.
LAUNCH = [c_uint64, c_char_p, POINTER(Tensor), c_uint64, POINTER(Tensor), c_uint64]
#: Argument types of a replay: fixed launch, ranks, tensors, arguments, streams.
REPLAY = [c_uint64, c_uint64, POINTER(Tensor), c_uint64, POINTER(c_void_p)]
#: Result and arguments of each function.
FUNCTIONS = {
    "hpmoe_c_abi": (c_uint32, []),
    "hpmoe_describe": (c_char_p, []),
    "hpmoe_memory": (c_uint, [c_char_p, c_uint64, c_uint64, POINTER(Memory)]),
    "hpmoe_memory_table": (c_uint, [c_char_p, c_uint64, c_uint64, c_uint64, POINTER(c_char_p)]),
    "hpmoe_group_new": (c_uint, [c_uint64, POINTER(Options), POINTER(c_uint64)]),
    "hpmoe_group_join": (c_uint, [c_uint64, c_uint64, c_char_p, POINTER(Joining), POINTER(Options), POINTER(c_uint64)]),
    "hpmoe_listen": (c_uint, [c_char_p, POINTER(Joining), POINTER(c_uint64), POINTER(c_uint16)]),
    "hpmoe_group_host": (c_uint, [c_uint64, c_uint64, POINTER(Joining), POINTER(Options), POINTER(c_uint64)]),
    "hpmoe_listener_free": (c_uint, [c_uint64]),
    "hpmoe_group_free": (c_uint, [c_uint64]),
    "hpmoe_group_placed": (c_uint, [c_uint64, POINTER(Placement), POINTER(c_uint64)]),
    "hpmoe_place": (c_uint, [c_uint64, c_uint64, c_uint64, POINTER(c_uint64), POINTER(c_int32), c_uint64, POINTER(c_int32)]),
    "hpmoe_launch": (c_uint, [*LAUNCH, POINTER(c_void_p)]),
    "hpmoe_enqueue": (c_uint, [*LAUNCH, POINTER(c_void_p), POINTER(c_uint64)]),
    "hpmoe_fix": (c_uint, [*LAUNCH, POINTER(c_uint64)]),
    "hpmoe_replay": (c_uint, REPLAY),
    "hpmoe_capture": (c_uint, REPLAY),
    "hpmoe_replayed": (c_uint, [c_uint64, c_uint32]),
    "hpmoe_fixed_place": (c_uint, [c_uint64, POINTER(Placement)]),
    "hpmoe_fixed_free": (c_uint, [c_uint64]),
    "hpmoe_wait": (c_uint, [c_uint64]),
    "hpmoe_reference": (c_uint, LAUNCH),
    "hpmoe_refuse": (c_uint, [c_uint64, c_char_p]),
    "hpmoe_last_error": (c_char_p, []),
    "hpmoe_last_report": (c_char_p, []),
}


class Launch(NamedTuple):
    """The arguments of a launch: the parts of the ids and of each tensor."""

    taskflow: str
    ranks: int
    #: None if the taskflow makes its own route.
    ids: list[Tensor] | None
    tensors: list[Tensor]

    def parts(self) -> tuple[Any, ...]:
        """The arguments of the C functions, as `LAUNCH` lists them."""
        ids = None if self.ids is None else (Tensor * len(self.ids))(*self.ids)
        tensors = (Tensor * max(len(self.tensors), 1))(*self.tensors)
        return self.taskflow.encode(), ids, self.ranks, tensors, len(self.tensors) // self.ranks


class Interface:
    """The functions of one library. Calls release Python's lock."""

    def __init__(self, path: str) -> None:
        """Opens the library at `path`."""
        self.path = path
        if not os.path.exists(path):
            raise HpmoeError(f"there is no library {path}: build one with hpmoe.build(crate), or with cargo")
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise HpmoeError(f"{path} can't be opened as a library ({error}): build it for this machine") from error
        for name, (result, arguments) in FUNCTIONS.items():
            try:
                function = getattr(self._library, name)
            except AttributeError as error:
                raise HpmoeError(
                    f"{path} has no function {name}: a library of kernels has `hpmoe_c::export!();` in its lib.rs"
                ) from error
            function.restype, function.argtypes = result, arguments
            # FUNCTIONS lists hpmoe_c_abi first, because a library of another version may lack other functions.
            if name == "hpmoe_c_abi" and function() != ABI:
                raise HpmoeError(
                    f"{path} has version {function()} of the C interface, but this package needs version {ABI}: "
                    "build it with the hpmoe-c of this package's version"
                )

    def check(self, status: int) -> None:
        """Raises this thread's last error message, unless `status` is success."""
        if status != OK:
            message = in_python(self._library.hpmoe_last_error().decode(errors="replace"))
            raise (HpmoeError if status == INVALID else LaunchError)(message)

    def describe(self) -> str:
        """The contents of the library, as JSON."""
        return self._library.hpmoe_describe().decode()

    def memory(self, taskflow: str, ranks: int, capacity_rows: int) -> Memory:
        """The memory that a launch of a taskflow needs."""
        memory = Memory()
        self.check(self._library.hpmoe_memory(taskflow.encode(), ranks, capacity_rows, byref(memory)))
        return memory

    def memory_table(self, taskflow: str, ranks: int, capacity_rows: int, tokens: int) -> str:
        """The memory that a launch of a taskflow needs, tensor by tensor, as JSON."""
        table = c_char_p()
        self.check(self._library.hpmoe_memory_table(taskflow.encode(), ranks, capacity_rows, tokens, byref(table)))
        assert table.value is not None
        return table.value.decode()

    def group_new(self, ranks: int, options: Options) -> int:
        """Makes a group."""
        group = c_uint64()
        self.check(self._library.hpmoe_group_new(ranks, byref(options), byref(group)))
        return group.value

    def group_join(self, rank: int, ranks: int, address: str, joining: Joining, options: Options) -> int:
        """Joins a group of processes."""
        group = c_uint64()
        self.check(self._library.hpmoe_group_join(rank, ranks, address.encode(), byref(joining), byref(options), byref(group)))
        return group.value

    def listen(self, address: str, joining: Joining) -> tuple[int, int]:
        """Starts listening as rank 0, and returns the listener's handle and its port."""
        listener, port = c_uint64(), c_uint16()
        self.check(self._library.hpmoe_listen(address.encode(), byref(joining), byref(listener), byref(port)))
        return listener.value, port.value

    def group_host(self, listener: int, ranks: int, joining: Joining, options: Options) -> int:
        """Joins a group of processes as rank 0 through a listener, and frees the listener."""
        group = c_uint64()
        self.check(self._library.hpmoe_group_host(listener, ranks, byref(joining), byref(options), byref(group)))
        return group.value

    def listener_free(self, listener: int) -> None:
        """Frees a listener, unless a group has taken it."""
        self._library.hpmoe_listener_free(listener)

    def group_free(self, group: int) -> None:
        """Frees a group."""
        self.check(self._library.hpmoe_group_free(group))

    def group_placed(self, group: int, placement: Placement) -> int:
        """Makes another handle to a group, with a placement."""
        placed = c_uint64()
        self.check(self._library.hpmoe_group_placed(group, byref(placement), byref(placed)))
        return placed.value

    def place(self, ranks: int, places: int, loads: list[int], current: list[int] | None, moves: int) -> list[int]:
        """Places experts for these loads: the logical expert of each place."""
        found = (c_int32 * (ranks * places))()
        old = None if current is None else (c_int32 * len(current))(*current)
        status = self._library.hpmoe_place(ranks, len(loads), places, (c_uint64 * len(loads))(*loads), old, moves, found)
        self.check(status)
        return list(found)

    def refuse(self, group: int, message: str) -> None:
        """Makes the other processes' next launch fail with this message, because this process can't take part in it."""
        self._library.hpmoe_refuse(group, message.encode())

    def launch(self, group: int, launch: Launch) -> str:
        """Runs a taskflow, and returns its report as JSON."""
        self.check(self._library.hpmoe_launch(group, *launch.parts(), None))
        return self._library.hpmoe_last_report().decode()

    def enqueue(self, group: int, launch: Launch, stream: int) -> int:
        """Puts a taskflow on the stream of an NPU, and returns the handle of the pending launch."""
        pending = c_uint64()
        self.check(self._library.hpmoe_enqueue(group, *launch.parts(), (c_void_p * 1)(stream), byref(pending)))
        return pending.value

    def fix(self, group: int, parts: tuple[Any, ...]) -> int:
        """Makes the argument block of a launch with these `Launch.parts`, and returns its handle."""
        fixed = c_uint64()
        self.check(self._library.hpmoe_fix(group, *parts, byref(fixed)))
        return fixed.value

    def replay(self, fixed: int, parts: tuple[Any, ...], stream: int | None, captured: bool) -> None:
        """Replays a fixed launch on the stream of an NPU, captured or not; without a stream, runs it on the CPU."""
        function = self._library.hpmoe_capture if captured else self._library.hpmoe_replay
        self.check(function(fixed, *parts[2:], None if stream is None else (c_void_p * 1)(stream)))

    def replayed(self, fixed: int, launches: int) -> None:
        """Tells the library how many times graphs have launched a fixed launch."""
        self.check(self._library.hpmoe_replayed(fixed, launches))

    def fixed_place(self, fixed: int, placement: Placement) -> None:
        """Changes the placement of a fixed launch, for its later launches."""
        self.check(self._library.hpmoe_fixed_place(fixed, byref(placement)))

    def fixed_free(self, fixed: int) -> None:
        """Frees a fixed launch, unless its group has already freed it."""
        self._library.hpmoe_fixed_free(fixed)

    def wait(self, pending: int) -> str:
        """Waits for a pending launch, or for all launches of a fixed one, and returns the last report as JSON."""
        self.check(self._library.hpmoe_wait(pending))
        return self._library.hpmoe_last_report().decode()

    def reference(self, group: int, launch: Launch) -> None:
        """Runs the reference of a taskflow."""
        self.check(self._library.hpmoe_reference(group, *launch.parts()))
