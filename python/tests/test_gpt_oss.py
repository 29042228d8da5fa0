"""Experts of gpt-oss: biases, transposed matrices, interleaved gate and up, and a clamped unit."""

import pytest

torch = pytest.importorskip("torch")

import hpmoe  # noqa: E402
from hpmoe._moe import MoE  # noqa: E402

H, I, E, K = 64, 32, 8, 2
LIMIT, SLOPE = 7.0, 1.702


@pytest.fixture(scope="module")
def layer(biased: hpmoe.Library) -> MoE:
    """The stock layer of gpt-oss."""
    return MoE(biased, "gpt_oss")


def inputs(tokens: int = 24, seed: int = 0, experts: int = E, scale: float = 0.5) -> tuple:
    """Ids, and tokens, weights, matrices and biases; experts from `experts` on get no tokens."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.stack([torch.randperm(experts, generator=random)[:K] for _ in range(tokens)])
    normal = lambda *shape: torch.randn(*shape, generator=random)  # noqa: E731
    weights = torch.rand(tokens, K, generator=random)
    matrices = [scale * normal(E, H, 2 * I), 3 * normal(E, 2 * I), 0.1 * normal(E, I, H), normal(E, H)]
    return ids, [normal(tokens, H).bfloat16(), weights, *(matrix.bfloat16() for matrix in matrices)]


def reference(ids, x, weights, gate_up, gate_up_bias, down, down_bias):
    """The layer in the type of its arguments, computed with ordinary operators."""
    y = torch.zeros_like(x)
    for k in range(K):
        e = ids[:, k]
        pairs = torch.einsum("th,thi->ti", x, gate_up[e]) + gate_up_bias[e]
        gate, up = pairs[:, ::2].clamp(max=LIMIT), pairs[:, 1::2].clamp(-LIMIT, LIMIT)
        h = (up + 1) * gate * torch.sigmoid(SLOPE * gate)
        y = y + weights[:, k : k + 1] * (torch.einsum("ti,tih->th", h, down[e]) + down_bias[e])
    return y


def call(layer: MoE, ids, tensors, **options):
    """Calls the layer with ids and a list of the other tensors."""
    return layer(tensors[0], ids, *tensors[1:], **options)


def leaves(tensors) -> list:
    """Copies of the tensors, with gradients."""
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("scale", [0.1, 0.5])
def test_gradients_are_those_of_the_layer(layer: MoE, scale: float) -> None:
    ids, tensors = inputs(experts=6, scale=scale)
    mine, wide = leaves(tensors), leaves([tensor.double() for tensor in tensors])
    y, want = call(layer, ids, mine), reference(ids, *wide)
    assert (y.double() - want).abs().max() < 0.01 * want.abs().max()
    dy = torch.randn(want.shape, generator=torch.Generator().manual_seed(9)).bfloat16()
    y.backward(dy)
    want.backward(dy.double())
    names = ["x", "weights", "gate_up", "gate_up_bias", "down", "down_bias"]
    for name, tensor, other in zip(names, mine, wide):
        assert tensor.grad.dtype == tensor.dtype
        error = (tensor.grad.double() - other.grad).norm() / other.grad.norm()
        # The tolerance of bf16 in PyTorch: at a clamp's limit, rounding decides whether a gradient passes.
        assert error < 0.03, (name, error)
    for matrix in mine[2:]:
        assert (matrix.grad[6:] == 0).all() and (matrix.grad[:6] != 0).any()


@pytest.mark.parametrize("ranks", [2, 4])
def test_any_number_of_ranks_has_the_same_bits(layer: MoE, ranks: int) -> None:
    ids, tensors = inputs(23)
    results = []
    for group in (hpmoe.Group(), hpmoe.Group(ranks=ranks, seed=5)):
        mine = leaves(tensors)
        y = call(layer, ids, mine, group=group)
        y.sum().backward()
        results.append([y, *(tensor.grad for tensor in mine[:2])])
    assert all(torch.equal(a, b) for a, b in zip(*results))


def test_the_operator_is_sound_and_the_matrices_are_not_copied(layer: MoE) -> None:
    ids, tensors = inputs()
    rows = [*tensors[:3], tensors[3].float().unsqueeze(1), tensors[4], tensors[5].float().unsqueeze(1)]
    torch.library.opcheck(torch.ops.hpmoe.run.default, (ids, leaves(rows), layer._keys[4], layer.group.name))
    call(layer, ids, tensors)
    assert hpmoe.last_report()["copied"] == []


def test_other_matrices_are_refused(layer: MoE) -> None:
    ids, tensors = inputs()
    with pytest.raises(hpmoe.HpmoeError, match="a layer of gpt-oss has 4 tensors, but got 2: pass gate_up, its biases, down"):
        call(layer, ids, tensors[:4])
    with pytest.raises(hpmoe.HpmoeError, match=r"`gate_up` has the shape \[8, 64, 32\], but gpt_oss::forward takes \[8, 64, 64\]"):
        call(layer, ids, [*tensors[:2], tensors[2][:, :, :I], *tensors[3:]])
