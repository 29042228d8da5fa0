"""Placements: which logical expert each physical expert holds."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Sequence

from . import _c
from ._errors import HpmoeError
from ._packages import require

if TYPE_CHECKING:
    from torch import Tensor


class Placement:
    """The logical expert that each physical expert of a group holds.

    Routers number logical experts. Each rank has the same number of physical experts; each holds the weights of one logical expert or is empty. A
    logical expert may have several physical experts on different ranks, which share its tokens. A layer's results don't depend on the placement.

    Args:
        experts: Number of logical experts.
        ranks: Number of ranks in the group.
        physical_to_logical: The logical expert of each physical one, rank after rank; -1 for an empty place.
        shares: For each physical expert, its share of the tokens of its logical expert, as a whole number relative to the sum over all physical
            experts of that logical expert; by default equal shares.

    Raises:
        HpmoeError: If a logical expert has no place, or a rank holds one twice. Launches and :meth:`Group.placed` check the rest.
    """

    def __init__(self, experts: int, ranks: int, physical_to_logical: Sequence[int], shares: Sequence[int] | None = None) -> None:
        """Copies the lists."""
        self.experts, self.ranks = int(experts), int(ranks)
        self.physical_to_logical = tuple(int(expert) for expert in physical_to_logical)
        self.shares = None if shares is None else tuple(int(share) for share in shares)
        if self.experts < 1 or self.ranks < 1:
            raise HpmoeError(f"{experts} experts can't be placed on {ranks} ranks: give at least one expert and one rank")
        places, rest = divmod(len(self.physical_to_logical), self.ranks)
        if rest or not places:
            raise HpmoeError(f"{len(self.physical_to_logical)} places can't be divided evenly among {ranks} ranks: give each rank the same number of places, including empty ones")
        #: Physical experts of each rank.
        self.places = places
        held = [-1] * self.experts
        for physical, expert in enumerate(self.physical_to_logical):
            if expert == -1:
                continue
            if not 0 <= expert < self.experts:
                raise HpmoeError(f"place {physical} holds expert {expert}, but experts are numbered from 0 to {self.experts - 1}, and -1 is an empty place")
            if held[expert] >= 0 and held[expert] // places == physical // places:
                raise HpmoeError(f"rank {physical // places} has expert {expert} in place {held[expert]} and again in place {physical}: put copies of an expert on different ranks")
            held[expert] = physical
        if -1 in held:
            raise HpmoeError(f"expert {held.index(-1)} has no place: every expert needs one, even if no token goes to it")
        if self.shares is not None and len(self.shares) != len(self.physical_to_logical):
            raise HpmoeError(f"{len(self.shares)} shares were given for {len(self.physical_to_logical)} places: give one for each")
        if self.shares is not None and not all(0 <= share < 2**32 for share in self.shares):
            raise HpmoeError(f"shares must be whole numbers from 0 to {2**32 - 1}")

    @classmethod
    def even(cls, experts: int, ranks: int, spare: int = 0) -> "Placement":
        """Consecutive experts on each rank, with one more on the first ranks if the division leaves a remainder. The other places are empty."""
        each, more = divmod(experts, ranks)
        places: list[int] = []
        first = 0
        for rank in range(ranks):
            held = list(range(first, first + each + (rank < more)))
            first += len(held)
            places += held + [-1] * (each + (more > 0) + spare - len(held))
        return cls(experts, ranks, places)

    def place(self, tensor: "Tensor", rank: int | None = None) -> "Tensor":
        """A tensor with one part per physical expert, copied from a tensor with one part per logical expert. Empty places get zeros.

        The copy is differentiable: the gradient of a logical expert is the sum over its physical experts.

        Args:
            tensor: [experts, ..].
            rank: The rank whose places to return, if ranks are processes; by default all ranks.

        Returns:
            [places of all ranks, ..], or [places of the rank, ..].
        """
        require("hpmoe.Placement.place", "torch")
        import torch

        if not isinstance(tensor, torch.Tensor) or tensor.dim() == 0 or tensor.shape[0] != self.experts:
            found = list(tensor.shape) if isinstance(tensor, torch.Tensor) else type(tensor).__name__
            raise HpmoeError(f"a tensor of {found} can't be placed: pass one of PyTorch with a part for each of {self.experts} experts")
        if rank is not None and not 0 <= rank < self.ranks:
            raise HpmoeError(f"there is no rank {rank}: ranks are numbered from 0 to {self.ranks - 1}")
        wanted = self.physical_to_logical if rank is None else self.physical_to_logical[rank * self.places : (rank + 1) * self.places]
        index = torch.tensor([self.experts if expert < 0 else expert for expert in wanted], device=tensor.device)
        return torch.cat([tensor, tensor.new_zeros(1, *tensor.shape[1:])]).index_select(0, index)

    def tensors(self) -> tuple["Tensor", "Tensor", "Tensor"]:
        """The three tensors of vLLM's load balancer, for one layer: ``physical_to_logical_map`` [physical], ``logical_to_physical_map`` [logical, maximum
        number of copies], padded with -1, and ``logical_replica_count`` [logical].
        """
        require("hpmoe.Placement.tensors", "torch")
        import torch

        copies: list[list[int]] = [[] for _ in range(self.experts)]
        for physical, expert in enumerate(self.physical_to_logical):
            if expert >= 0:
                copies[expert].append(physical)
        most = max(map(len, copies))
        table = [of_expert + [-1] * (most - len(of_expert)) for of_expert in copies]
        return torch.tensor(self.physical_to_logical), torch.tensor(table), torch.tensor([len(of_expert) for of_expert in copies])

    def __eq__(self, other: object) -> bool:
        """Whether both placements have the same experts in all places, and the same shares."""
        return isinstance(other, Placement) and self._key() == other._key()

    def __hash__(self) -> int:
        """A hash of the places and shares."""
        return hash(self._key())

    def __repr__(self) -> str:
        """A call that makes an equal placement."""
        shares = "" if self.shares is None else f", {list(self.shares)}"
        return f"Placement({self.experts}, {self.ranks}, {list(self.physical_to_logical)}{shares})"

    def _key(self) -> tuple[Any, ...]:
        return self.experts, self.ranks, self.physical_to_logical, self.shares

    def _handle(self, interface: _c.Interface, group: int) -> int:
        """The handle of a library's group with this placement."""
        return interface.group_placed(group, self._structure())

    def _structure(self) -> _c.Placement:
        """The placement as the C structure of a library."""
        places = (ctypes.c_int32 * len(self.physical_to_logical))(*self.physical_to_logical)
        shares = None if self.shares is None else (ctypes.c_uint32 * len(self.shares))(*self.shares)
        return _c.Placement(self.experts, self.places, places, shares)
