"""Time of layers on the CPU, next to the same layers in PyTorch.

hpmoe with checks, hpmoe without checks, and PyTorch are measured alternately, each with one thread, by the CPU time of the process and by
the clock. A row has the medians of these three for one size. Layers are built at their first use, which takes minutes.

    python python/benches/cpu.py                    # calls of a small layer, with experts of PyTorch in bf16, one after another
    python python/benches/cpu.py --table            # layers of many sizes, with torch.nn.functional.grouped_mm in f32
    python python/benches/cpu.py --table --quick    # the smallest and the largest of them
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import silu

import hpmoe


class Size(NamedTuple):
    """The sizes of a layer."""

    hidden: int
    inter: int
    experts: int
    top_k: int
    tokens: int


#: Calls of a small layer, whose time is mainly the fixed cost of a launch.
SMALL = [Size(64, 32, 8, 2, 1), Size(64, 32, 8, 2, 64)]
#: Layers of many sizes; in the largest ones, most of the time is spent on products.
TABLE = [
    Size(64, 32, 8, 2, 16),
    Size(128, 128, 8, 2, 512),
    Size(256, 128, 16, 4, 256),
    Size(256, 128, 64, 4, 2048),
    Size(512, 256, 16, 4, 16),
    Size(512, 256, 16, 4, 1024),
    Size(1024, 256, 32, 4, 128),
    Size(1024, 512, 64, 4, 2048),
]


def eager(x: Tensor, ids: Tensor, weights: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """Expert after expert, as Hugging Face transformers computes them without a kernel."""
    y = torch.zeros_like(x)
    for expert in ids.unique().tolist():
        token, k = torch.where(ids == expert)
        gate, up = torch.nn.functional.linear(x[token], gate_up[expert]).chunk(2, dim=-1)
        rows = torch.nn.functional.linear(silu(gate) * up, down[expert])
        y.index_add_(0, token, (rows * weights[token, k, None]).to(y.dtype))
    return y


def grouped(x: Tensor, ids: Tensor, weights: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """All experts in one grouped product."""
    order = ids.flatten().argsort(stable=True)
    token = order // ids.shape[1]
    ends = ids.flatten().bincount(minlength=gate_up.shape[0]).cumsum(0).to(torch.int32)
    gate, up = torch.nn.functional.grouped_mm(x[token], gate_up.transpose(1, 2), offs=ends).chunk(2, dim=-1)
    rows = torch.nn.functional.grouped_mm(silu(gate) * up, down.transpose(1, 2), offs=ends)
    return torch.zeros_like(x).index_add(0, token, rows * weights.flatten()[order, None])


class Step:
    """A call of a layer, or a call and its gradients."""

    def __init__(self, layer: Callable[..., Tensor], size: Size, dtype: torch.dtype, training: bool) -> None:
        """With random tensors, the same for all layers of a size."""
        generator = torch.Generator().manual_seed(0)
        hidden, inter, experts, top_k, tokens = size
        scores = torch.rand(tokens, experts, generator=generator)
        self.ids = scores.topk(top_k).indices
        shapes = [(tokens, hidden), (tokens, top_k), (experts, 2 * inter, hidden), (experts, hidden, inter)]
        scales = [1.0, 1 / top_k, hidden**-0.5, inter**-0.5]
        made = [torch.randn(shape, generator=generator) * scale for shape, scale in zip(shapes, scales)]
        x, weights, gate_up, down = (tensor.to(dtype) for tensor in made)
        self.tensors = [x, weights.float(), gate_up, down]
        if training:
            self.tensors = [tensor.requires_grad_() for tensor in self.tensors]
        self.gradient = torch.randn(tokens, hidden, generator=generator).to(dtype)
        self.layer, self.training = layer, training

    def run(self) -> Tensor:
        """The layer's output."""
        x, weights, gate_up, down = self.tensors
        if not self.training:
            with torch.no_grad():
                return self.layer(x, self.ids, weights, gate_up, down)
        y = self.layer(x, self.ids, weights, gate_up, down)
        torch.autograd.grad(y, self.tensors, self.gradient)
        return y


