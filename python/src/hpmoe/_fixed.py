"""Launches that are made once, to be launched again and again."""

from __future__ import annotations

import json
import weakref
from typing import Any

from ._errors import HpmoeError
from ._group import Group
from ._memory import view
from ._npu import current_stream, is_captured, stream_of, synchronize
from ._placement import Placement
from ._prepare import prepared, written
from ._reports import LaunchReport, keep
from ._signature import Signature


class FixedLaunch:
    """A launch whose tensors, number of tokens and tables stay, with other data in the tensors each time. `Taskflow.fix` makes it.

    >>> fixed = library["moe::forward"].fix(group, x=x, weights=w, gate=g, up=u, down=d)
    >>> x.copy_(other)
    >>> y, = fixed.launch()

    It keeps its tensors. On an NPU, :meth:`launch` puts the kernel on torch's current stream, and copies nothing and waits for nothing. While that stream is
    being captured in a graph, the kernel becomes part of the graph; the fixed launch then has to live as long as the graph.

    Attributes:
        tensors: All tensors by name, those that were allocated among them.
    """

    def __init__(self, flow: Signature, group: Group, ids: Any, tensors: dict[str, Any]) -> None:
        """As `Taskflow.fix`, which has the words."""
        self._flow, self._group, self._interface = flow, group, flow._interface
        handle = group._handle(flow._interface)
        try:
            made = prepared(flow, group, ids, tensors)
            if made.npu is not None:
                current_stream(made.npu)
            for copy in made.copied:
                raise HpmoeError("`{tensor}` can't be used where it lies ({reason}), but a fixed launch copies nothing: pass .clone() of it".format(**copy))
        except HpmoeError as error:
            if group.rank is not None:
                self._interface.refuse(handle, str(error))
            raise
        self.tensors: dict[str, Any] = made.given
        self._npu = made.npu
        self._places = self._found()
        self._parts = made.launch.parts()
        self._number = group._waiting(lambda: self._interface.fix(handle, self._parts))
        self._report: dict[str, Any] | None = None
        self._free = weakref.finalize(self, self._interface.fixed_free, self._number)

    def launch(self) -> tuple[Any, ...]:
        """Launches it once more: on an NPU, puts it on torch's current stream; on the CPU, runs it.

        If ranks are processes, all of them call this equally often, in the same order as their other launches.

        Returns:
            What the taskflow writes, in the order of its arguments: the same tensors each time.

        Raises:
            HpmoeError: If a tensor lies elsewhere than when it was fixed.
            LaunchError: If the launch went wrong on the CPU, or one before it did.
        """
        keep(None, self._group._last)
        moved = [name for name, place in self._found().items() if place != self._places[name]]
        if moved:
            said = f"`{moved[0]}` lies elsewhere or has another shape than when the launch was fixed: write new data into the same tensor, or call Taskflow.fix again"
            # On NPUs, no process waits for the others before it launches.
            if self._group.rank is not None and self._npu is None:
                self._interface.refuse(self._group._handle(self._interface), said)
            raise HpmoeError(said)
        if self._npu is None:
            self._group._waiting(lambda: self._interface.replay(self._number, self._parts, None, captured=False))
            keep(self.wait(), self._group._last)
        elif is_captured(self._npu):
            self._interface.replay(self._number, self._parts, stream_of(self._npu), captured=True)
        else:
            self._interface.replay(self._number, self._parts, stream_of(self._npu), captured=False)
            self._group._launches.add(self)
            keep(self.wait if self._group.rank is None else self.report, self._group._last)
        return written(self._flow, self.tensors)

    def place(self, placement: Placement) -> None:
        """Puts experts elsewhere in the launches to come, of a kernel that makes its route itself and was fixed on a group with a placement.

        Only the placement is copied, so that captured graphs find it, too. All launches before have been waited for (:meth:`wait`), those by graphs as well. If
        ranks are processes, all of them pass the same placement.

        Raises:
            HpmoeError: If the launch has no placement, one of its launches is pending, or the placement does not fit the kernel.
        """
        if not isinstance(placement, Placement):
            raise HpmoeError(f"the placement is a {type(placement).__name__}: pass a hpmoe.Placement")
        self._interface.fixed_place(self._number, placement._structure())

    def wait(self, replays: int = 0) -> dict[str, Any] | None:
        """Waits for all launches since the last wait.

        Args:
            replays: How often graphs have launched it since then, which only their owner knows. This waits for all that torch has put on the NPU first.

        Returns:
            The report of the last launch; None if there was none yet.

        Raises:
            HpmoeError: If the ids of a launch made no route: the last one says why, and those before it how many there were. They have written nothing.
            LaunchError: If a launch went wrong.
        """
        if replays:
            if self._npu is not None:
                synchronize(self._npu)
            self._interface.replayed(self._number, replays)
        last, self._report = self._report, None
        said = self._group._waiting(lambda: self._interface.wait(self._number))
        self._report = LaunchReport(json.loads(said)) if said else last
        return self._report

    def report(self) -> dict[str, Any] | None:
        """The report of the last launch that has been waited for."""
        return self._report

    def close(self) -> None:
        """Waits for its launches and frees its memory. Launches after this are errors."""
        self._free()

    def __enter__(self) -> "FixedLaunch":
        """The launch itself, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def __repr__(self) -> str:
        """Its taskflow."""
        return f"<hpmoe fixed launch of {self._flow.name}>"

    def _found(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Where each tensor lies now, and its shape."""
        views = ((name, view(tensor, name)) for name, tensor in self.tensors.items())
        return {name: (found.address, found.shape) for name, found in views}
