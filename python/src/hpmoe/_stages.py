"""The progress of a build, for error outputs that are no terminals."""

from __future__ import annotations

import fcntl
import sys
import time
from pathlib import Path
from typing import IO, Any


class Stages:
    """Tells of a build: a line for each of its stages, unless cargo shows its own progress.

    Attributes:
        by_cargo: Whether cargo shows its own progress.
    """

    def __init__(self, name: str, progress: bool | None) -> None:
        """Of what is built. `progress`: True for that of cargo, False for none, None for that of cargo if somebody sees it move."""
        self.by_cargo = sys.stderr.isatty() if progress is None else progress
        self._silent = progress is not None
        self._name, self._begun = name, time.monotonic()
        self._compiles, self._package = False, None

    def lock(self, file: IO[str]) -> None:
        """Waits for another build."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._say("another build has to end first")
            fcntl.flock(file, fcntl.LOCK_EX)

    def begun(self) -> None:
        """The build begins."""
        self._say("the build begins")

    def heard(self, message: dict[str, Any], manifest: Path) -> None:
        """A message of cargo about the build of that crate."""
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
        """The build has ended well."""
        self._say("built")

    def _say(self, stage: str) -> None:
        if not self.by_cargo and not self._silent:
            print(f"hpmoe: {self._name}: {stage} ({time.monotonic() - self._begun:.0f} s)", file=sys.stderr, flush=True)


def of_crate(message: dict[str, Any], manifest: Path) -> bool:
    """Whether a message of cargo is about the crate of that manifest."""
    return Path(message["manifest_path"]).resolve() == manifest
