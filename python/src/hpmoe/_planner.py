"""Placements for the loads of experts."""

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
    """Placements for the loads of experts, such as the numbers of tokens that went to each of them.

    Args:
        loads: [experts], or [layers, experts] for a list of placements: lists, a tensor or an array, of numbers from 0 on.
        ranks: Ranks of the group.
        spare: Places of each rank beyond its share of the experts, which copies take.
        current: The placement in force, or those of all layers: of each, at most `moves` places change.
        moves: The most places of a layer that change, with `current`.

    Raises:
        HpmoeError: If there is nothing that can place experts: a library of kernels, one that was loaded or one of a wheel.
    """
    rows = loads.tolist() if hasattr(loads, "tolist") else list(loads)
    if not rows:
        raise HpmoeError("there are no loads: pass one for each expert")
    if isinstance(rows[0], (list, tuple)):
        olds = [None] * len(rows) if current is None else list(current) if not isinstance(current, Placement) else [current]
        if len(olds) != len(rows):
            raise HpmoeError(f"there are loads of {len(rows)} layers, and {len(olds)} placements in force: pass one for each layer")
        return [_placed(list(row), ranks, spare, old, moves) for row, old in zip(rows, olds)]
    if current is not None and not isinstance(current, Placement):
        raise HpmoeError("loads of one layer have one placement in force: pass a hpmoe.Placement")
    return _placed(rows, ranks, spare, current, moves)


def _placed(loads: list[Any], ranks: int, spare: int, current: Placement | None, moves: int) -> Placement:
    for load in loads:
        if not isinstance(load, (int, float)) or not 0 <= load < 2**53:
            raise HpmoeError(f"{load!r} is no load: a load is a number from 0 on")
    if current is not None and (current.ranks, current.experts) != (ranks, len(loads)):
        raise HpmoeError(
            f"the placement in force is of {current.experts} experts on {current.ranks} ranks, but there are {len(loads)} loads and {ranks} ranks"
        )
    places = -(-len(loads) // max(ranks, 1)) + spare if current is None else current.places
    old = None if current is None else list(current.physical_to_logical)
    found = _interface().place(ranks, places, [round(load) for load in loads], old, moves)
    return Placement(len(loads), ranks, found)


def _interface() -> _c.Interface:
    """Any library: all of them place experts alike."""
    for library in list(_loaded.values()):
        return library._interface
    for file in sorted((Path(__file__).parent / "kernels").glob("*.so")):
        return load(file)._interface
    raise HpmoeError("placing experts needs a library of kernels: make a layer by hpmoe.moe(..) or open one by hpmoe.load(..) first")
