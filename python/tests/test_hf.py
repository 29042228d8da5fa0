"""Tiny models of Hugging Face transformers: experts on hpmoe, compared with those of transformers."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5")

from torch import nn  # noqa: E402

import hpmoe  # noqa: E402
import hpmoe.hf  # noqa: E402

COMMON = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 96,
    "max_position_embeddings": 64,
    "num_experts_per_tok": 2,
    "pad_token_id": 0,
    "eos_token_id": None,
}
MODELS = {
    "Qwen3Moe": {"num_experts": 8, "moe_intermediate_size": 32, "head_dim": 16, "norm_topk_prob": True},
    "Mixtral": {"num_local_experts": 8, "intermediate_size": 32},
    "DeepseekV3": {
        "n_routed_experts": 8,
        "moe_intermediate_size": 32,
        "n_shared_experts": 1,
        "n_group": 2,
        "topk_group": 1,
        "first_k_dense_replace": 0,
        "num_key_value_heads": 4,
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16,
        "v_head_dim": 16,
    },
    "Glm4Moe": {
        "n_routed_experts": 8,
        "moe_intermediate_size": 32,
        "n_shared_experts": 1,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 0,
        "head_dim": 16,
    },
    "MiniMaxM2": {"num_local_experts": 8, "intermediate_size": 32, "head_dim": 16},
    "GptOss": {"num_local_experts": 8, "intermediate_size": 32, "head_dim": 16},
}


def model_of(name: str, seed: int):
    """A tiny model in bf16."""
    torch.manual_seed(seed)
    config = getattr(transformers, f"{name}Config")(**{**COMMON, **MODELS[name]})
    model = getattr(transformers, f"{name}ForCausalLM")._from_config(config, dtype=torch.bfloat16)
    if name == "GptOss":
        # Initial biases are zero, which would hide errors.
        for experts in experts_of(model):
            for bias in (experts.gate_up_proj_bias, experts.down_proj_bias):
                nn.init.normal_(bias, std=0.1)
    return model.eval()


def experts_of(model) -> list:
    """The modules that transformers calls through `experts_implementation`."""
    return [module for module in model.modules() if hasattr(module, "down_proj") and hasattr(module, "num_experts")]


def step(model, words):
    """Logits, routes and gradients."""
    routes = []
    keep = lambda module, arguments, options: routes.append([*arguments, *options.values()][1].clone())  # noqa: E731
    hooks = [experts.register_forward_pre_hook(keep, with_kwargs=True) for experts in experts_of(model)]
    model.zero_grad()
    out = model(input_ids=words, labels=words)
    out.loss.backward()
    for hook in hooks:
        hook.remove()
    return out.logits.detach().float(), routes, {n: p.grad.float() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_as_near_as_bf16_allows(name: str, library: hpmoe.Library) -> None:
    # Tries seeds until the routes are equal: if two experts are almost equally good, bf16 changes the choice.
    for seed in range(6):
        eager = model_of(name, seed)
        eager.set_experts_implementation("eager")
        kernel = copy.deepcopy(eager)
        kernel.set_experts_implementation("hpmoe")
        words = torch.randint(1, 96, (2, 12), generator=torch.Generator().manual_seed(seed))
        logits, routes, gradients = step(eager, words)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            its_logits, its_routes, its_gradients = step(kernel, words)
        assert hpmoe.last_report()["kernel"] == ("gpt_oss::backward" if name == "GptOss" else "swiglu_joined::backward")
        assert hpmoe.last_report()["copied"] == []
        if all(torch.equal(a, b) for a, b in zip(routes, its_routes)):
            break
    else:
        pytest.fail("no seed has the same routes")
    assert len(routes) == 2 and (logits - its_logits).abs().max() < 1e-2
    assert gradients.keys() == its_gradients.keys()
    for parameter, gradient in gradients.items():
        error = (gradient - its_gradients[parameter]).norm() / gradient.norm().clamp(min=1e-6)
        assert error < 3e-2, (parameter, error)
    options = {"max_new_tokens": 6, "do_sample": False}
    assert torch.equal(eager.generate(words[:1], **options), kernel.generate(words[:1], **options))


def test_a_compiled_model(library: hpmoe.Library) -> None:
    model = model_of("Qwen3Moe", 0)
    model.set_experts_implementation("hpmoe")
    assert hpmoe.hf.prepare(model, max_tokens=64, group=hpmoe.Group(ranks=2)) == 2
    words = torch.randint(1, 96, (1, 12))
    want = model(input_ids=words, use_cache=False).logits
    assert hpmoe.last_report()["ranks"] == 2
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(input_ids=words, use_cache=False).logits, want)


@pytest.mark.parametrize("name", ["Qwen3Moe", "GptOss"])
def test_experts_of_other_processes_are_empty_slots(name: str, library: hpmoe.Library) -> None:
    model = model_of(name, 0)
    experts = experts_of(model)[0]
    random = torch.Generator().manual_seed(5)
    ids = torch.rand(20, 9, generator=random).argsort(1)[:, :2]
    ids[:3] = 8
    weights = torch.rand(20, 2, generator=random).masked_fill(ids == 8, 0.0)
    want = experts(torch.ones(20, 64).bfloat16(), ids.clamp(max=7), weights)
    experts._is_expert_parallel = True
    model.set_experts_implementation("hpmoe")
    x, w = torch.ones(20, 64).bfloat16().requires_grad_(), weights.clone().requires_grad_()
    y = experts(x, ids, w)
    assert hpmoe.last_report()["kernel"].endswith("::forward")
    y.float().pow(2).sum().backward()
    assert (y - want).abs().max() < 1e-2 * want.abs().max() and (y[:3] == 0).all() and (x.grad[:3] == 0).all()
    assert (w.grad[ids == 8] == 0).all() and (w.grad[ids != 8] != 0).all()


def test_experts_without_a_kernel_are_said() -> None:
    model = model_of("GptOss", 0)
    model.set_experts_implementation("eager")
    words = torch.randint(1, 96, (1, 8))
    want = model(input_ids=words).logits
    for experts in experts_of(model):
        # A gate that differs from that of gpt-oss.
        kind = type("OtherExperts", (type(experts),), {"_apply_gate": lambda self, pairs: type(self).__base__._apply_gate(self, pairs)})
        experts.__class__ = kind
    model.set_experts_implementation("hpmoe")
    with pytest.warns(UserWarning, match=r"hpmoe has no kernel for OtherExperts \(they have biases\): transformers"):
        assert torch.equal(model(input_ids=words).logits, want)
    with pytest.raises(hpmoe.HpmoeError, match="no kernel for the experts of this model: they have biases"):
        hpmoe.hf.prepare(model)


def test_the_limits_of_gpt_oss_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from hpmoe.hf import _experts

    asked = []
    monkeypatch.setattr(_experts, "moe", lambda **sizes: asked.append(sizes))
    model = model_of("GptOss", 0)
    for limit, slope in [(7.0, 1.702), (5.0, 1.5)]:
        for experts in experts_of(model):
            experts.limit, experts.alpha = limit, slope
        hpmoe.hf.prepare(model)
    sizes = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2, "max_tokens": 64, "gate": "gpt_oss", "chunks_at_most": 1}
    assert asked == [sizes, sizes, *[{**sizes, "LIMIT": 5.0, "SLOPE": 1.5}] * 2]


def test_experts_of_a_model_can_have_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    from hpmoe.hf import _experts

    asked = []
    monkeypatch.setattr(_experts, "moe", lambda **sizes: asked.append(sizes["chunks_at_most"]))
    hpmoe.hf.prepare(model_of("Qwen3Moe", 0), chunks_at_most=8)
    assert asked == [8, 8]
