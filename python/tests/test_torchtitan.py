"""The routed experts of TorchTitan: its own module, with its experts and with hpmoe's."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchtitan.models.common.moe", exc_type=ImportError)

import hpmoe  # noqa: E402
from ranks import run_ranks  # noqa: E402
from torchtitan.config import OverrideConfig, apply_overrides  # noqa: E402
from torchtitan.models.common.config_utils import (  # noqa: E402
    make_moe_config,
    make_routed_experts_config,
    make_router_config,
)

H, I, E, K = 64, 32, 8, 2
RANKS, TOKENS = 4, 16
OVERRIDE = "hpmoe.torchtitan.routed_experts"


def config_of():
    """An MoE layer."""
    normal = lambda parameter: torch.nn.init.normal_(parameter, std=0.1)  # noqa: E731
    router = make_router_config(dim=H, num_experts=E, gate_param_init={"weight": normal}, top_k=K, score_func="softmax", route_norm=True)
    names = ["w1_EFD", "w2_EDF", "w3_EFD"]
    experts = make_routed_experts_config(
        dim=H, hidden_dim=I, num_experts=E, top_k=K, param_init=dict.fromkeys(names, normal), comm_backend="standard"
    )
    return make_moe_config(num_experts=E, router=router, routed_experts=experts)


def built(config):
    """Its module in bf16, always with the same parameters."""
    torch.manual_seed(0)
    module = config.build()
    module.init_states()
    return module.bfloat16()


def overridden(**settings):
    """The configuration with hpmoe's experts."""
    config = config_of()
    applied = apply_overrides(OverrideConfig(imports=[(OVERRIDE, {"max_tokens": 64, **settings})]), config)
    assert len(applied) == 1
    return config


def tokens_of(rank: int):
    """Tokens of a rank."""
    return torch.randn(2, TOKENS // 2, H, generator=torch.Generator().manual_seed(rank)).bfloat16()


def step(module, x):
    """The result, and the gradient of a sum that depends on it."""
    x = x.reshape(shape_of(module, x)).requires_grad_()
    y = module(x)
    y.float().pow(2).sum().backward()
    return y.detach().reshape(-1, H), x.grad.reshape(-1, H)


def shape_of(module, x) -> tuple:
    """Tokens have one or two dimensions, depending on the version of TorchTitan."""
    names = type(module).forward.__code__.co_varnames
    return (-1, H) if names[1] == "x_TD" else tuple(x.shape)


def near(mine, other, limit: float) -> None:
    """Compares tensors as a whole."""
    error = (mine.float() - other.float()).norm() / other.float().norm().clamp(min=1e-6)
    assert error < limit, error


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_layer_is_torchtitans(ranks: int, library: hpmoe.Library) -> None:
    theirs, mine = built(config_of()), built(overridden(ranks=ranks))
    assert type(mine.routed_experts).__name__ == "HpmoeRoutedExperts"
    assert theirs.state_dict().keys() == mine.state_dict().keys()
    (y, dx), (want, want_dx) = step(mine, tokens_of(0)), step(theirs, tokens_of(0))
    report = hpmoe.last_report()
    assert (report["kernel"], report["ranks"], report["copied"]) == ("swiglu::backward", ranks, [])
    near(y, want, 1e-2)
    near(dx, want_dx, 3e-2)
    for (name, parameter), other in zip(mine.named_parameters(), theirs.parameters()):
        near(parameter.grad, other.grad, 3e-2)
        assert parameter.grad.abs().max() > 0, name


def test_the_kernel_gets_the_parameters(library: hpmoe.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    module, given = built(overridden()), []
    interface = type(library._interface)
    launch = interface.launch

    def looking(self, group, what):
        given.extend(part.data for part in what.tensors)
        return launch(self, group, what)

    monkeypatch.setattr(interface, "launch", looking)
    with torch.no_grad():
        module(tokens_of(0).reshape(shape_of(module, tokens_of(0))))
    experts = module.routed_experts.inner_experts
    assert given[2:5] == [tensor.data_ptr() for tensor in (experts.w1_EFD, experts.w3_EFD, experts.w2_EDF)]


def test_one_graph(library: hpmoe.Library) -> None:
    module = built(overridden())
    x = tokens_of(0).reshape(shape_of(module, tokens_of(0)))
    want = module(x)
    assert torch.equal(torch.compile(module.routed_experts, fullgraph=True, backend="eager")(*routed(module, x)), want)


def routed(module, x) -> tuple:
    """The arguments that a module's routed experts are called with."""
    given = []
    hook = module.routed_experts.register_forward_pre_hook(lambda _, arguments: given.append(arguments))
    module(x)
    hook.remove()
    return given[0]


def test_experts_without_a_kernel_stay() -> None:
    from torchtitan.models.gpt_oss.moe import GptOssGroupedExperts

    from hpmoe.torchtitan import routed_experts

    config = config_of().routed_experts
    other = replace(config, inner_experts=GptOssGroupedExperts.Config(dim=H, hidden_dim=I, num_experts=E))
    with pytest.warns(UserWarning, match="hpmoe has no kernel for GptOssGroupedExperts.Config: torchtitan computes these experts"):
        assert routed_experts(other, max_tokens=64) is other
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert routed_experts(config, max_tokens=64).max_tokens == 64


#: One rank of an expert-parallel layer.
RANK = """
import torch, torch.distributed as distributed
import hpmoe
from test_torchtitan import built, overridden, step, tokens_of
from torch.distributed.tensor import DTensor
from torchtitan.distributed import parallel_dims
from torchtitan.models.common.moe_sharding import set_moe_sharding_config
import spmd_types as spmd
distributed.init_process_group("gloo")
rank = distributed.get_rank()
# Otherwise it chooses the device that PyTorch was built for, even if there is none.
parallel_dims.device_type = "cpu"
dims = parallel_dims.ParallelDims(dp_replicate=1, dp_shard=4, cp=1, tp=1, pp=1, ep=4, world_size=4, spmd_backend="partial_dtensor")
dims.build_mesh()
config = overridden()
layout = {{"w1_EFD": spmd.S(1), "w2_EDF": spmd.S(2), "w3_EFD": spmd.S(1)}}
set_moe_sharding_config(config, enable_ep=True, enable_sp=False, expert_param_layout=layout)
module = built(config)
module.parallelize(dims)
experts = module.routed_experts.inner_experts
assert isinstance(experts.w1_EFD, DTensor) and experts.w1_EFD.to_local().shape[0] == 2
y, dx = step(module, tokens_of(rank))
report = hpmoe.last_report()
assert report["ranks"] == 4 and report["copied"] == [], report
gradients = {{name: p.grad.full_tensor() for name, p in experts.named_parameters()}}
torch.save([y, dx, gradients], {folder!r} + f"/{{rank}}.pt")
"""


def test_four_processes_are_one(library: hpmoe.Library, tmp_path: Path) -> None:
    run_ranks(RANK.format(folder=str(tmp_path)))
    module = built(overridden())
    parts = [torch.load(tmp_path / f"{rank}.pt") for rank in range(RANKS)]
    for rank, (y, dx, _) in enumerate(parts):
        want, want_dx = step(module, tokens_of(rank))
        assert torch.equal(y, want) and torch.equal(dx, want_dx), rank
    for name, parameter in module.routed_experts.inner_experts.named_parameters():
        near(parts[0][2][name], parameter.grad, 3e-2)
