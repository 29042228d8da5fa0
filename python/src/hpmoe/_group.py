"""Groups of ranks."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import threading
import weakref
from typing import Any, Callable, TypeVar

from . import _c
from ._errors import HpmoeError
from ._pending import Launches
from ._placement import Placement
from ._reports import LaunchReport, LastReport
from ._processes import Join, join_at, join_by, joining
from ._printable import printable
from ._waits import Attendant, interruptible, new_cancel

T = TypeVar("T")


class Group:
    """The ranks that run kernels together, with their memory: threads of this process, or one process for each rank.

    A group keeps the memory of each kernel that it has run. Launches of one group run one after another.

    If ranks are processes (:meth:`join`, or `process_group`), all of them make the same launches in the same order, each with its own
    tokens and the matrices of its own experts. What does not fit on one rank is an error on all of them, and so is a
    process that ends. They are on one Linux machine. Ranks of a `process_group` share a secret that nobody else has.

    Ctrl-C ends joining and launches within a second, and the other processes are told. The group can't be used afterwards.

    Args:
        ranks: How many ranks; a number that divides the experts of the kernels.
        process_group: A process group of torch.distributed, of which each process is one rank; instead of `ranks`.
        seed: For the order of everything that a kernel leaves open; results don't depend on it.
        time_limit: The longest that a core may wait, in seconds.
        capacity_rows: Room for received rows on each rank; by default as many as any routing can need.
        threads: Threads of each rank; by default the ranks share those of the machine.
        device: ``"cpu"``; or, for libraries that were built with ``HPMOE_DEVICE=cann``, ``"npu"``, or ``"npu:3"`` for the NPU of this
            process's first rank. Without a number, rank r runs on the r-th NPU that this process sees, and a rank that is a process on the
            one of its number on the machine.
        join_time_limit: The longest that ranks which are processes may take to join, in seconds; by default HPMOE_JOIN_TIME_LIMIT, or 60.
        checks: Whether launches on the CPU look for races on chip and for stale lines of a cache, and draw the order of what a kernel leaves open;
            by default HPMOE_CHECKS (``on`` or ``off``), or False. Bits are the same. Without checks, a mistake in a kernel of your own can show as
            wrong results or not at all; accesses beyond a tensor are errors in both.
    """

    _named: weakref.WeakValueDictionary[str, "Group"] = weakref.WeakValueDictionary()
    _made: dict[str, "Group"] = {}
    _numbers = itertools.count()

    def __init__(
        self,
        ranks: int | None = None,
        *,
        process_group: Any = None,
        seed: int = 0,
        time_limit: float = 60.0,
        capacity_rows: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        join_time_limit: float | None = None,
        checks: bool | None = None,
    ) -> None:
        """Makes a group. The ranks start with its first launch."""
        #: The rank of this process; None if all ranks are threads of it.
        self.rank: int | None = None
        self._join: Join | None = None
        joining(None, None, join_time_limit, False)
        if process_group is not None:
            if ranks is not None:
                raise HpmoeError("a group has the ranks of its process_group: leave out ranks")
            self.rank, ranks, self._join = join_by(process_group, join_time_limit)
        ranks = 1 if ranks is None else ranks
        kind, number = _device(device)
        for name, value, least in [("ranks", ranks, 1), ("capacity_rows", capacity_rows, 1), ("threads", threads, 1)]:
            if value is not None and (not isinstance(value, int) or value < least):
                raise HpmoeError(f"{name} is {value!r}, but has to be a whole number of at least {least}")
        if not time_limit > 0:
            raise HpmoeError(f"time_limit is {time_limit!r}, but has to be a number of seconds above 0")
        self.ranks = ranks
        #: Where kernels run: ``"cpu"`` or ``"npu"``.
        self.device = kind
        self._checks = _checks(checks)
        milliseconds = max(1, round(time_limit * 1000))
        self._settings = (seed, milliseconds, capacity_rows or 0, threads or 0, _c.DEVICES[kind], number)
        self._cancel = new_cancel()
        self._attendant = Attendant(self._cancel)
        self._launches = Launches()
        self._last = LastReport()
        self._handles: dict[str, int] = {}
        self._placed: dict[Placement, PlacedGroup] = {}
        self._making = threading.Lock()
        self._closed = False
        settings: dict[str, Any] = {"ranks": ranks, "seed": seed, "time_limit": time_limit, "capacity_rows": capacity_rows}
        settings.update(threads=threads, device=device, join_time_limit=join_time_limit, checks=checks)
        #: The name by which operators of PyTorch find the group.
        of_processes = "" if self.rank is None else f" rank {self.rank} of processes"
        self.name = f"{json.dumps(settings)}{of_processes}#{next(Group._numbers)}"
        Group._named[self.name] = self

    @classmethod
    def join(
        cls,
        rank: int,
        ranks: int,
        address: str,
        *,
        job: str | None = None,
        secret: bytes | str | None = None,
        let_anyone_join: bool = False,
        **settings: Any,
    ) -> "Group":
        """The group of `ranks` processes of which this one is `rank`.

        Only ranks of the same job may join. With a secret, ranks prove to each other that they know it; without one, rank 0 listens on this machine's
        loopback alone.

        Args:
            rank: The rank of this process, from 0.
            ranks: How many processes there are.
            address: Where rank 0 listens, such as ``"127.0.0.1:28471"``; the same for all. A group that uses several libraries
                takes the ports that follow, one for each. ``"file:/tmp/job-7"`` needs no port: rank 0 listens at one that is free, writes it
                to that file for the others, and removes the file when they have joined.
            job: Name of the job; by default HPMOE_JOB, or what the launcher calls it.
            secret: What only ranks of the job know, 16 to 4096 bytes; by default the content of the file that HPMOE_SECRET_FILE names, if it is set.
            let_anyone_join: Lets rank 0 listen to other machines without a secret, so that whoever reaches its port can become a rank.
            **settings: As for :class:`Group`.
        """
        found = joining(job, secret, settings.get("join_time_limit"), let_anyone_join)
        join = join_at(rank, ranks, address, found)
        group = cls(ranks, **settings)
        group.rank, group._join = rank, join
        name = f"{group.name} rank {rank} of processes"
        group.name = name
        Group._named[name] = group
        return group

    def placed(self, placement: Placement) -> "Group":
        """The same group, whose launches have experts where `placement` says: those of kernels with as many places.

        Matrices of experts then have a part for each physical expert (:meth:`Placement.place`). Launches of both follow each other. If ranks are
        processes, all pass the same placement.
        """
        if not isinstance(placement, Placement):
            raise HpmoeError(f"the placement is a {type(placement).__name__}: pass a hpmoe.Placement")
        if placement.ranks != self.ranks:
            raise HpmoeError(f"the placement is for {placement.ranks} ranks, but the group has {self.ranks}: make one for {self.ranks}")
        with self._making:
            if placement not in self._placed:
                self._placed[placement] = PlacedGroup(self, placement)
            return self._placed[placement]

    @property
    def here(self) -> int:
        """The number of ranks that run in this process: all, or one."""
        return self.ranks if self.rank is None else 1

    @property
    def capacity_rows(self) -> int | None:
        """Room for received rows on each rank; None for as many as any routing can need."""
        return self._settings[2] or None

    def synchronize(self) -> None:
        """Waits for the launches on NPUs that are pending. If ranks are processes, all of them call it.

        Raises:
            LaunchError: If one went wrong.
        """
        self._launches.wait()

    def last_report(self) -> LaunchReport | None:
        """The report of the last launch of this group, of whichever thread: as :func:`hpmoe.last_report`."""
        return self._last.get()

    def close(self) -> None:
        """Waits for launches, and frees the memory of the group. Launches after this are errors."""
        self._closed = True
        try:
            self._launches.wait()
        finally:
            with self._making:
                self._handles.clear()
                for finalizer in self.__dict__.pop("_finalizers", []):
                    finalizer()

    def __enter__(self) -> "Group":
        """The group itself, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the group."""
        self.close()

    def __copy__(self) -> "Group":
        """The group itself: its ranks and their memory are there once."""
        return self

    def __deepcopy__(self, memo: object) -> "Group":
        """The group itself."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Refuses to be pickled."""
        raise HpmoeError(f"a group can't be pickled, because its ranks live in this process: make it where it is needed, {self!r}")

    def __repr__(self) -> str:
        """The call that makes the same group."""
        settings = json.loads(self.name[: self.name.index("}") + 1])
        return f"Group({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    def _handle(self, interface: _c.Interface) -> int:
        """The number of this group in a library, which has groups of its own."""
        with self._making:
            if self._closed:
                raise HpmoeError("this group has been closed: make a new hpmoe.Group")
            if interface.path not in self._handles:
                checks = _c.CHECKS_ON if self._checks else _c.CHECKS_OFF
                options = _c.Options(*self._settings, ctypes.pointer(self._cancel), checks, self._attendant.function)
                join = self._join

                def make() -> None:
                    handle = interface.group_new(self.ranks, options) if join is None else join(interface, options)
                    self._handles[interface.path] = handle
                    finalizer = weakref.finalize(self, interface.group_free, handle)
                    self.__dict__.setdefault("_finalizers", []).append(finalizer)

                # What torch does to gather addresses can't be cancelled.
                interruptible(make, self._cancel, borrows=False)
            return self._handles[interface.path]

    def _waiting(self, call: Callable[[], T]) -> T:
        """What a call of C returns that may wait for other ranks, and that Ctrl-C ends."""
        # The library calls back the thread that the process began with.
        if self.rank is None and self.device == "cpu" and (_main_is_first() or threading.current_thread() is not threading.main_thread()):
            return self._attendant.call(call)
        return interruptible(call, self._cancel)

    @staticmethod
    def _of_name(name: str) -> "Group":
        """The group of that name. In another process, where there is none, one with the same settings is made."""
        group = Group._named.get(name)
        if group is None:
            if "with a placement" in name:
                raise HpmoeError("the group with a placement that this was made for is gone: keep its group as long as what uses it")
            if "of processes" in name:
                raise HpmoeError("the group of processes that this was made for is gone: keep it as long as what uses it")
            group = Group(**json.loads(name.partition("#")[0]))
            Group._named[name] = Group._made[name] = group
        return group


