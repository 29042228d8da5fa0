"""Experts of Hugging Face transformers on hpmoe kernels.

>>> import hpmoe.hf
>>> model = AutoModelForCausalLM.from_config(config, experts_implementation="hpmoe")
>>> hpmoe.hf.prepare(model, max_tokens=512)     # optional: builds the kernels now, chooses the group

It is for experts with ``down(silu(gate x) * up x)`` whose gate and up matrices lie in ``gate_up_proj``, [experts, 2 * inter, hidden]: those
of Qwen3-MoE, DeepSeek-V3, Mixtral, GLM-4.5, MiniMax-M2 and many more. Other experts are computed by transformers itself, with a warning.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from transformers.integrations import moe as experts_of_transformers

from ._errors import HpmoeError
from ._group import Group
from ._moe import MoE, moe

__all__ = ["prepare", "why_not"]


def why_not(experts: nn.Module) -> str | None:
    """Why hpmoe has no kernel for these experts; None if it has one."""
    if not getattr(experts, "has_gate", True):
        return "they have no gate"
    if getattr(experts, "has_bias", False):
        return "they have biases"
    if getattr(experts, "is_transposed", False) or not getattr(experts, "is_concatenated", True):
        return "their matrices are transposed or interleaved"
    if getattr(experts, "has_post_expert_norm", False):
        return "their results are normalised"
    if getattr(experts, "_is_expert_parallel", False):
        # The router's sentinels for experts of other processes are no experts here.
        return "each process has the matrices of its own experts alone"
    default = experts_of_transformers._default_apply_gate
    if getattr(type(experts), "_apply_gate", default) is not default:
        return f"{type(experts).__name__} has a gate of its own"
    activation = getattr(experts, "act_fn", None)
    if activation is not nn.functional.silu and type(activation).__name__ not in ("SiLU", "SiLUActivation"):
        return f"their activation is {type(activation).__name__}, and not SiLU"
    if not isinstance(getattr(experts, "gate_up_proj", None), Tensor) or not isinstance(experts.down_proj, Tensor):
        return "their matrices are no tensors gate_up_proj and down_proj"
    return None


def prepare(model: nn.Module, *, max_tokens: int = 64, top_k: int | None = None, group: Group | None = None) -> int:
    """Builds the kernels that a model needs, before its first step and before ``torch.compile``.

    Args:
        model: A model, or a part of one.
        max_tokens: Most tokens of one rank in a step (batch size times length).
        top_k: Experts of each token; by default what the model's configuration says.
        group: The ranks; by default one.

    Returns:
        How many of the model's experts run on hpmoe.

    Raises:
        HpmoeError: If the model has no experts that hpmoe has a kernel for.
    """
    found, reasons = 0, set()
    for module in model.modules():
        if not (hasattr(module, "down_proj") and hasattr(module, "num_experts") and hasattr(module, "config")):
            continue
        reason = why_not(module)
        if reason is not None:
            reasons.add(reason)
            continue
        count = top_k or _top_k(module.config)
        module._hpmoe = _layer(module, count, max_tokens, group)
        found += 1
    if not found:
        why = "; ".join(sorted(reasons)) or "it has none that transformers calls by experts_implementation"
        raise HpmoeError(f"hpmoe has no kernel for the experts of this model: {why}")
    return found


def _top_k(config: Any) -> int:
    for name in ("num_experts_per_tok", "top_k", "moe_topk", "num_experts_per_token"):
        if isinstance(getattr(config, name, None), int):
            return getattr(config, name)
    raise HpmoeError("the model's configuration does not say how many experts a token has: pass top_k")


def _layer(experts: nn.Module, top_k: int, max_tokens: int, group: Group | None) -> MoE:
    count, hidden, inter = experts.down_proj.shape
    layer = moe(hidden=hidden, inter=inter, experts=count, top_k=top_k, max_tokens=max_tokens)
    if group is not None:
        layer.group = group
    return layer


_warned: set[tuple[type, str]] = set()


def experts_forward(self: nn.Module, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """The sum of a token's experts with the router's weights, as transformers asks for it."""
    layer = getattr(self, "_hpmoe", None)
    if layer is None or (not torch.compiler.is_compiling() and not _fits(layer, hidden_states, top_k_index)):
        reason = why_not(self)
        if reason is not None:
            if (type(self), reason) not in _warned:
                _warned.add((type(self), reason))
                warnings.warn(f"hpmoe has no kernel for {type(self).__name__} ({reason}): transformers computes them", stacklevel=2)
            return type(self).forward.__wrapped__(self, hidden_states, top_k_index, top_k_weights)
        if torch.compiler.is_compiling():
            raise HpmoeError("kernels can't be built while a model is compiled: call hpmoe.hf.prepare(model, max_tokens=..) before")
        group = None if layer is None else layer.group
        layer = _layer(self, top_k_index.shape[1], _room(hidden_states.shape[0], group), group)
        self._hpmoe = layer
    return layer(hidden_states, top_k_index, top_k_weights, self.gate_up_proj, self.down_proj)


def _fits(layer: MoE, hidden_states: Tensor, top_k_index: Tensor) -> bool:
    flow = layer.taskflow
    return hidden_states.shape[0] <= flow.tokens * layer.group.ranks and top_k_index.shape[1] == flow.top_k


def _room(tokens: int, group: Group | None) -> int:
    """Tokens of a rank to build for: a power of two, so that few sizes are built."""
    of_rank = -(-tokens // (1 if group is None else group.ranks))
    return max(64, 1 << (of_rank - 1).bit_length())


experts_of_transformers.ExpertsInterface.register("hpmoe", experts_forward)
