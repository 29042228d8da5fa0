"""Launches on the CPU with and without checks, and the cost of every launch."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import threading

import pytest
import torch

import hpmoe
from hpmoe import _torch
from hpmoe._waits import Attendant, new_cancel

SIZES = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2}


def layer() -> hpmoe.MoE:
    return hpmoe.moe(**SIZES, max_tokens=64)


def tensors(tokens: int, *, requires_grad: bool = False) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(tokens)
    ids = torch.rand(tokens, 8, generator=generator).topk(2).indices
    shapes = [(tokens, 64), (tokens, 2), (8, 64, 64), (8, 64, 32)]
    x, weights, gate_up, down = (torch.randn(shape, generator=generator) for shape in shapes)
    made = [x.bfloat16(), weights, gate_up.bfloat16(), down.bfloat16()]
    made = [tensor.requires_grad_(requires_grad) for tensor in made]
    return [made[0], ids, *made[1:]]


@pytest.mark.parametrize("ranks", [1, 4])
def test_bits_are_the_same_without_checks(ranks: int) -> None:
    results = []
    for checks in [True, False]:
        with hpmoe.Group(ranks=ranks, checks=checks) as group:
            given = tensors(61, requires_grad=True)
            y = layer()(*given, group=group)
            report = hpmoe.last_report()
            assert report["checks"] is checks
            assert ("checks off: races and stale cache lines were not looked for" in report["text"]) is not checks
            y.float().square().sum().backward()
            results.append([y.detach(), *(tensor.grad for tensor in given if tensor.requires_grad)])
    for checked, unchecked in zip(*results, strict=True):
        assert torch.equal(checked.view(torch.uint8), unchecked.view(torch.uint8))


def test_checks_are_chosen_by_the_group_or_else_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, checks in [("on", True), ("off", False), ("", False)]:
        monkeypatch.setenv("HPMOE_CHECKS", value)
        for group, expected in [(hpmoe.Group(), checks), (hpmoe.Group(checks=True), True), (hpmoe.Group(checks=False), False)]:
            with group, torch.no_grad():
                layer()(*tensors(3), group=group)
                assert hpmoe.last_report()["checks"] is expected
    monkeypatch.setenv("HPMOE_CHECKS", "yes")
    with pytest.raises(hpmoe.HpmoeError, match="HPMOE_CHECKS is `yes`, but should be `on` or `off`: set it so, or unset it for `off`"):
        hpmoe.Group()
    with pytest.raises(hpmoe.HpmoeError, match="checks is 'on', but must be True or False"):
        hpmoe.Group(checks="on")


def test_a_launch_on_the_cpu_starts_no_thread_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    with hpmoe.Group(threads=2) as group, torch.no_grad():
        layer()(*tensors(64), group=group)

        def refuse(thread: threading.Thread) -> None:
            raise AssertionError("a thread is started")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        running = set(os.listdir("/proc/self/task"))
        for _ in range(20):
            layer()(*tensors(64), group=group)
        assert set(os.listdir("/proc/self/task")) <= running


def test_a_file_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = layer()
    with hpmoe.Group() as group, torch.no_grad():
        made(*tensors(5), group=group)

        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a file is looked for")

        monkeypatch.setattr(os.path, "realpath", refuse)
        monkeypatch.setattr(os, "stat", refuse)
        made(*tensors(5), group=group)


def test_without_gradients_no_operator_is_dispatched(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = []
    found = _torch.launched
    monkeypatch.setattr(_torch, "launched", lambda *given: launched.append(given) or found(*given))
    with hpmoe.Group() as group:
        with torch.profiler.profile() as profile, torch.no_grad():
            seen = layer()(*tensors(7), group=group)
        assert any(event.key == "hpmoe::run" for event in profile.key_averages())
        with torch.no_grad():
            y = layer()(*tensors(7), group=group)
        graph = layer()(*tensors(7, requires_grad=True), group=group)
    assert len(launched) == 3 and graph.requires_grad and not y.requires_grad
    assert torch.equal(y, graph) and torch.equal(y, seen)


def test_a_handler_that_raises_cancels_a_call_of_the_main_thread() -> None:
    cancel = new_cancel()
    attendant = Attendant(cancel)
    def handler(*_: object) -> None:
        raise InterruptedError("the handler's own")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        # No Python instruction comes between the signal and the callback, as in a launch.
        steps = [functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGALRM), functools.partial(attendant.function)]
        with pytest.raises(InterruptedError, match="the handler's own"):
            attendant.call(lambda: list(map(functools.partial.__call__, steps)))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert cancel.value == 1
    # The exception is raised only once.
    assert attendant.call(lambda: 5) == 5
