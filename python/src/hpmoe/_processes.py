"""How the processes of a group meet: at an address, or through torch.distributed."""

from __future__ import annotations

import itertools
import math
import secrets
import socket
from typing import TYPE_CHECKING, Any, Callable

from . import _c
from ._errors import HpmoeError
from ._packages import require

if TYPE_CHECKING:
    from ._c import Interface, Options

#: Joins the group of a library, and returns its number there.
Join = Callable[["Interface", "Options"], int]


def joining(job: str | None, secret: bytes | str | None, time_limit: float | None, let_anyone_join: bool) -> _c.Joining:
    """The settings for joining: who may join, and the time limit."""
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise HpmoeError(f"join_time_limit is {time_limit!r}, but must be a number of seconds above 0")
    said = secret.encode() if isinstance(secret, str) else secret
    milliseconds = 0 if time_limit is None else min(max(1, round(time_limit * 1000)), 2**63)
    name = None if job is None else _text("job", job)
    return _c.Joining(name, said, 0 if said is None else len(said), milliseconds, int(let_anyone_join))


def _text(name: str, value: str) -> bytes:
    """A text for the library, which would read it up to a NUL."""
    try:
        text = value.encode()
    except UnicodeEncodeError:
        text = b"\0"
    if b"\0" in text:
        raise HpmoeError(f"{name} is {value!r}, but must be text in UTF-8 without a NUL: pass another one")
    return text


def join_at(rank: int, ranks: int, address: str, settings: _c.Joining) -> Join:
    """Joins at an address. Further libraries use the following ports, or files whose names end with a number."""
    if not 0 <= rank < ranks:
        raise HpmoeError(f"a group of {ranks} ranks has no rank {rank}: number the processes from 0 to {ranks - 1}")
    _text("address", address)
    host, colon, port = address.rpartition(":")
    if address.startswith("file:"):
        addresses = (f"{address}.{number}" if number else address for number in itertools.count())
    elif colon and port.isascii() and port.isdigit():
        addresses = (f"{host}:{number}" for number in itertools.count(int(port)))
    else:
        raise HpmoeError(f"{address!r} is not an address: write host:port, such as 127.0.0.1:28471, or file:NAME for a file that rank 0 writes its address to")
    return lambda interface, options: interface.group_join(rank, ranks, next(addresses), settings, options)


def join_by(process_group: Any, time_limit: float | None) -> tuple[int, int, Join]:
    """This process's rank, the number of ranks, and a function that joins. Rank 0 listens at a free port and sends its address and a fresh secret to the
    other ranks through the process group.
    """
    require("hpmoe.Group(process_group=..)", "torch")
    import torch.distributed as distributed

    rank, ranks = distributed.get_rank(process_group), distributed.get_world_size(process_group)
    if rank < 0:
        raise HpmoeError("this process is not in the process group: make the hpmoe.Group only in processes of the process group")

    def join(interface: "Interface", options: "Options") -> int:
        listener, address, secret, problem = 0, "", secrets.token_hex(32), ""
        if rank == 0:
            try:
                listener, port = interface.listen("127.0.0.1:0", joining("", None, None, False))
                address = f"127.0.0.1:{port}"
            except HpmoeError as error:
                problem = str(error)
        told: list[tuple[str, str, str, str]] = [("", "", "", "")] * ranks
        try:
            # Of the addresses and secrets, only rank 0's are used.
            mine = (socket.gethostname(), address, secret if rank == 0 else "", problem)
            distributed.all_gather_object(told, mine, group=process_group)
            names = sorted({name for name, *_ in told})
            if len(names) > 1:
                raise HpmoeError(f"the processes run on {', '.join(names)}: start all processes of a group on one machine")
            _, address, secret, problem = told[0]
            if problem:
                raise HpmoeError(problem)
            settings = joining("process group", secret, time_limit, False)
            if rank != 0:
                return interface.group_join(rank, ranks, address, settings, options)
            taken, listener = listener, 0
            return interface.group_host(taken, ranks, settings, options)
        finally:
            if listener:
                interface.listener_free(listener)

    return rank, ranks, join
