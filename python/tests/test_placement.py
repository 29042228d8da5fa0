"""Placements of experts: a layer's results don't depend on them."""

import random

import pytest

import hpmoe

torch = pytest.importorskip("torch")

HIDDEN, INTER, EXPERTS, TOP_K = 32, 32, 6, 2


@pytest.fixture(scope="module")
def layer():
    return hpmoe.moe(hidden=HIDDEN, inter=INTER, experts=EXPERTS, top_k=TOP_K, max_tokens=32, spare=1, ranks=4)


def tensors(seed, tokens=20):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(tokens, HIDDEN, generator=generator, dtype=torch.bfloat16)
    ids = torch.stack([torch.randperm(EXPERTS, generator=generator)[:TOP_K] for _ in range(tokens)])
    weights = torch.rand(tokens, TOP_K, generator=generator)
    gate_up = torch.randn(EXPERTS, 2 * INTER, HIDDEN, generator=generator, dtype=torch.bfloat16) / 8
    down = torch.randn(EXPERTS, HIDDEN, INTER, generator=generator, dtype=torch.bfloat16) / 8
    return x, ids, weights, gate_up, down


def placements(ranks):
    """Random placements, with copies and empty places."""
    chosen = random.Random(ranks)
    local = -(-EXPERTS // ranks) + 1
    order = list(range(EXPERTS))
    chosen.shuffle(order)
    places = [[] for _ in range(ranks)]
    for number, expert in enumerate(order):
        places[number % ranks].append(expert)
    for of_rank in places:
        copy = chosen.randrange(EXPERTS)
        if len(of_rank) < local and copy not in of_rank:
            of_rank.append(copy)
        of_rank += [-1] * (local - len(of_rank))
        chosen.shuffle(of_rank)
    return hpmoe.Placement(EXPERTS, ranks, [expert for of_rank in places for expert in of_rank])


def run(layer, placement, group, seed=3):
    x, ids, weights, gate_up, down = tensors(seed)
    leaves = [tensor.requires_grad_() for tensor in (x, weights, gate_up, down)]
    y = layer(x, ids, weights, placement.place(gate_up), placement.place(down), group=group, placement=placement)
    y.float().square().sum().backward()
    return [y.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_results_do_not_depend_on_a_placement(layer, ranks):
    group = hpmoe.Group(ranks=ranks)
    placed, even = placements(ranks), hpmoe.Placement.even(EXPERTS, ranks, spare=1)
    y, dx, dweights, dgate_up, ddown = run(layer, placed, group)
    wanted = run(layer, even, group)
    for found, expected in zip([y, dx, dweights], wanted):
        assert torch.equal(found, expected)
    counts = placed.tensors()[2]
    for found, expected in zip([dgate_up, ddown], wanted[3:]):
        assert torch.equal(found[counts == 1], expected[counts == 1])
        torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_loads_become_placements(layer):
    loads = torch.tensor([[100, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    first, second = hpmoe.placement(loads, ranks=2, spare=1)
    assert first.physical_to_logical.count(0) == 2
    assert hpmoe.placement([100, 1, 1, 1, 1, 1], ranks=2, spare=1) == first
    later = hpmoe.placement([1, 100, 1, 1, 1, 1], ranks=2, current=first, moves=1)
    changed = [new for new, old in zip(later.physical_to_logical, first.physical_to_logical) if new != old]
    assert sum(expert >= 0 for expert in changed) <= 1
    assert hpmoe.placement(loads, ranks=2, current=[first, second], moves=0)[1] == second
    physical, logical, count = first.tensors()
    assert physical.shape == (8,) and logical.shape[0] == EXPERTS and count.sum() == (physical >= 0).sum()
    for expert in range(EXPERTS):
        assert all(physical[place] == expert for place in logical[expert][: count[expert]])


def test_what_is_no_placement_is_refused(layer):
    for arguments, words in [
        ((2, 2, [0, 1, 0]), "3 places can't be divided evenly among 2 ranks"),
        ((2, 1, [0, 2]), "experts are numbered from 0 to 1"),
        ((2, 2, [0, 0, 1, -1]), "rank 0 has expert 0 in place 0 and again in place 1"),
        ((2, 2, [0, -1]), "expert 1 has no place"),
        ((2, 2, [0, 1], [1]), "1 shares were given for 2 places"),
    ]:
        with pytest.raises(hpmoe.HpmoeError, match=words):
            hpmoe.Placement(*arguments)
    x, ids, weights, gate_up, down = tensors(1)
    group, placed = hpmoe.Group(ranks=2), placements(2)
    with pytest.raises(hpmoe.HpmoeError, match="made for 2|for 4 ranks, but the group has 2"):
        layer(x, ids, weights, gate_up, down, group=group, placement=placements(4))
    zeros = hpmoe.Placement(EXPERTS, 2, placed.physical_to_logical, [0] * 8)
    with pytest.raises(hpmoe.HpmoeError, match="have a share of 0"):
        layer(x, ids, weights, placed.place(gate_up), placed.place(down), group=group, placement=zeros)
    few = hpmoe.Placement.even(EXPERTS, 2)
    with pytest.raises(hpmoe.HpmoeError, match="4"):
        layer(x, ids, weights, few.place(gate_up), few.place(down), group=group, placement=few)
    with pytest.raises(hpmoe.HpmoeError, match="is not a load"):
        hpmoe.placement([1, -1], ranks=1)
    with pytest.raises(hpmoe.HpmoeError, match="pass one of PyTorch with a part for each of 6"):
        placed.place(gate_up[:3])