class PlacedGroup(Group):
    """A group whose launches have experts where a placement says. `Group.placed` makes it."""

    def __init__(self, group: Group, placement: Placement) -> None:
        """Shares all but the handles with its group."""
        self.__dict__.update(group.__dict__)
        self._of, self.placement = group, placement
        self._handles, self._making = {}, threading.Lock()
        self.__dict__.pop("_finalizers", None)
        self.name = f"{group.name} with a placement {next(Group._numbers)}"
        Group._named[self.name] = self

    def placed(self, placement: Placement) -> Group:
        """The group with another placement."""
        return self._of.placed(placement)

    def close(self) -> None:
        """Waits for launches. The memory is that of the group."""
        self._launches.wait()

    def __repr__(self) -> str:
        """The call that makes it."""
        return f"{self._of!r}.placed({self.placement!r})"

    def _handle(self, interface: _c.Interface) -> int:
        """The number of the group with its placement in a library."""
        handle = self._of._handle(interface)
        with self._making:
            if interface.path not in self._handles:
                self._handles[interface.path] = self.placement._handle(interface, handle)
                weakref.finalize(self, interface.group_free, self._handles[interface.path])
            return self._handles[interface.path]


def _main_is_first() -> bool:
    """Whether Python's main thread is the thread that the process began with."""
    return threading.main_thread().native_id == os.getpid()


def _checks(chosen: bool | None) -> bool:
    """Whether launches are checked: as the group says, or else the environment."""
    if chosen is None:
        named = os.environ.get("HPMOE_CHECKS") or "off"
        if named not in ("on", "off"):
            raise HpmoeError(f"HPMOE_CHECKS is `{printable(named)}`, but should be `on` or `off`: set it so, or unset it for `off`")
        return named == "on"
    if not isinstance(chosen, bool):
        raise HpmoeError(f"checks is {chosen!r}, but has to be True or False")
    return chosen


def _device(name: str) -> tuple[str, int]:
    """A kind of device, and the number of an NPU, counted from 1; 0 where none is named."""
    kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind in _c.DEVICES and not colon:
        return kind, 0
    if kind == "npu" and number.isdigit():
        return kind, int(number) + 1
    raise HpmoeError(f"there is no device {name!r}: use one of 'cpu', 'npu', or an NPU by its number, such as 'npu:0'")
