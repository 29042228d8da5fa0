"""Layers whose launches choose their number of chunks: bits don't depend on it, and a load that becomes uneven is not an error."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import hpmoe  # noqa: E402
from hpmoe._moe import MoE  # noqa: E402
from ranks import run_ranks  # noqa: E402

#: Sizes of the layer. On four ranks, an uneven load exceeds the default capacity from 1,024 tokens per rank on.
LAYER = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2, "max_tokens": 1024}
TOKENS, STEPS = 1024, 6

#: One rank of four: the same training with the default capacity, and with room for any routing.
RANK = """
import torch, torch.distributed as distributed
import hpmoe
from hpmoe._moe import MoE
from test_chunks import trained
distributed.init_process_group("gloo")
rank = distributed.get_rank()
layer = MoE(hpmoe.load({library!r}), "swiglu")
join = lambda capacity: hpmoe.Group(process_group=distributed.group.WORLD, time_limit=60, capacity_rows=capacity, checks=False)
with join(None) as group:
    torch.save(trained(layer, group, rank), {folder!r} + f"/{{rank}}.pt")
with join(8192) as group:
    torch.save(trained(layer, group, rank), {folder!r} + f"/{{rank}}-room.pt")
distributed.barrier()
"""


@pytest.fixture(scope="module")
def layer() -> MoE:
    """The layer in up to 8 chunks."""
    return hpmoe.moe(**LAYER, chunks_at_most=8)


def routed(step: int, rank: int) -> torch.Tensor:
    """The ids of a rank's tokens: any experts in the first half of the steps, mostly those of rank 0 in the second half."""
    random = torch.Generator().manual_seed(100 * step + rank)
    tokens = TOKENS - 17 * rank
    ids = torch.stack([torch.randperm(8, generator=random)[:2] for _ in range(tokens)])
    if step >= STEPS // 2:
        ids[: tokens - 100] = torch.tensor([0, 1])
    return ids


def trained(layer: MoE, group: hpmoe.Group, rank: int) -> dict:
    """Steps of gradient descent on a rank's experts, and the numbers of chunks of their launches."""
    random = torch.Generator().manual_seed(rank)
    normal = lambda *shape: torch.randn(*shape, generator=random)  # noqa: E731
    matrices = [(0.1 * normal(2, *shape)).requires_grad_() for shape in [(32, 64), (32, 64), (64, 32)]]
    losses, chunks, gradients = [], [], []
    for step in range(STEPS):
        ids = routed(step, rank)
        x, weights = normal(len(ids), 64).requires_grad_(), torch.rand(len(ids), 2, generator=random).requires_grad_()
        y = layer.forward(group, x, ids, weights, *matrices)
        of_forward = group.last_report()["chunks"]
        loss = y.pow(2).mean()
        loss.backward()
        chunks.append((of_forward, group.last_report()["chunks"]))
        losses.append(loss.detach())
        gradients += [x.grad, weights.grad, *(matrix.grad.clone() for matrix in matrices)]
        with torch.no_grad():
            for matrix in matrices:
                matrix -= 0.5 * matrix.grad
                matrix.grad = None
    return {"losses": torch.stack(losses), "chunks": chunks, "gradients": gradients, "matrices": [matrix.detach() for matrix in matrices]}


def test_training_goes_on_if_the_load_becomes_uneven(layer: MoE, tmp_path: Path) -> None:
    run_ranks(RANK.format(library=layer.library.path, folder=str(tmp_path)))
    for rank in range(4):
        found, room = [torch.load(tmp_path / f"{rank}{name}.pt") for name in ("", "-room")]
        assert room["chunks"] == [(1, 1)] * STEPS, room["chunks"]
        first, second = found["chunks"][: STEPS // 2], found["chunks"][STEPS // 2 :]
        assert first == [(1, 1)] * len(first) and all(min(chunks) > 1 for chunks in second), found["chunks"]
        assert torch.equal(found["losses"], room["losses"])
        for name in ["matrices", "gradients"]:
            for number, (one, other) in enumerate(zip(found[name], room[name])):
                assert torch.equal(one, other), (rank, name, number)
        assert found["losses"].isfinite().all() and found["losses"].diff().abs().min() > 0


def test_gradients_are_those_of_the_reference_and_start_from_zeros(layer: MoE) -> None:
    with hpmoe.Group(2, capacity_rows=300, checks=False) as group:
        random = torch.Generator().manual_seed(5)
        normal = lambda *shape: torch.randn(*shape, generator=random)  # noqa: E731
        ids = torch.stack([torch.randperm(8, generator=random)[:2] for _ in range(500)])
        given = {"x": normal(500, 64).bfloat16(), "dy": normal(500, 64).bfloat16(), "weights": normal(1000, 1)}
        for name, shape in [("gate", (32, 64)), ("up", (32, 64)), ("down", (64, 32))]:
            given[name] = normal(8, *shape).bfloat16()
        backward = layer.library["swiglu::backward"]
        assert (backward.chunks, backward.chunks_at_most) == (1, 8)
        found = backward(group, ids, **given)
        assert group.last_report()["chunks"] == 2
        for one, other in zip(found, backward.reference(group, ids, **given), strict=True):
            assert torch.equal(one, other)
        # Gradients are added to the tensors that are passed.
        again = dict(zip(["dgate", "dup", "ddown"], (one.clone() for one in found[2:])))
        backward(group, ids, **given, **again)
        assert not torch.equal(again["ddown"], found[4]) and torch.allclose(again["ddown"], 2 * found[4], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("most", [0, 3, 16, True, 2.5])
def test_other_numbers_are_refused(most: object) -> None:
    with pytest.raises(hpmoe.HpmoeError, match="must be 1, 2, 4 or 8"):
        hpmoe.moe(**LAYER, chunks_at_most=most)


def test_gpt_oss_has_no_chunks() -> None:
    with pytest.raises(hpmoe.HpmoeError, match="gradients of its biases"):
        hpmoe.moe(**LAYER, gate="gpt_oss", chunks_at_most=2)