class Time(NamedTuple):
    """Seconds of the process on all CPUs, and by the clock."""

    cpu: float
    wall: float


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measured(steps: list[Step], seconds: float) -> list[Time]:
    """The median time of each step, measured alternately in at least five rounds and for about this number of seconds."""
    for step in steps:
        step.run()
    # A round must be long, because some systems count a process's CPU time in milliseconds.
    begin = time.perf_counter()
    steps[0].run()
    calls = max(1, math.ceil(0.05 / max(time.perf_counter() - begin, 1e-4)))
    found: list[list[Time]] = [[] for _ in steps]
    end = time.perf_counter() + seconds
    while len(found[0]) < 5 or time.perf_counter() < end:
        for step, times in zip(steps, found):
            cpu, wall = _used(), time.perf_counter()
            for _ in range(calls):
                step.run()
            times.append(Time((_used() - cpu) / calls, (time.perf_counter() - wall) / calls))
    return [Time(*(statistics.median(column) for column in zip(*times))) for times in found]


class Ratios(NamedTuple):
    """CPU time of hpmoe divided by that of PyTorch."""

    checked: float
    unchecked: float


def row(size: Size, training: bool, seconds: float, table: bool) -> Ratios:
    """Measures one size, and prints its row."""
    hidden, inter, experts, top_k, tokens = size
    # Layers are often made for more tokens than a call has.
    layer = hpmoe.moe(hidden=hidden, inter=inter, experts=experts, top_k=top_k, max_tokens=max(tokens, 64))
    steps = []
    with hpmoe.Group(threads=1, checks=True) as checked, hpmoe.Group(threads=1, checks=False) as unchecked:
        for group in [checked, unchecked]:
            steps.append(Step(lambda *tensors, group=group: layer(*tensors, group=group), size, torch.bfloat16, training))
        steps.append(Step(grouped, size, torch.float32, training) if table else Step(eager, size, torch.bfloat16, training))
        with_checks, without, theirs = (step.run().float() for step in steps)
        assert torch.equal(with_checks, without), f"{size}: other bits without checks"
        error = ((without - theirs).norm() / theirs.norm()).item()
        assert error < 0.03, f"{size}: the outputs differ from PyTorch's by {error:.3f}"
        on, off, other = measured(steps, seconds)
    ratios = Ratios(on.cpu / other.cpu, off.cpu / other.cpu)
    kind = "training" if training else "forward"
    times = " | ".join(f"{1e3 * time.cpu:.2f}" for time in [on, off, other])
    walls = f"{on.wall / other.wall:.2f} | {off.wall / other.wall:.2f}"
    print(f"| {kind} | {' | '.join(map(str, size))} | {times} | {ratios.checked:.2f} | {ratios.unchecked:.2f} | {walls} |", flush=True)
    return ratios


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="layers of many sizes, next to grouped_mm in f32")
    parser.add_argument("--quick", action="store_true", help="two sizes of the table")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of each measurement (default: 2)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sizes = SMALL if not arguments.table else [TABLE[0], TABLE[-1]] if arguments.quick else TABLE
    print("CPU time in ms, and ratios to PyTorch, with checks and without:")
    print("| | hidden | inter | experts | top k | tokens | checks | no checks | PyTorch | ratio | no checks | ratio of wall times | no checks |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    all_ratios = []
    for training in [False, True]:
        all_ratios += [row(size, training, arguments.seconds, arguments.table) for size in sizes]
    means = [statistics.geometric_mean(column) for column in zip(*all_ratios)]
    print(f"geometric mean of the ratios of CPU times: {means[0]:.2f} with checks, {means[1]:.2f} without")


if __name__ == "__main__":
    main()
