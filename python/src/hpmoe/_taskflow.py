"""Taskflows, and their launches."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ._errors import HpmoeError
from ._fixed import FixedLaunch
from ._group import Group
from ._npu import current_stream, device_of
from ._pending import MOST_PENDING, PendingLaunch
from ._prepare import prepared, written
from ._reports import keep
from ._signature import Signature

if TYPE_CHECKING:
    from ._library import Library


class Taskflow(Signature):
    """A taskflow of a library: call it to launch it.

    Attributes:
        name: ``"kernel::taskflow"``.
        fingerprint: Identifies source, constants, schedule and compiler.
        constants: The constants of the kernel, as it was built.
        arguments: Its arguments, in order.
        ranks: The numbers of ranks that it can run on.
        experts: Experts of the whole group.
        spare: Places of each rank beyond its share of the experts.
        top_k: Experts of each token.
        max_tokens: Most tokens of a rank.
        chunks: Chunks that the tokens of a rank are cut into.
        makes_route: Whether the kernel makes its route itself; its launches have no ids.
        for_npus: Whether it was built for NPUs, too.
        capturable: Whether a graph of CANN that captures a fixed launch (:meth:`fix`) routes the tokens of each of its launches: the kernel makes its
            route itself. With a route of the host, all launches of the graph have that one.
    """

    def __init__(self, library: "Library", kernel: dict[str, Any], flow: dict[str, Any]) -> None:
        """From the description of the library."""
        super().__init__(library._interface, kernel, flow)
        self.library = library

    def __reduce__(self) -> tuple[object, ...]:
        """Its library and its name."""
        return operator.getitem, (self.library, self.name)

    def __repr__(self) -> str:
        """Name and arguments."""
        arguments = ", ".join(f"{'&mut ' if a.writable else ''}{a.name}" for a in self.arguments)
        return f"<hpmoe taskflow {self.name}({arguments})>"

    def __call__(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow on all ranks of a group.

        Tensors are those of torch, arrays of numpy or buffers, without gaps. They are used where they lie. Each holds
        the parts of all ranks, rank after rank: tokens are cut into equal parts (the first ranks have one more where they can't be
        equal), experts belong to the ranks in order. If ranks are processes, they are the parts of this rank alone. Numpy has no bf16;
        ``uint16`` stands for it.

        With tensors on an NPU, whose group runs there with one rank in this process, the launch is put on the current stream of torch, and
        this returns before it has ended. Ids on an NPU are copied to the host first, which waits for that stream; others are not. Tensors of
        the CPU are copied to the NPUs of a group and back, and this waits for the launch.

        Args:
            group: The ranks.
            ids: The router's expert ids, [tokens, top_k], of 32 or 64 bits; -1 names none. A kernel that makes its route itself takes
                those among its arguments alone.
            **tensors: All arguments that the taskflow reads, by name. What it writes can be passed, or is allocated.

        Returns:
            What the taskflow wrote, in the order of its arguments.

        Raises:
            HpmoeError: If something does not fit; nothing was started.
            LaunchError: If the launch went wrong, or on an NPU one before it; the group can no longer be used.
        """
        keep(None, group._last)
        handle = group._handle(self._interface)
        interface = self._interface
        try:
            made = prepared(self, group, ids, tensors)
            stream = None if made.npu is None else current_stream(made.npu)
        except HpmoeError as error:
            if group.rank is not None:
                interface.refuse(handle, str(error))
            raise
        if stream is None:
            keep(group._waiting(lambda: interface.launch(handle, made.launch)), group._last)
            return written(self, made.given)
        # What was launched before is over if the host has waited for the stream. Processes wait together.
        waited = (device_of(ids) is not None and not self.makes_route) or group.rank is not None
        group._launches.wait(0 if waited else MOST_PENDING)
        number = group._waiting(lambda: interface.enqueue(handle, made.launch, stream))
        pending = PendingLaunch(lambda: group._waiting(lambda: interface.wait(number)), made.copied)
        group._launches.add(pending)
        keep(pending.wait if group.rank is None else pending.report, group._last)
        for name, aligned in made.aligned.items():
            if name in {argument.name for argument in self.arguments if argument.writable}:
                made.given[name].copy_(aligned)
        return written(self, made.given)

    def fix(self, group: Group, ids: Any = None, **tensors: Any) -> FixedLaunch:
        """Makes a launch with these tensors, to be launched again and again with other data in them, also from a graph that is captured. Nothing is launched yet.

        Args are those of a launch. The kernel takes from the host, once and for all, where the tensors lie and how many tokens there are; and the
        route of `ids`, unless it makes its route itself. Fewer tokens are filled up with some whose ids are all -1.

        Raises:
            HpmoeError: If something does not fit, or would have to be copied: tensors of a group on NPUs lie on the NPU, and all start at a multiple of
                64 bytes.
        """
        return FixedLaunch(self, group, ids, tensors)

    def reference(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow's reference, an ordinary function that calls task after task: the bits of a launch, without its speed.

        Args and results are those of a launch on the CPU. The ranks of the group are threads of this process, and the kernel's module is part
        of the library's crate.

        Raises:
            HpmoeError: If something does not fit, or the library has no reference.
        """
        handle = group._handle(self._interface)
        made = prepared(self, group, ids, tensors)
        if made.npu is not None:
            raise HpmoeError(f"there are tensors on {made.npu}, but a reference runs on the CPU: move them there with .cpu()")
        self._interface.reference(handle, made.launch)
        return written(self, made.given)
