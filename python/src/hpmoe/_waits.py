"""Waits that Ctrl-C ends.

Python runs signal handlers between its own instructions, so a C call that waits would delay them. A launch on the CPU therefore calls back
regularly, and handlers run then. In the main thread, any other call that waits runs in a separate thread, and the main thread waits for that thread.
"""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any, Callable, Generator, TypeVar

from . import _c

T = TypeVar("T")

#: Numbers that groups may read for as long as the process lives.
_NUMBERS: list[ctypes.c_uint32] = []


def new_cancel() -> ctypes.c_uint32:
    """A number that ends a group's waits when it is set to a value other than 0."""
    _NUMBERS.append(ctypes.c_uint32(0))
    return _NUMBERS[-1]


class Attendant:
    """The callback of the main thread while it waits for a launch of a group. Signal handlers run during the callback."""

    def __init__(self, cancel: ctypes.c_uint32) -> None:
        """`cancel` is the number that is set when a signal handler raises."""
        self._cancel = cancel
        self._raised: BaseException | None = None
        self._looks = self._look()
        next(self._looks)
        # A generator, because it is already inside its `try` block when a handler raises; a function could be interrupted before its first line.
        self.function = _c.ATTEND(self._looks.__next__)

    def _look(self) -> Generator[None, None, None]:
        while True:
            try:
                while True:
                    yield
            except GeneratorExit:
                return
            except BaseException as error:  # noqa: BLE001: it is raised when the call has ended
                self._raised, self._cancel.value = error, 1

    def call(self, call: Callable[[], T]) -> T:
        """Makes the call and returns or raises its outcome, unless a handler raised meanwhile."""
        try:
            return call()
        finally:
            if self._raised is not None:
                raised, self._raised = self._raised, None
                raise raised from None


#: Longest wait in seconds for a cancelled call that uses no memory of the caller.
LEAVING = 1.0


def interruptible(call: Callable[[], T], cancel: ctypes.c_uint32, *, borrows: bool = True) -> T:
    """Makes a C call, and returns or raises its outcome. If a signal handler raises meanwhile, as Ctrl-C's does, the call is cancelled, which takes at
    most a second, and the handler's exception is raised instead. A call that does not borrow the caller's memory is left to finish by itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    done = threading.Event()
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = call()
        except BaseException as error:  # noqa: BLE001: it is raised below
            outcome["error"] = error
        finally:
            done.set()

    thread = threading.Thread(target=run, name="hpmoe waits", daemon=True)
    thread.start()
    try:
        done.wait()
    except BaseException:
        cancel.value = 1
        _until(done, None if borrows else LEAVING)
        raise
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def _until(done: threading.Event, seconds: float | None) -> None:
    """Waits for the end of a cancelled call, because its memory must live until then. Further signals have no effect."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while not done.is_set():
        rest = None if deadline is None else deadline - time.monotonic()
        if rest is not None and rest <= 0:
            return
        try:
            done.wait(rest)
        except BaseException:  # noqa: BLE001: the first one is raised
            continue
