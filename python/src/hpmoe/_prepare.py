"""Prepares a launch: checks its tensors and splits them into the ranks' parts."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _c
from ._errors import HpmoeError
from ._group import Group
from ._memory import ALIGNMENT, View, count, empty_like, view, zeros_like
from ._npu import device_of
from ._signature import Argument, Signature


class Prepared(NamedTuple):
    """A launch with checked tensors."""

    #: All tensors by name.
    given: dict[str, Any]
    #: The ids on the host, whose memory the launch reads.
    ids: Any
    launch: _c.Launch
    #: The NPU that the tensors lie on; None if they lie on the CPU.
    npu: Any
    #: Copies of tensors on NPUs whose addresses are not aligned, by name.
    aligned: dict[str, Any]
    #: The report's entries for these copies.
    copied: list[dict[str, Any]]


def prepared(flow: Signature, group: Group, ids: Any, tensors: dict[str, Any]) -> "Prepared":
    """Checks all tensors, and returns them by name together with the ranks' parts of ids and tensors."""
    names = [argument.name for argument in flow.arguments]
    if flow.makes_route and "ids" in names:
        tensors, ids = {"ids": ids, **tensors}, None
    for name in tensors:
        if name not in names:
            raise HpmoeError(f"{flow.name} has no argument `{name}`: it has {', '.join(names)}")
    npu = _npu(flow, group, tensors)
    if device_of(ids) is not None:
        # The host makes the route from the ids. This copy waits for the stream, and so for all launches on it.
        ids = ids.cpu()
    of_ids = _ids(flow, ids)
    like = ids if npu is None and ids is not None else next(value for value in tensors.values() if value is not None and device_of(value) == npu)
    tokens = _tokens(flow, tensors) if of_ids is None else of_ids.shape[0]
    shapes = flow.shapes(group, tokens)
    given: dict[str, Any] = {}
    for argument in flow.arguments:
        if tensors.get(argument.name) is not None:
            given[argument.name] = tensors[argument.name]
        elif argument.writable:
            new_like = zeros_like if flow.adds_to(argument) else empty_like
            given[argument.name] = new_like(like, shapes[argument.name], argument.element)
        else:
            raise HpmoeError(f"{flow.name} reads `{argument.name}`, which is missing: pass {argument.name}=..")
    cuts = _cuts(tokens, group.here)
    parts: list[_c.Tensor] = []
    aligned: dict[str, Any] = {}
    copied: list[dict[str, Any]] = []
    for argument in flow.arguments:
        name = argument.name
        looked_at = view(given[name], name)
        _check(flow, argument, looked_at, shapes[name])
        if npu is not None and looked_at.address % ALIGNMENT and count(looked_at.shape):
            aligned[name] = given[name].clone()
            reason = f"it starts at {looked_at.address:#x}, which is not a multiple of {ALIGNMENT}"
            copied.append({"tensor": name, "rank": group.rank or 0, "bytes": aligned[name].nbytes, "reason": reason})
            looked_at = view(aligned[name], name)
        parts += _parts(flow, argument, looked_at, cuts, group.here)
    id_parts = None if of_ids is None else _id_parts(flow, of_ids, cuts)
    return Prepared(given, ids, _c.Launch(flow.name, group.here, id_parts, parts), npu, aligned, copied)


def written(flow: Signature, given: dict[str, Any]) -> tuple[Any, ...]:
    """The tensors that a taskflow writes, selected from all tensors by name."""
    return tuple(given[argument.name] for argument in flow.arguments if argument.writable)


def _ids(flow: Signature, ids: Any) -> View | None:
    """The memory of the ids, on the host."""
    if flow.makes_route:
        if ids is not None:
            raise HpmoeError(f"{flow.name} makes its route itself, from the ids among its arguments: leave out ids")
        return None
    if ids is None:
        raise HpmoeError(f"{flow.name} takes a route, which the host makes from the router's ids: pass ids")
    of_ids = view(ids, "ids", "int32 or int64")
    if len(of_ids.shape) != 2 or of_ids.shape[1] != flow.top_k:
        raise HpmoeError(f"`ids` has the shape {list(of_ids.shape)}, but {flow.name} takes [tokens, {flow.top_k}]")
    if of_ids.element not in ("i32", "i64"):
        raise HpmoeError(f"`ids` has elements of {of_ids.element}: pass int32 or int64")
    return of_ids


