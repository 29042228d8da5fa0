"""Finds placements that balance the loads of experts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

from . import _c
from ._errors import HpmoeError
from ._library import _loaded, load
from ._placement import Placement


def placement(
    loads: Any, *, ranks: int, spare: int = 0, current: Placement | Sequence[Placement] | None = None, moves: int = 4
) -> Placement | list[Placement]:
    """Finds a placement that balances the loads of experts, such as the number of tokens that each expert received.

    Args:
        loads: Numbers from 0, [experts]; or [layers, experts], which returns a list of placements. A list, a tensor or an array.
        ranks: Number of ranks in the group.
        spare: Places per rank beyond its share of the experts, for copies of experts.
        current: The placement in force, or a list with one per layer. At most `moves` of its places change.
        moves: Maximum number of places that change per layer, if `current` is given.

    Raises:
        HpmoeError: If no library of kernels is available (loaded, or part of the wheel), because a library computes the placement.
    """
    rows = loads.tolist() if hasattr(loads, "tolist") else list(loads)
    if not rows:
        raise HpmoeError("there are no loads: pass one for each expert")
    if isinstance(rows[0], (list, tuple)):
        olds = [None] * len(rows) if current is None else list(current) if not isinstance(current, Placement) else [current]
        if len(olds) != len(rows):
            raise HpmoeError(f"there are loads for {len(rows)} layers, but {len(olds)} placements in force: pass one placement for each layer")
        return [_placed(list(row), ranks, spare, old, moves) for row, old in zip(rows, olds)]
    if current is not None and not isinstance(current, Placement):
        raise HpmoeError("the loads are for one layer, but `current` is not an hpmoe.Placement: pass the layer's placement")
    return _placed(rows, ranks, spare, current, moves)


def _placed(loads: list[Any], ranks: int, spare: int, current: Placement | None, moves: int) -> Placement:
    for load in loads:
        if not isinstance(load, (int, float)) or not 0 <= load < 2**53:
            raise HpmoeError(f"{load!r} is not a load: pass numbers of at least 0")
    if current is not None and (current.ranks, current.experts) != (ranks, len(loads)):
        raise HpmoeError(
            f"the placement in force has {current.experts} experts on {current.ranks} ranks, but there are {len(loads)} loads and {ranks} ranks"
        )
    places = -(-len(loads) // max(ranks, 1)) + spare if current is None else current.places
    old = None if current is None else list(current.physical_to_logical)
    found = _interface().place(ranks, places, [round(load) for load in loads], old, moves)
    return Placement(len(loads), ranks, found)


def _interface() -> _c.Interface:
    """The interface of any available library, because all libraries compute the same placement."""
    for library in list(_loaded.values()):
        return library._interface
    for file in sorted((Path(__file__).parent / "kernels").glob("*.so")):
        return load(file)._interface
    raise HpmoeError("placing experts needs a library of kernels: make a layer by hpmoe.moe(..) or open one by hpmoe.load(..) first")
