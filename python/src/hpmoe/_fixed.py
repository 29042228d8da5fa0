"""Fixed launches, which are prepared once and launched many times."""

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
    """A launch that can be repeated with other data in the same tensors. `Taskflow.fix` makes it.

    >>> fixed = library["moe::forward"].fix(group, x=x, weights=w, gate=g, up=u, down=d)
    >>> x.copy_(other)
    >>> y, = fixed.launch()

    The tensors, the number of tokens and the kernel's tables stay the same for all launches, and the object keeps the tensors alive.
    On an NPU, :meth:`launch` puts the kernel on torch's current stream, and copies nothing and waits for nothing. If that stream is being captured
    in a graph, the kernel becomes part of the graph, and the fixed launch must live as long as the graph.

    Attributes:
        tensors: All tensors by name, including those that were allocated.
    """

    def __init__(self, flow: Signature, group: Group, ids: Any, tensors: dict[str, Any]) -> None:
        """See `Taskflow.fix`."""
        self._flow, self._group, self._interface = flow, group, flow._interface
        handle = group._handle(flow._interface)
        try:
            made = prepared(flow, group, ids, tensors)
            if made.npu is not None:
                current_stream(made.npu)
            for copy in made.copied:
                raise HpmoeError("`{tensor}` can't be used in place ({reason}), but a fixed launch copies nothing: pass a .clone() of it".format(**copy))
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
        """Launches once more. On an NPU, the launch is put on torch's current stream; on the CPU, it runs to its end.

        If ranks are processes, all of them call this the same number of times, in the same order relative to their other launches.

        Returns:
            The tensors that the taskflow writes, in the order of its arguments. They are the same tensors each time.

        Raises:
            HpmoeError: If a tensor has moved since it was fixed.
            LaunchError: If this launch failed on the CPU, or an earlier one failed.
        """
        keep(None, self._group._last)
        moved = [name for name, place in self._found().items() if place != self._places[name]]
        if moved:
            said = f"`{moved[0]}` has a different address or shape than when the launch was fixed: write new data into the same tensor, or call Taskflow.fix again"
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
        """Changes the placement for later launches. The kernel must make its own route, and must have been fixed on a group with a placement.

        Only the placement is copied, so captured graphs use it, too. Wait for all earlier launches first (:meth:`wait`), including those by graphs. If
        ranks are processes, all of them pass the same placement.

        Raises:
            HpmoeError: If the launch has no placement, one of its launches is pending, or the placement does not fit the kernel.
        """
        if not isinstance(placement, Placement):
            raise HpmoeError(f"the placement is of type {type(placement).__name__}: pass a hpmoe.Placement")
        self._interface.fixed_place(self._number, placement._structure())

    def wait(self, replays: int = 0) -> dict[str, Any] | None:
        """Waits for all launches since the last wait.

        Args:
            replays: Number of launches by captured graphs since the last wait; only the owner of the graphs knows it. If it is not 0, this first waits
                for all work that torch has put on the NPU.

        Returns:
            The report of the last launch; None if there was none yet.

        Raises:
            HpmoeError: If the ids of a launch were invalid. The message gives the reason for the last such launch, and the number of earlier ones. These
                launches have written nothing.
            LaunchError: If a launch failed.
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
        """The report of the last launch that was waited for."""
        return self._report

    def close(self) -> None:
        """Waits for its launches and frees its memory. Later launches raise errors."""
        self._free()

    def __enter__(self) -> "FixedLaunch":
        """Returns the fixed launch; the end of the block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def __repr__(self) -> str:
        """Its taskflow."""
        return f"<hpmoe fixed launch of {self._flow.name}>"

    def _found(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """The address and the shape of each tensor."""
        views = ((name, view(tensor, name)) for name, tensor in self.tensors.items())
        return {name: (found.address, found.shape) for name, found in views}
