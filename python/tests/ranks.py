"""Starts the processes of a group, one for each rank."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import hpmoe


def run_ranks(script: str, ranks: int = 4, seconds: float = 300, environment: dict[str, str] | None = None) -> list[str]:
    """Runs a script in each of `ranks` processes, like torchrun, and returns the output of each."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**(environment or os.environ), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    if environment is None:
        common["PYTHONPATH"] = os.pathsep.join([str(Path(hpmoe.__file__).parents[1]), str(Path(__file__).parent)])

    def start(rank: int) -> subprocess.Popen:
        environment = {**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-c", script], env=environment, **pipes)

    processes = [start(rank) for rank in range(ranks)]
    try:
        said = [process.communicate(timeout=seconds) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * ranks, said
    return [out for out, _ in said]
