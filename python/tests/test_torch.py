"""The operators of PyTorch."""

import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import hpmoe  # noqa: E402
from hpmoe._moe import MoE  # noqa: E402

T, H, I, E, K = 24, 64, 32, 8, 2


@pytest.fixture(scope="module")
def layer(library: hpmoe.Library) -> MoE:
    """The stock layer."""
    return MoE(library, "swiglu")


def inputs(tokens: int = T, seed: int = 0, experts: int = E) -> tuple:
    """Ids, and tokens, weights and matrices; experts from `experts` on get no tokens."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.stack([torch.randperm(experts, generator=random)[:K] for _ in range(tokens)])
    normal = lambda *shape: torch.randn(*shape, generator=random)  # noqa: E731
    matrices = [0.1 * normal(E, I, H), 0.1 * normal(E, I, H), 0.1 * normal(E, H, I)]
    weights = torch.rand(tokens, K, generator=random)
    return ids, [normal(tokens, H).bfloat16(), weights, *(matrix.bfloat16() for matrix in matrices)]


def reference(ids, x, weights, gate, up, down):
    """The layer in the type of its arguments, computed with ordinary operators."""
    y = torch.zeros_like(x)
    for k in range(K):
        e = ids[:, k]
        h = torch.nn.functional.silu(torch.einsum("th,tih->ti", x, gate[e])) * torch.einsum("th,tih->ti", x, up[e])
        y = y + weights[:, k : k + 1].to(x.dtype) * torch.einsum("ti,thi->th", h, down[e])
    return y


def call(layer: MoE, ids, tensors, **options):
    """Calls the layer with ids and a list of the other tensors."""
    return layer(tensors[0], ids, *tensors[1:], **options)


def with_gradients(tensors):
    """Leaves with the same values."""
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def test_opcheck(layer: MoE) -> None:
    ids, tensors = inputs()
    run = torch.ops.hpmoe.run.default
    torch.library.opcheck(run, (ids, tensors, layer._keys[3], layer.group.name))
    torch.library.opcheck(run, (ids, with_gradients(tensors), layer._keys[3], layer.group.name))


def test_gradients_are_those_of_the_layer(layer: MoE) -> None:
    ids, tensors = inputs(experts=6)
    mine, wide = with_gradients(tensors), with_gradients([tensor.double() for tensor in tensors])
    y, want = call(layer, ids, mine), reference(ids, *wide)
    assert (y.double() - want).abs().max() < 0.01 * want.abs().max()
    dy = torch.randn(T, H, generator=torch.Generator().manual_seed(9)).bfloat16()
    y.backward(dy)
    want.backward(dy.double())
    for tensor, other in zip(mine, wide):
        assert tensor.grad.dtype == tensor.dtype
        # Compares gradients along random directions, and as a whole.
        error = (tensor.grad.double() - other.grad).norm() / other.grad.norm()
        assert error < 0.01, error
    for matrix in mine[2:]:
        assert (matrix.grad[6:] == 0).all() and (matrix.grad[:6] != 0).any()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_reference_has_the_bits_of_the_layer(layer: MoE, ranks: int) -> None:
    ids, (x, weights, gate, up, down) = inputs(23)
    group = hpmoe.Group(ranks=ranks)
    for matrices in ([gate, up, down], [torch.cat([gate, up], 1), down]):
        want = layer.reference(group, x, ids, weights, *matrices)
        assert torch.equal(layer.forward(group, x, ids, weights, *matrices), want)
    wide = layer.reference(group, x[:20].float().view(4, 5, H), ids[:20].view(4, 5, K), weights[:20].view(4, 5, K), gate, up, down)
    assert wide.dtype == torch.float32 and torch.equal(wide.view(20, H), want[:20].float())


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_any_number_of_ranks_has_the_same_bits(layer: MoE, ranks: int) -> None:
    ids, tensors = inputs(23)
    results = []
    for group in (hpmoe.Group(), hpmoe.Group(ranks=ranks, seed=5)):
        mine = with_gradients(tensors)
        y = call(layer, ids, mine, group=group)
        y.sum().backward()
        results.append([y, *(tensor.grad for tensor in mine[:2])])
    assert all(torch.equal(a, b) for a, b in zip(*results))


def test_one_graph_for_any_number_of_tokens(layer: MoE) -> None:
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda ids, *tensors: call(layer, ids, tensors) * 2, fullgraph=True, dynamic=True, backend=counter)
    for tokens in (17, 24, 40):
        ids, tensors = inputs(tokens, seed=tokens)
        results = []
        for function in (compiled, lambda ids, *tensors: call(layer, ids, tensors) * 2):
            mine = with_gradients(tensors)
            y = function(ids, *mine)
            y.float().pow(2).sum().backward()
            results.append([y.detach(), *(tensor.grad for tensor in mine)])
        assert all(torch.equal(a, b) for a, b in zip(*results))
    assert counter.frame_count == 1


def test_export_checkpoint_and_inference(layer: MoE, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, ids, tensors):
            return call(layer, ids, tensors)

    ids, tensors = inputs()
    want = call(layer, ids, tensors)
    tokens = torch.export.Dim("tokens", min=2, max=64)
    shapes = ({0: tokens}, [{0: tokens}, {0: tokens}, None, None, None])
    program = torch.export.export(Module(), (ids, tensors), dynamic_shapes=shapes)
    assert torch.equal(program.module()(ids, tensors), want)
    others = inputs(9, seed=1)
    assert torch.equal(program.module()(*others), call(layer, *others))
    # In another process, without the layer.
    torch.export.save(program, tmp_path / "program.pt2")
    torch.save((others, call(layer, *others)), tmp_path / "others.pt")
    script = "import sys, torch, hpmoe; others, want = torch.load(sys.argv[2]); "
    script += "assert torch.equal(torch.export.load(sys.argv[1]).module()(*others), want)"
    environment = {**os.environ, "PYTHONPATH": str(Path(hpmoe.__file__).parents[1])}
    files = [str(tmp_path / "program.pt2"), str(tmp_path / "others.pt")]
    subprocess.run([sys.executable, "-c", script, *files], env=environment, check=True)
    with torch.inference_mode():
        assert torch.equal(call(layer, ids, tensors), want)
    plain, kept = with_gradients(tensors), with_gradients(tensors)
    call(layer, ids, plain).sum().backward()
    torch.utils.checkpoint.checkpoint(lambda *tensors: call(layer, ids, tensors), *kept, use_reentrant=False).sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(plain, kept))


def test_the_routers_weights_are_not_rounded(layer: MoE) -> None:
    ids, tensors = inputs()
    # Weights that are equal in bf16.
    tensors[1] = torch.full((T, K), 1 + 2**-12)
    want = call(layer, ids, tensors)
    wide = [tensor.float() for tensor in tensors]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = call(layer, ids, wide)
    assert y.dtype == torch.float32 and torch.equal(y, want.float())
    report = hpmoe.last_report()
    assert report["copied"] == []
    mine = with_gradients(wide)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        call(layer, ids, mine).sum().backward()
    assert mine[1].grad.dtype == torch.float32 and (mine[1].grad.bfloat16().float() != mine[1].grad).any()


def test_the_kernel_gets_the_addresses_of_torch(layer: MoE, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, tensors = inputs()
    given = []
    interface = type(layer.library._interface)
    launch = interface.launch

    def looking(self, group, what):
        given.extend(part.data for part in what.tensors)
        return launch(self, group, what)

    monkeypatch.setattr(interface, "launch", looking)
    y = call(layer, ids, tensors)
    assert given == [*(tensor.data_ptr() for tensor in tensors), y.data_ptr()]
    # A slice may start anywhere, and gives the same bits.
    shifted = torch.empty(tensors[2].numel() + 1, dtype=torch.bfloat16)[1:].view_as(tensors[2]).copy_(tensors[2])
    assert torch.equal(call(layer, ids, [*tensors[:2], shifted, *tensors[3:]]), y)
    assert [copy["tensor"] for copy in hpmoe.last_report()["copied"]] == ["gate"]


def test_shapes_around_the_layer(layer: MoE) -> None:
    ids, tensors = inputs()
    want = call(layer, ids, tensors)
    x, weights, gate, up, down = tensors
    batch = layer(x.view(4, 6, H), ids.view(4, 6, K), weights.view(4, 6, K), gate, up, down)
    assert batch.shape == (4, 6, H) and torch.equal(batch.view(T, H), want)
    assert torch.equal(layer(x, ids.int(), weights, gate, up, down), want)
    assert torch.equal(layer.forward(hpmoe.Group(ranks=2), x, ids, weights, gate, up, down), want)
    empty = layer(x[:0], ids[:0], weights[:0], gate, up, down)
    assert empty.shape == (0, H)
    with pytest.raises(hpmoe.HpmoeError, match="a layer has 2 or 3 matrices, but got 1: pass gate_up and down, or gate, up and down"):
        layer(x, ids, weights, gate)


@pytest.mark.parametrize(
    ("number", "change", "said"),
    [
        (0, lambda x: x.float().numpy(), "x is of type ndarray: pass a tensor of PyTorch"),
        (0, lambda x: x.long(), "x has elements of torch.int64: pass a floating-point type"),
        (1, lambda ids: ids.short(), "ids has elements of torch.int16: pass int32 or int64"),
        (1, lambda ids: ids[:, :1], r"ids has the shape \[24, 1\], but a token of this layer has 2 experts: pass \[.., 2\]"),
        (1, lambda ids: ids[:5], r"ids has the shape \[5, 2\], but x \[24, 64\]: pass a row of both for each token"),
        (2, lambda weights: weights[:5], r"weights has the shape \[5, 2\], but x \[24, 64\]"),
        (5, lambda down: None, "a matrix is of type NoneType: pass a tensor of PyTorch"),
    ],
)
def test_what_a_layer_is_called_with(layer: MoE, number: int, change, said: str) -> None:
    ids, tensors = inputs()
    arguments = [tensors[0], ids, *tensors[1:]]
    arguments[number] = change(arguments[number])
    with pytest.raises(hpmoe.HpmoeError, match=said):
        layer(*arguments)
    with pytest.raises(hpmoe.HpmoeError, match=r"the group is of type int: pass group=hpmoe.Group\(..\)"):
        layer(*arguments, group=2)


def test_errors_reach_the_caller(layer: MoE) -> None:
    ids, tensors = inputs(65)
    with pytest.raises(hpmoe.HpmoeError, match="x has 65 tokens, but the layer was made for at most 64 tokens per rank: make it with max_tokens=65"):
        call(layer, ids, tensors)
    many, more = inputs(259)
    with pytest.raises(hpmoe.HpmoeError, match="x has 259 tokens for 4 ranks, .* make it with max_tokens=65"):
        call(layer, many, more, group=hpmoe.Group(ranks=4))
    # A compiled graph does not compare numbers of tokens, so the launch reports the error.
    with pytest.raises(hpmoe.HpmoeError, match="rank 0 has 65 tokens, but swiglu::forward was built with TOKENS = 64"):
        torch.compile(lambda ids, *tensors: call(layer, ids, tensors), fullgraph=True, dynamic=True, backend="aot_eager")(ids, *tensors)
    ids, tensors = inputs()
    with pytest.raises(hpmoe.HpmoeError, match="`gate` has the shape"):
        call(layer, ids, [*tensors[:2], tensors[2][:4], *tensors[3:]])
    ids[3, 0] = ids[3, 1]
    with pytest.raises(hpmoe.HpmoeError, match="topk_ids of rank 0, row 3 has expert"):
        call(layer, ids, tensors)
    meta = [tensor.to("meta") for tensor in tensors]
    with pytest.raises(RuntimeError, match="`gate` has the shape"):
        call(layer, ids.to("meta"), [*meta[:2], meta[2][:4], *meta[3:]])
    assert call(layer, ids.to("meta"), meta).shape == (T, H)
    with pytest.raises(hpmoe.HpmoeError, match="swiglu::backward has no gradients"):
        mine = with_gradients(tensors)
        y = call(layer, inputs()[0], mine)
        (first,) = torch.autograd.grad(y.sum(), mine[:1], create_graph=True)
        first.sum().backward()


def test_forward_mode_derivatives_are_refused(layer: MoE) -> None:
    ids, (x, *others) = inputs()
    said = r"a layer has no forward-mode derivatives \(torch.func.jvp\): use those of its backward pass"
    with pytest.raises(hpmoe.HpmoeError, match=said):
        torch.func.jvp(lambda x: call(layer, ids, [x, *others]), (x,), (x,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(hpmoe.HpmoeError, match=said):
        call(layer, ids, [torch.autograd.forward_ad.make_dual(x, x), *others])


def test_transforms_of_functions_are_refused(layer: MoE) -> None:
    ids, (x, *others) = inputs()
    of_x = lambda x: call(layer, ids, [x, *others])  # noqa: E731
    said = r"have no gradients in torch.func \(grad, vjp, jacrev\): call .backward\(\) or torch.autograd.grad outside of it"
    for transformed in (torch.func.grad(lambda x: of_x(x).sum()), torch.func.jacrev(of_x), lambda x: torch.func.vjp(of_x, x)[1](x)):
        with pytest.raises(hpmoe.HpmoeError, match=said):
            transformed(x)
    said = "can't be batched by torch.vmap: call the layer once with the tokens of the whole batch"
    with pytest.raises(hpmoe.HpmoeError, match=said):
        torch.vmap(of_x)(torch.stack([x, x]))
    with pytest.raises(hpmoe.HpmoeError, match=said):
        torch.vmap(lambda ids: call(layer, ids, [x, *others]))(torch.stack([ids, ids]))
    from hpmoe import _torch

    run = lambda x: torch.ops.hpmoe.run(ids, [x, *others], _torch.key(layer.taskflow), layer.group.name)[0]  # noqa: E731
    with pytest.raises(hpmoe.HpmoeError, match=said):
        torch.vmap(run)(torch.stack([x, x]))
    # Outside of torch.func, gradients work.
    (mine,) = torch.autograd.grad(of_x(x.requires_grad_()).sum(), x)
    assert mine.shape == x.shape


def test_a_launch_is_part_of_a_profile(layer: MoE, tmp_path: Path) -> None:
    from test_traces import report

    ids, tensors = inputs()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call(layer, ids, tensors)
        launch = hpmoe.last_report()
    path = tmp_path / "profile.json"
    profile.export_chrome_trace(str(path))
    # Both use the same clock: a tile at the start of the launch lies within the operator.
    made = report(launch["began_unix_ns"])
    for event in made["trace"]["traceEvents"]:
        event.update({name: 0.0 for name in ("ts", "dur") if name in event})
    hpmoe.merge_trace(path, made, path)
    events = json.loads(path.read_text())["traceEvents"]
    (operator,) = [event for event in events if event["name"] == "hpmoe::run" and event.get("cat") == "cpu_op"]
    tiles = [event for event in events if event.get("cat") == "task"]
    assert len(tiles) == 2 and all(operator["ts"] <= tile["ts"] <= operator["ts"] + operator["dur"] for tile in tiles)


def test_layers_are_simulated_and_shown(layer: MoE, monkeypatch: pytest.MonkeyPatch) -> None:
    from hpmoe import _command
    from test_tools import program

    monkeypatch.setattr(_command, "_places", lambda: [program()])
    ours = hpmoe.simulate(layer, ranks=2).ours
    assert (ours.tokens, ours.ranks) == (64, 2)
    assert hpmoe.simulate(layer, ranks=2, max_tokens=128).ours.tokens == 128
    assert hpmoe.check(layer) and hpmoe.simulate(pickle.loads(pickle.dumps(layer)), ranks=2).ours == ours
    shown = layer._repr_html_()
    assert "gate=&#x27;swiglu&#x27;" in shown and "swiglu::backward on 1, 2, 4, 8 ranks" in shown


@pytest.mark.parametrize("ranks", [1, 4])
def test_slots_may_be_empty(layer: MoE, ranks: int) -> None:
    ids, tensors = inputs(experts=6)
    empty = torch.rand(T, K, generator=torch.Generator().manual_seed(4)) < 0.4
    empty[5] = True
    weights = tensors[1].masked_fill(empty, 0.0)
    results = []
    # Compared with weights of 0, which add nothing to the result either.
    for chosen, weighed in [(ids.masked_fill(empty, -1), tensors[1]), (ids, weights)]:
        mine = with_gradients([tensors[0], weighed, *tensors[2:]])
        y = call(layer, chosen, mine, group=hpmoe.Group(ranks=ranks))
        y.float().pow(2).sum().backward()
        results.append([y, *(tensor.grad for tensor in mine)])
    for number, (mine, other) in enumerate(zip(*results)):
        if number == 2:
            assert (mine[empty] == 0).all()
            mine, other = mine[~empty], other[~empty]
        assert (mine.float() - other.float()).norm() < 1e-2 * other.float().norm(), number
    assert (results[0][0][5] == 0).all() and (results[0][1][5] == 0).all()


def test_layers_are_copied_and_pickled_without_their_memory(layer: MoE) -> None:
    ids, tensors = inputs()
    want = call(layer, ids, tensors)
    assert copy.deepcopy(layer) is layer
    again = pickle.loads(pickle.dumps(layer))
    assert again.library is layer.library and again.group is layer.group
    assert torch.equal(call(again, ids, tensors), want)


def test_threads_share_a_layer(layer: MoE) -> None:
    ids, tensors = inputs()
    want, results = call(layer, ids, tensors), []
    threads = [threading.Thread(target=lambda: results.append(call(layer, ids, tensors))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(torch.equal(result, want) for result in results)


@pytest.mark.parametrize("ranks", [1, 4])
def test_gate_and_up_in_one_tensor(layer: MoE, ranks: int) -> None:
    ids, (x, weights, gate, up, down) = inputs()
    apart, joined = with_gradients([x, weights, gate, up, down]), with_gradients([x, weights, torch.cat([gate, up], 1), down])
    group = hpmoe.Group(ranks=ranks)
    results = [call(layer, ids, tensors, group=group) for tensors in (apart, joined)]
    copied = hpmoe.last_report()["copied"]
    assert all(copy["tensor"] == "weights" for copy in copied) and torch.equal(*results)
    for y in results:
        y.float().pow(2).sum().backward()
    x, weights, gate, up, down = (tensor.grad for tensor in apart)
    assert all(torch.equal(a.grad, b) for a, b in zip(joined, [x, weights, torch.cat([gate, up], 1), down]))
    torch.library.opcheck(
        torch.ops.hpmoe.run.default, (ids, [tensor.detach() for tensor in joined], layer._keys[2], group.name)
    )


#: Runs in its own process: the memory that a layer with 122 MiB of matrices adds to the peak of resident memory.
MEMORY = """
import gc, re
import torch
import hpmoe
from hpmoe._moe import MoE
layer = MoE(hpmoe.load({library!r}), "swiglu")
random = torch.Generator().manual_seed(0)
normal = lambda *shape: (0.1 * torch.randn(*shape, generator=random, dtype=torch.bfloat16))
matrices = [[normal(640, 1040, 32), normal(640, 1040, 32), normal(640, 32, 1040)]]
matrices.append([torch.cat(matrices[0][:2], 1), matrices[0][2]])
x, ids = normal(5, 32), torch.tensor([[0], [639], [1], [0], [77]])
size = sum(tensor.nbytes for tensor in matrices[0])
# Not getrusage's peak, which starts at the parent's.
peak = lambda: 1024 * int(re.search("VmHWM:\\s*([0-9]+) kB", open("/proc/self/status").read())[1])
# First use up the memory that the process needs once for any size.
for _ in range(3):
    layer(x.clone().requires_grad_(), ids, torch.ones(5, 1), *matrices[0])
