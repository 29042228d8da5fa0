"""The progress of a build, for output that is not a terminal."""

from __future__ import annotations

import fcntl
import sys
import time
from pathlib import Path
from typing import IO, Any


class Stages:
    """Prints one line for each stage of a build, unless cargo shows its own progress.

    Attributes:
        by_cargo: Whether cargo shows its own progress.
    """

    def __init__(self, name: str, progress: bool | None) -> None:
        """`progress`: True shows cargo's progress, False shows nothing, None shows cargo's progress on a terminal only."""
        self.by_cargo = sys.stderr.isatty() if progress is None else progress
        self._silent = progress is not None
        self._name, self._begun = name, time.monotonic()
        self._compiles, self._package = False, None

    def lock(self, file: IO[str]) -> None:
        """Locks the file. If another build holds the lock, reports that and waits."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._say("another build must end first")
            fcntl.flock(file, fcntl.LOCK_EX)

    def begun(self) -> None:
        """Reports the start of the build."""
        self._say("the build begins")

    def heard(self, message: dict[str, Any], manifest: Path) -> None:
        """Handles a cargo message about the crate."""
        reason = message.get("reason")
        if reason == "compiler-artifact" and not of_crate(message, manifest):
            if not message["fresh"] and not self._compiles:
                self._compiles = True
                self._say("dependencies are compiled, which takes a minute or two the first time")
        elif reason == "compiler-artifact" and "custom-build" in message["target"]["kind"]:
            self._package = message["package_id"]
            self._say("kernels are scheduled and compiled as C++")
        elif reason == "build-script-executed" and message["package_id"] == self._package:
            self._say("the library is compiled")

    def over(self) -> None:
        """Reports that the build succeeded."""
        self._say("built")

    def _say(self, stage: str) -> None:
        if not self.by_cargo and not self._silent:
            print(f"hpmoe: {self._name}: {stage} ({time.monotonic() - self._begun:.0f} s)", file=sys.stderr, flush=True)


def of_crate(message: dict[str, Any], manifest: Path) -> bool:
    """Whether a cargo message is about the crate with that manifest."""
    return Path(message["manifest_path"]).resolve() == manifest
