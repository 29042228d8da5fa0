"""Expert parallelism of transformers, with FSDP: four processes, compared with one."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5")
pytest.importorskip("accelerate")

import hpmoe  # noqa: E402
from ranks import run_ranks  # noqa: E402
from test_hf import experts_of, model_of  # noqa: E402

RANKS = 4
#: Number of tokens of each rank in calls of experts alone.
TOKENS = [7, 0, 9, 4]
MODELS = ["Qwen3Moe", "GptOss"]

#: One rank: a step of each model, then experts whose ranks have different numbers of tokens, then groups that don't agree.
RANK = """
import time
import torch, torch.distributed as distributed
import hpmoe, hpmoe.hf
from test_hf_parallel import MODELS, TOKENS, routed, words_of
from test_hf import experts_of
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig
distributed.init_process_group("gloo")
rank = distributed.get_rank()
config = DistributedConfig(fsdp_size=4, ep_size=4, ep_implementation="hpmoe")
for name in MODELS:
    model = AutoModelForCausalLM.from_pretrained(
        {folder!r} + "/" + name, dtype=torch.bfloat16, experts_implementation="hpmoe", distributed_config=config
    )
    experts = experts_of(model)
    for module in model.modules():
# Gloo can't divide while it sums. Experts that only one process has are not summed.
        if isinstance(module, FSDPModule) and module not in experts:
            module.set_force_sum_reduction_for_comms(True)
    if name == "GptOss":
        assert hpmoe.hf.prepare(model, max_tokens=64) == 2
    out = model(input_ids=words_of(rank), labels=words_of(rank))
    out.loss.backward()
    report = hpmoe.last_report()
    assert report["ranks"] == 4 and report["copied"] == [], report
    whole = lambda gradient: gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
    gradients = {{n: whole(p.grad) for n, p in model.named_parameters() if p.grad is not None}}
    tokens = model.generate(words_of(0)[:1], max_new_tokens=4, do_sample=False)
    torch.save([out.logits.detach(), gradients, tokens], {folder!r} + f"/{{name}}-{{rank}}.pt")
# A late rank, and one without tokens.
    time.sleep(1 if rank == 2 else 0)
    x, ids, weights = routed(rank)
    x.requires_grad_()
    y = experts[0](x, ids, weights)
    y.float().pow(2).sum().backward()
    torch.save([y.detach(), x.grad], {folder!r} + f"/{{name}}-{{rank}}-alone.pt")

def refused(call):
    try:
        call()
    except hpmoe.HpmoeError as error:
        print(str(error).replace(chr(10), " "), flush=True)
    distributed.barrier()

x, ids, weights = routed(rank)
with torch.no_grad():
    prepared = lambda **options: hpmoe.hf.prepare(model, max_tokens=64, **options)
    prepared(group=hpmoe.Group(process_group=distributed.group.WORLD, capacity_rows=64 + rank))
    refused(lambda: experts[0](x, ids, weights))
    prepared(group=hpmoe.Group(process_group=distributed.group.WORLD))
    many = [tensor.repeat(10, 1) for tensor in (x, ids, weights)] if rank == 0 else (x, ids, weights)
    refused(lambda: experts[0](*many))
    print(experts[0](x, ids, weights).shape[0])

# Two processes share a batch, and each computes a part of its tokens.
config = DistributedConfig(tp_size=2, fsdp_size=2, ep_size=4, ep_implementation="hpmoe")
model = AutoModelForCausalLM.from_pretrained(
    {folder!r} + "/Qwen3Moe", dtype=torch.bfloat16, experts_implementation="hpmoe", distributed_config=config
)
experts = experts_of(model)
for module in model.modules():
    if isinstance(module, FSDPModule) and module not in experts:
        module.set_force_sum_reduction_for_comms(True)
out = model(input_ids=words_of(0)[:, :7], labels=words_of(0)[:, :7])
out.loss.backward()
gradients = {{n: p.grad.full_tensor() for n, p in model.named_parameters() if ".experts." in n}}
torch.save([out.logits.detach(), gradients], {folder!r} + f"/shared-{{rank}}.pt")
distributed.barrier()
"""


def words_of(rank: int):
    """The input of a rank."""
    return torch.randint(1, 96, (2, 12), generator=torch.Generator().manual_seed(rank))


def routed(rank: int) -> tuple:
    """Tokens, ids and weights of a rank."""
    random = torch.Generator().manual_seed(100 + rank)
    ids = torch.rand(TOKENS[rank], 8, generator=random).argsort(dim=1)[:, :2]
    return torch.randn(TOKENS[rank], 64, generator=random).bfloat16(), ids, torch.rand(TOKENS[rank], 2, generator=random)


def test_four_processes_are_one(library: hpmoe.Library, tmp_path: Path) -> None:
    for name in MODELS:
        model_of(name, 0).save_pretrained(tmp_path / name)
    # Builds the kernels first, so that the processes don't wait for a build.
    hpmoe.moe(hidden=64, inter=32, experts=8, top_k=2)
    hpmoe.moe(hidden=64, inter=32, experts=8, top_k=2, gate="gpt_oss")
    said = run_ranks(RANK.format(folder=str(tmp_path)))
    for name in MODELS:
        model = model_of(name, 0)
        model.set_experts_implementation("hpmoe")
        parts = [torch.load(tmp_path / f"{name}-{rank}.pt") for rank in range(RANKS)]
        for rank, (logits, _, tokens) in enumerate(parts):
            out = model(input_ids=words_of(rank), labels=words_of(rank))
            assert torch.equal(out.logits, logits), (name, rank)
            (out.loss / RANKS).backward()
            assert torch.equal(model.generate(words_of(0)[:1], max_new_tokens=4, do_sample=False), tokens)
        want = {n: p.grad.float() for n, p in model.named_parameters() if p.grad is not None}
        assert all(gradients.keys() == want.keys() for _, gradients, _ in parts)
        for parameter, gradient in want.items():
            error = (gradient - parts[0][1][parameter].float()).norm() / gradient.norm().clamp(min=1e-6)
            assert error < 3e-2, (name, parameter, error)
        for rank in range(RANKS):
            x, ids, weights = routed(rank)
            x.requires_grad_()
            y = experts_of(model)[0](x, ids, weights)
            y.float().pow(2).sum().backward()
            alone = torch.load(tmp_path / f"{name}-{rank}-alone.pt")
            assert torch.equal(y, alone[0]) and torch.equal(x.grad, alone[1]), (name, rank)
    model = model_of("Qwen3Moe", 0)
    model.set_experts_implementation("hpmoe")
    out = model(input_ids=words_of(0)[:, :7], labels=words_of(0)[:, :7])
    out.loss.backward()
    for rank in range(RANKS):
        logits, gradients = torch.load(tmp_path / f"shared-{rank}.pt")
        assert (logits - out.logits).abs().max() < 1e-2, rank
        assert len(gradients) == 4
        for name, gradient in gradients.items():
            want = model.get_parameter(name).grad.float()
            assert (gradient.float() - want).norm() < 3e-2 * want.norm(), (rank, name)
    for rank, out in enumerate(said):
        capacity, tokens, after = out.splitlines()
        assert "the ranks disagree about capacity (rows): " in capacity, (rank, capacity)
        assert "x has 70 tokens, but the layer was made for at most 64 tokens per rank: make it with max_tokens=70" in tokens, (rank, tokens)
        assert rank == 0 or "rank 0 failed with this error" in tokens, (rank, tokens)
        assert after == str(TOKENS[rank])
