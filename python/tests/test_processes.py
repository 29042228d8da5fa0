"""Ranks as processes of torch.distributed: both passes, compared with those of one process."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import hpmoe  # noqa: E402
from hpmoe._moe import MoE  # noqa: E402
from ranks import run_ranks  # noqa: E402

TOKENS = [7, 0, 9, 4]

#: One rank of four: a step, then a group whose ranks don't agree, then a rank that does not continue.
RANK = """
import time
import torch, torch.distributed as distributed
import hpmoe
from hpmoe._moe import MoE
from test_processes import TOKENS, step
from test_torch import inputs
distributed.init_process_group("gloo")
rank = distributed.get_rank()
ids, tensors = inputs(sum(TOKENS))
first = sum(TOKENS[:rank])
own = slice(first, first + TOKENS[rank])
experts = slice(2 * rank, 2 * rank + 2)
tensors = [tensor[own] for tensor in tensors[:2]] + [tensor[experts] for tensor in tensors[2:]]
layer = MoE(hpmoe.load({library!r}), "swiglu")
group = hpmoe.Group(process_group=distributed.group.WORLD, time_limit=30)
time.sleep(1 if rank == 2 else 0)
torch.save(step(layer, ids[own], tensors, group), {folder!r} + f"/{{rank}}.pt")
uneven = hpmoe.Group(process_group=distributed.group.WORLD, time_limit=30, capacity_rows=64 + rank)
try:
    step(layer, ids[own], tensors, uneven)
except hpmoe.HpmoeError as error:
    print(error, flush=True)
try:
    step(layer, ids[own], tensors if rank != 1 else [*tensors[:2], tensors[2][:1], *tensors[3:]], group)
except (hpmoe.HpmoeError, RuntimeError) as error:
    print(error, flush=True)
try:
    step(layer, ids[own] if rank != 3 else ids[own][:, :1], tensors, group)
except hpmoe.HpmoeError as error:
    print(error, flush=True)
distributed.barrier()
"""


def step(layer: MoE, ids, tensors, group) -> list:
    """The result, and the gradients of a sum that depends on it."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    y = layer.forward(group, leaves[0], ids, *leaves[1:])
    y.float().pow(2).sum().backward()
    return [y.detach(), *(leaf.grad for leaf in leaves)]


def test_four_processes_have_the_bits_of_one(library: hpmoe.Library, tmp_path: Path) -> None:
    from test_torch import inputs

    said = run_ranks(RANK.format(library=library.path, folder=str(tmp_path)))
    ids, tensors = inputs(sum(TOKENS))
    whole = step(MoE(library, "swiglu"), ids, tensors, hpmoe.Group())
    parts = [torch.load(tmp_path / f"{rank}.pt") for rank in range(4)]
    for number, want in enumerate(whole):
        assert torch.equal(torch.cat([part[number] for part in parts]), want), number
    for rank, out in enumerate(said):
        assert "the ranks disagree about capacity (rows): " in out, (rank, out)
        lines = out.splitlines()
        assert "`gate` has the shape [1, 32, 64]" in lines[-2] and (rank == 1 or "rank 1 failed with this error" in lines[-2]), (rank, out)
        assert "ids has the shape [4, 1], but a token of this layer has 2 experts" in lines[-1], (rank, out)
        assert rank == 3 or "rank 3 failed with this error" in lines[-1], (rank, out)


#: One rank of two: a fixed launch with other tokens each time, then one whose tokens have moved on rank 1.
FIXED = """
import torch, torch.distributed as distributed
import hpmoe
from test_torch import inputs
distributed.init_process_group("gloo")
rank = distributed.get_rank()
forward = hpmoe.load({library!r})["swiglu::forward"]
ids, tensors = inputs(14)
own, experts = slice(9 * rank, 9 + 5 * rank), slice(4 * rank, 4 * rank + 4)
cut = lambda tensors: [tensor[own].clone() for tensor in tensors[:2]] + [tensor[experts].clone() for tensor in tensors[2:]]
given = dict(zip(["x", "weights", "gate", "up", "down"], cut(tensors)))
with hpmoe.Group(process_group=distributed.group.WORLD, time_limit=30) as group:
    fixed = forward.fix(group, ids[own], **given)
    for seed in range(3):
        given["x"].copy_(cut(inputs(14, seed=seed)[1])[0])
        y, = fixed.launch()
        torch.save(y, {folder!r} + f"/{{rank}}-{{seed}}.pt")
    x, lies = given["x"], given["x"].data
    x.data = x.clone() if rank == 1 else lies
    try:
        fixed.launch()
    except hpmoe.HpmoeError as error:
        print(error, flush=True)
    x.data = lies
    again, = fixed.launch()
    assert torch.equal(again, torch.load({folder!r} + f"/{{rank}}-2.pt"))
distributed.barrier()
"""


def test_processes_replay_a_fixed_launch(library: hpmoe.Library, tmp_path: Path) -> None:
    from test_torch import inputs

    said = run_ranks(FIXED.format(library=library.path, folder=str(tmp_path)), ranks=2)
    ids, tensors = inputs(14)
    for seed in range(3):
        tensors[0] = inputs(14, seed=seed)[1][0]
        names = ["x", "weights", "gate", "up", "down"]
        (want,) = library["swiglu::forward"](hpmoe.Group(), ids, **dict(zip(names, tensors)))
        assert torch.equal(torch.cat([torch.load(tmp_path / f"{rank}-{seed}.pt") for rank in range(2)]), want)
    assert said[0].startswith("rank 1 failed with this error: `x` has a different address or shape"), said
    assert said[1].startswith("`x` has a different address or shape than when the launch was fixed"), said
