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
    """The ranks that run kernels together, with their memory. Ranks are threads of this process, or one process each.

    A group keeps the memory of each kernel that it has run. Launches of one group run one after another.

    If ranks are processes (:meth:`join`, or `process_group`), they run on one Linux machine. All of them make the same launches in the same order,
    each with its own tokens and the matrices of its own experts. An invalid argument on one rank raises an error on all ranks, and so does the end
    of a process. Ranks of a `process_group` share a secret that no other process knows.

    Ctrl-C ends joining and launches within a second and notifies the other processes. The group can't be used afterwards.

    Args:
        ranks: Number of ranks, which must divide the experts of the kernels.
        process_group: A process group of torch.distributed, in which each process is one rank; instead of `ranks`.
        seed: Seed for the order of all work that a kernel leaves unordered. Results don't depend on it.
        time_limit: Longest time that a core may wait, in seconds.
        capacity_rows: Room for received rows on each rank, of each chunk; by default the maximum over all routings, or 1.5 times an even load for
            kernels whose launches choose their number of chunks.
        threads: Threads of each rank; by default the ranks share the machine's threads.
        device: ``"cpu"``; or, for libraries that were built with ``HPMOE_DEVICE=cann``, ``"npu"``, or ``"npu:3"`` for the NPU of this
            process's first rank. Without a number, rank r runs on the r-th NPU that this process can see. A rank that is a process runs on the NPU
            with its number on the machine.
        join_time_limit: Longest time for processes to join, in seconds; by default HPMOE_JOIN_TIME_LIMIT, or 60.
        checks: Whether launches on the CPU check for on-chip races and stale cache lines, and randomise the order of work that a kernel leaves
            unordered; by default HPMOE_CHECKS (``on`` or ``off``), or False. Results have the same bits either way. Without checks, a mistake in a
            kernel of your own can cause wrong results or go unnoticed. An access beyond a tensor is an error in both cases.
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
        """Makes a group. Its ranks start with the first launch."""
        #: The rank of this process; None if all ranks are threads of it.
        self.rank: int | None = None
        self._join: Join | None = None
        joining(None, None, join_time_limit, False)
        if process_group is not None:
            if ranks is not None:
                raise HpmoeError("process_group already determines the ranks: leave out ranks")
            self.rank, ranks, self._join = join_by(process_group, join_time_limit)
        ranks = 1 if ranks is None else ranks
        kind, number = _device(device)
        for name, value, least in [("ranks", ranks, 1), ("capacity_rows", capacity_rows, 1), ("threads", threads, 1)]:
            if value is not None and (not isinstance(value, int) or value < least):
                raise HpmoeError(f"{name} is {value!r}, but must be a whole number of at least {least}")
        if not time_limit > 0:
            raise HpmoeError(f"time_limit is {time_limit!r}, but must be a number of seconds above 0")
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
        #: The name by which PyTorch operators find the group.
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
        """Joins a group of `ranks` processes as rank `rank`.

        Only ranks of the same job may join. With a secret, ranks prove to each other that they know it. Without one, rank 0 listens only on this
        machine's loopback interface.

        Args:
            rank: The rank of this process, from 0.
            ranks: Number of processes.
            address: Address where rank 0 listens, such as ``"127.0.0.1:28471"``; all ranks pass the same one. A group that uses several libraries
                also uses the following ports, one per library. ``"file:/tmp/job-7"`` needs no port: rank 0 picks a free one, writes its address
                to that file for the other ranks, and removes the file when they have joined.
            job: Name of the job; by default HPMOE_JOB, or the launcher's name for the job.
            secret: 16 to 4096 bytes that only ranks of the job know; by default the content of the file that HPMOE_SECRET_FILE names, if it is set.
            let_anyone_join: Lets rank 0 listen to other machines without a secret, so that anyone who can reach its port can become a rank.
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
        """The same group with a placement, for kernels that were built with the placement's number of places.

        Tensors of experts then have one matrix for each physical expert (:meth:`Placement.place`). Launches of both groups run one after another.
        If ranks are processes, all of them pass the same placement.
        """
        if not isinstance(placement, Placement):
            raise HpmoeError(f"the placement is of type {type(placement).__name__}: pass a hpmoe.Placement")
        if placement.ranks != self.ranks:
            raise HpmoeError(f"the placement is for {placement.ranks} ranks, but the group has {self.ranks}: make one for {self.ranks}")
        with self._making:
            if placement not in self._placed:
                self._placed[placement] = PlacedGroup(self, placement)
            return self._placed[placement]

    @property
    def here(self) -> int:
        """Number of ranks that run in this process: all of them, or one."""
        return self.ranks if self.rank is None else 1

    @property
    def capacity_rows(self) -> int | None:
        """Room for received rows on each rank, of each chunk; None for the default."""
        return self._settings[2] or None

    def synchronize(self) -> None:
        """Waits for all pending launches on NPUs. If ranks are processes, all of them call it.

        Raises:
            LaunchError: If one of them failed.
        """
        self._launches.wait()

    def last_report(self) -> LaunchReport | None:
        """The report of this group's last launch by any thread; otherwise like :func:`hpmoe.last_report`."""
        return self._last.get()

    def close(self) -> None:
        """Waits for launches, and frees the memory of the group. Later launches raise errors."""
        self._closed = True
        try:
            self._launches.wait()
        finally:
            with self._making:
                self._handles.clear()
                for finalizer in self.__dict__.pop("_finalizers", []):
                    finalizer()

    def __enter__(self) -> "Group":
        """Returns the group; the end of the block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the group."""
        self.close()

    def __copy__(self) -> "Group":
        """The group itself, because its ranks and their memory can't be copied."""
        return self

    def __deepcopy__(self, memo: object) -> "Group":
        """The group itself."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Refuses to be pickled."""
        raise HpmoeError(f"a group can't be pickled, because its ranks live in this process: make it in the process that needs it, {self!r}")

    def __repr__(self) -> str:
        """A call that makes an equal group."""
        settings = json.loads(self.name[: self.name.index("}") + 1])
        return f"Group({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    def _handle(self, interface: _c.Interface) -> int:
        """The handle of this group in a library. Each library has its own groups."""
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

                # Torch gathers the addresses of the processes in calls that can't be cancelled.
                interruptible(make, self._cancel, borrows=False)
            return self._handles[interface.path]

    def _waiting(self, call: Callable[[], T]) -> T:
        """The result of a C call that may wait for other ranks. Ctrl-C ends the wait."""
        # The library makes its callbacks only on the thread that the process began with.
        if self.rank is None and self.device == "cpu" and (_main_is_first() or threading.current_thread() is not threading.main_thread()):
            return self._attendant.call(call)
        return interruptible(call, self._cancel)

    @staticmethod
    def _of_name(name: str) -> "Group":
        """The group with that name. In another process, where it does not exist, makes a group with the same settings."""
        group = Group._named.get(name)
        if group is None:
            if "with a placement" in name:
                raise HpmoeError("the group with a placement that this was made for no longer exists: keep the group as long as the objects that use it")
            if "of processes" in name:
                raise HpmoeError("the group of processes that this was made for no longer exists: keep it as long as the objects that use it")
            group = Group(**json.loads(name.partition("#")[0]))
            Group._named[name] = Group._made[name] = group
        return group