def _id_parts(flow: Signature, ids: View, cuts: list[int]) -> list[_c.Tensor]:
    row, element = _c.BYTES[ids.element] * flow.top_k, _c.ELEMENTS[ids.element]
    return [_c.Tensor(ids.address + row * start, end - start, flow.top_k, element) for start, end in zip(cuts, cuts[1:])]


def _tokens(flow: Signature, tensors: dict[str, Any]) -> int:
    """The number of tokens of a launch without ids: the number of rows of a tensor with one row per token."""
    for argument in flow.arguments:
        if argument.rows == "token" and tensors.get(argument.name) is not None:
            return count(view(tensors[argument.name], argument.name).shape) // argument.columns
    raise HpmoeError(f"no tensor with a row for each token was passed to {flow.name}: pass one that it reads")


def _npu(flow: Signature, group: Group, tensors: dict[str, Any]) -> Any:
    """The NPU of the tensors; None if they lie on the CPU."""
    on_npus = {name: device for name, value in tensors.items() if (device := device_of(value)) is not None}
    if not on_npus:
        return None
    first, npu = next(iter(on_npus.items()))
    for name, value in tensors.items():
        if value is not None and on_npus.get(name) != npu:
            where = getattr(value, "device", f"the CPU ({type(value).__name__})")
            raise HpmoeError(f"`{name}` is on {where}, but `{first}` on {npu}: move it there with .to({str(npu)!r})")
    if group.device != npu.type:
        raise HpmoeError(f"`{first}` is on {npu}, but the group runs on the CPU: make it with hpmoe.Group(device={str(npu)!r})")
    if group.here > 1:
        raise HpmoeError(
            f"`{first}` is on {npu}, but the group has {group.here} ranks in this process, each with an NPU of its own: use a process for each "
            "rank (hpmoe.Group(process_group=..)), or tensors of the CPU, which are copied"
        )
    return npu


def _check(flow: Signature, argument: Argument, found: View, shape: tuple[int, ...]) -> None:
    if found.element != argument.element:
        raise HpmoeError(f"`{argument.name}` has elements of {found.element}, but {flow.name} takes {argument.element}")
    replicated = argument.rows == "rank" and not argument.writable and found.shape == shape[1:]
    if found.shape != shape and not replicated and (argument.rows not in ("token", "slot") or count(found.shape) != count(shape)):
        raise HpmoeError(f"`{argument.name}` has the shape {list(found.shape)}, but {flow.name} takes {list(shape)}")
    if argument.writable and not found.writable:
        raise HpmoeError(f"{flow.name} writes `{argument.name}`, which is read-only: pass one that can be written")


def _parts(flow: Signature, argument: Argument, found: View, tokens: list[int], ranks: int) -> list[_c.Tensor]:
    """The part of each rank."""
    row = argument.columns * _c.BYTES[argument.element]
    if argument.rows == "token":
        cuts = tokens
    elif argument.rows == "slot":
        cuts = [token * flow.top_k for token in tokens]
    elif argument.rows == "rank" and len(found.shape) == 2:
        part = _c.Tensor(found.address, found.shape[0], argument.columns, _c.ELEMENTS[argument.element], _place(found))
        return [part] * ranks
    else:
        rows = count(found.shape) // argument.columns
        cuts = [rows // ranks * rank for rank in range(ranks + 1)]
    element = _c.ELEMENTS[argument.element]
    return [
        _c.Tensor(found.address + row * start, end - start, argument.columns, element, _place(found))
        for start, end in zip(cuts, cuts[1:])
    ]


def _place(found: View) -> int:
    """The device of the memory, as the C interface encodes it."""
    return _c.DEVICES["cpu" if found.npu is None else "npu"]


def _cuts(tokens: int, ranks: int) -> list[int]:
    """The first token of each rank, followed by the total number."""
    each, more = divmod(tokens, ranks)
    return [rank * each + min(rank, more) for rank in range(ranks + 1)]
