"""Groups whose ranks are the processes of torch.distributed."""

from __future__ import annotations

import socket
from typing import Any, Callable

from ._errors import HpmoeError


def address_by(process_group: Any) -> tuple[int, int, Callable[[], str]]:
    """This process's rank, the number of ranks, and a function by which all of them learn where rank 0 will listen."""
    import torch.distributed as distributed

    rank, ranks = distributed.get_rank(process_group), distributed.get_world_size(process_group)
    if rank < 0:
        raise HpmoeError("this process is not in the process group: make the hpmoe.Group in its processes alone")

    def address() -> str:
        hosts: list[tuple[str, str | None]] = [("", None)] * ranks
        free = None
        if rank == 0:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                free = f"127.0.0.1:{probe.getsockname()[1]}"
        distributed.all_gather_object(hosts, (socket.gethostname(), free), group=process_group)
        names = sorted({name for name, _ in hosts})
        if len(names) > 1:
            raise HpmoeError(f"the processes run on {', '.join(names)}: a group of processes is on one machine")
        found = hosts[0][1]
        assert found is not None, "rank 0 has found a port"
        return found

    return rank, ranks, address