class PlacedGroup(Group):
    """A group whose launches use a placement of experts. `Group.placed` makes it."""

    def __init__(self, group: Group, placement: Placement) -> None:
        """Shares everything except the handles with its group."""
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
        """Waits for launches. The group itself keeps its memory."""
        self._launches.wait()

    def __repr__(self) -> str:
        """A call that makes an equal group."""
        return f"{self._of!r}.placed({self.placement!r})"

    def _handle(self, interface: _c.Interface) -> int:
        """The handle of the group with its placement, in a library."""
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
    """Whether launches are checked: the group's setting, or else that of the environment."""
    if chosen is None:
        named = os.environ.get("HPMOE_CHECKS") or "off"
        if named not in ("on", "off"):
            raise HpmoeError(f"HPMOE_CHECKS is `{printable(named)}`, but should be `on` or `off`: set it so, or unset it for `off`")
        return named == "on"
    if not isinstance(chosen, bool):
        raise HpmoeError(f"checks is {chosen!r}, but must be True or False")
    return chosen


def _device(name: str) -> tuple[str, int]:
    """The kind of a device, and the number of an NPU, counted from 1; 0 if the name has no number."""
    kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind in _c.DEVICES and not colon:
        return kind, 0
    if kind == "npu" and number.isdigit():
        return kind, int(number) + 1
    raise HpmoeError(f"there is no device {name!r}: use one of 'cpu', 'npu', or an NPU by its number, such as 'npu:0'")
