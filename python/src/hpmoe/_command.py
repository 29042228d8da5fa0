"""Runs the command ``hpmoe``, a program that is part of the wheel."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any

from ._errors import HpmoeError, MissingToolError
from ._version import __version__

#: Exit status of ``hpmoe check`` for a kernel with faults, which its output lists.
FAULTY = 1


def run(arguments: list[str], *, may_be_faulty: bool = False) -> Any:
    """Runs the command, and returns the JSON that it prints.

    Raises:
        HpmoeError: If the command reports an error; the message is the command's.
        MissingToolError: If the command is not installed.
    """
    done = subprocess.run([str(command()), *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.strip()
    if done.returncode and not (may_be_faulty and done.returncode == FAULTY and done.stdout):
        raise HpmoeError(_in_python(said.removeprefix("error: ")) or f"the command hpmoe ended with status {done.returncode}")
    for line in said.splitlines():
        if line.startswith("warning: "):
            warnings.warn(_in_python(line.removeprefix("warning: ")), stacklevel=4)
    return json.loads(done.stdout)


def _in_python(message: str) -> str:
    """The message with arguments of Python functions instead of command-line options."""
    return re.sub(r"--set (?=\w+=)|--([a-z]+)\b", lambda found: f"{found[1]}=.." if found[1] else "", message)


def command() -> Path:
    """The path of the command: from this Python environment, or else from PATH.

    Raises:
        MissingToolError: If it is not installed, or its version differs from this package's.
    """
    found = next(filter(_is_program, _places()), None)
    if found is None:
        raise MissingToolError(
            "there is no command hpmoe, which simulates and checks kernels: the wheel brings it along; in a checkout, install it with "
            "`cargo install --path tools/cli`"
        )
    version = _version(found, found.stat().st_mtime_ns)
    if version != __version__:
        raise MissingToolError(
            f"the command {found} has version {version}, but this package has {__version__}: install the wheel again, or in a checkout "
            "the command with `cargo install --path tools/cli`"
        )
    return found


def _places() -> list[Path]:
    """Places where the command may be installed, most likely first."""
    name = "hpmoe.exe" if sys.platform == "win32" else "hpmoe"
    user = sysconfig.get_preferred_scheme("user")
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent), sysconfig.get_path("scripts", scheme=user)]
    on_path = shutil.which(name)
    return [Path(folder) / name for folder in folders] + ([Path(on_path)] if on_path else [])


def _is_program(path: Path) -> bool:
    """Whether a file is a native program, and not a script that starts Python."""
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(2) != b"#!"


@functools.cache
def _version(path: Path, changed: int) -> str:
    """The version that a program reports. `changed` invalidates the cached answer if the file was replaced."""
    try:
        done = subprocess.run([str(path), "--version"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise MissingToolError(f"the command {path} can't be started: {error}") from error
    return done.stdout.removeprefix("hpmoe").strip() or f"unknown (it says {done.stderr.strip()!r})"