gc.collect()
for tensors in matrices:
    [tensor.requires_grad_() for tensor in tensors]
    before = peak()
    y = layer(x, ids, torch.ones(5, 1), *tensors)
    assert y.requires_grad and hpmoe.last_report()["copied"] == [], hpmoe.last_report()["copied"]
    print(size, peak() - before)
before = peak()
copied = [tensor.clone() for tensor in matrices[0]]
print(size, peak() - before)
"""


@pytest.fixture(scope="module")
def large() -> MoE:
    """A layer with many matrices, which have more rows than a tile may have."""
    return hpmoe.moe(hidden=32, inter=1040, experts=640, top_k=1, max_tokens=8)


def test_a_fixed_launch_names_a_tensor_that_has_moved(library: hpmoe.Library, group: hpmoe.Group) -> None:
    ids, tensors = inputs(24)
    forward = library["swiglu::forward"]
    given = dict(zip([argument.name for argument in forward.arguments], tensors))
    fixed = forward.fix(group, ids, **given)
    x = given["x"]
    x.copy_(inputs(24, seed=1)[1][0])
    assert torch.equal(fixed.launch()[0], forward(group, ids, **given)[0])
    lies = x.data
    for moved in (x.clone(), x[:12]):
        x.data = moved
        with pytest.raises(hpmoe.HpmoeError, match="`x` has a different address or shape than when the launch was fixed"):
            fixed.launch()
    x.data = lies
    assert torch.equal(fixed.launch()[0], forward(group, ids, **given)[0])


@pytest.mark.slow
def test_memory_does_not_grow_by_the_matrices(large: MoE) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(hpmoe.__file__).parents[1])}
    script = MEMORY.format(library=large.library.path)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    (size, apart), (_, joined), (_, copies) = numbers
    assert size > 100 * 2**20 and max(apart, joined) < size / 20, numbers
    # The memory that a copy would have needed.
    assert copies > size / 2, numbers


@pytest.mark.slow
def test_layers_with_large_matrices(large: MoE) -> None:
    assert hpmoe.moe(hidden=32, inter=1040, experts=640, top_k=1, max_tokens=8).library is large.library
    random = torch.Generator().manual_seed(0)
    normal = lambda *shape: (0.1 * torch.randn(*shape, generator=random)).bfloat16()  # noqa: E731
    x, gate, up, down = normal(5, 32), normal(640, 1040, 32), normal(640, 1040, 32), normal(640, 32, 1040)
    ids, weights = torch.tensor([[0], [1], [639], [0], [1]]), torch.ones(5, 1)
    y = large(x, ids, weights, gate, up, down)
    wide = [x.double(), *(tensor[ids[:, 0]].double() for tensor in (gate, up, down))]
    h = [torch.einsum("th,tih->ti", wide[0], matrices) for matrices in wide[1:3]]
    want = torch.einsum("ti,thi->th", torch.nn.functional.silu(h[0]) * h[1], wide[3])
    assert (y.double() - want).abs().max() < 0.01 * want.abs().max()
    assert torch.equal(large(x, ids, weights, torch.cat([gate, up], 1), down), y)
