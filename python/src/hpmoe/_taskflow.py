"""Taskflows and their launches."""

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
    """A taskflow of a library. Calling it launches it.

    Attributes:
        name: ``"kernel::taskflow"``.
        fingerprint: Hash that identifies source, constants, schedule and compiler.
        constants: The constants that the kernel was built with.
        arguments: The arguments, in order.
        ranks: The numbers of ranks that the taskflow can run on.
        experts: Experts of the whole group.
        spare: Places per rank beyond its share of the experts.
        top_k: Experts per token.
        max_tokens: Maximum number of tokens per rank.
        chunks: Number of chunks that a rank's tokens are divided into; 1 if launches choose it.
        chunks_at_most: Largest number of chunks if launches choose it; None if it is a constant.
        makes_route: Whether the kernel makes its own route. Launches then take no ids.
        for_npus: Whether the taskflow was built for NPUs, too.
        capturable: Whether every launch of a captured CANN graph routes its own tokens, which requires that the kernel makes its own route. Otherwise
            all launches of the graph use the route of the fixed launch (:meth:`fix`).
    """

    def __init__(self, library: "Library", kernel: dict[str, Any], flow: dict[str, Any]) -> None:
        """Parses the library's description."""
        super().__init__(library._interface, kernel, flow)
        self.library = library

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the library and the name."""
        return operator.getitem, (self.library, self.name)

    def __repr__(self) -> str:
        """The name and the arguments."""
        arguments = ", ".join(f"{'&mut ' if a.writable else ''}{a.name}" for a in self.arguments)
        return f"<hpmoe taskflow {self.name}({arguments})>"

    def __call__(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow on all ranks of a group.

        Tensors are torch tensors, numpy arrays or buffers, all contiguous. They are used in place. Each holds the parts of all ranks, rank after rank.
        Tokens are split evenly (if there is a remainder, the first ranks have one more), and the ranks own the experts in order. If ranks are processes, each
        passes only its own part. Numpy has no bf16; use ``uint16`` instead.

        With tensors on an NPU, the group must run there with one rank in this process. The launch is put on torch's current stream, and the call returns
        before it has ended. Ids on an NPU are copied to the host first if the host makes the route, which waits for that stream. If a group runs on NPUs
        and the tensors lie on the CPU, they are copied to the NPUs and back, and the call waits for the launch.

        Args:
            group: The ranks.
            ids: The router's expert ids, [tokens, top_k], of 32 or 64 bits; -1 names none. Leave them out if the kernel makes its own route; they are
                then among the tensors.
            **tensors: All arguments that the taskflow reads, by name. Arguments that it writes can be passed, or are allocated. If chunks add to
                gradients of experts, an allocated gradient starts as zeros.

        Returns:
            The tensors that the taskflow wrote, in the order of its arguments.

        Raises:
            HpmoeError: If an argument is invalid; nothing was started.
            LaunchError: If the launch failed, or an earlier one on the NPU did. The group can no longer be used.
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
        # Earlier launches have ended if the host has waited for the stream. Ranks that are processes wait together.
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
        """Makes a launch with these tensors that can be repeated with other data in them, also from a captured graph. Nothing is launched yet.

        Args are those of a launch. All launches use the same addresses of tensors and the same number of tokens, and also the route of `ids`, unless the
        kernel makes its own route. To launch with fewer tokens, set all ids of the remaining tokens to -1.

        Raises:
            HpmoeError: If an argument is invalid or would have to be copied. All tensors must start at a multiple of 64 bytes, and for a group on NPUs they
                must lie on the NPU.
        """
        return FixedLaunch(self, group, ids, tensors)

    def reference(self, group: Group, ids: Any = None, **tensors: Any) -> tuple[Any, ...]:
        """Runs the taskflow's reference, an ordinary function that calls one task after another. The results have the bits of a launch, but take longer.

        Args and results are those of a launch on the CPU. The ranks of the group must be threads of this process, and the kernel's module must be in
        the library's own crate.

        Raises:
            HpmoeError: If an argument is invalid, or the library has no reference.
        """
        handle = group._handle(self._interface)
        made = prepared(self, group, ids, tensors)
        if made.npu is not None:
            raise HpmoeError(f"there are tensors on {made.npu}, but a reference runs on the CPU: move them there with .cpu()")
        self._interface.reference(handle, made.launch)
        return written(self, made.given)
