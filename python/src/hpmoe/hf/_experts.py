"""Expert modules of transformers, and the layers that replace them."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers.integrations import moe as experts_of_transformers

from .._errors import HpmoeError
from .._group import Group
from .._moe import MoE, moe


class Kind(NamedTuple):
    """A supported kind of experts: the gate of :func:`hpmoe.moe`, and the names of its tensors."""

    gate: str
    names: tuple[str, ...]


SWIGLU = Kind("swiglu", ("gate_up_proj", "down_proj"))
GPT_OSS = Kind("gpt_oss", ("gate_up_proj", "gate_up_proj_bias", "down_proj", "down_proj_bias"))


def kind_of(experts: nn.Module) -> Kind | str:
    """The kind of these experts, or the reason why there is no kernel for them."""
    gpt_oss = sys.modules.get("transformers.models.gpt_oss.modeling_gpt_oss")
    gate = getattr(type(experts), "_apply_gate", None)
    if gpt_oss is not None and isinstance(experts, gpt_oss.GptOssExperts) and gate is gpt_oss.GptOssExperts._apply_gate:
        return GPT_OSS
    if not getattr(experts, "has_gate", True):
        return "they have no gate"
    if getattr(experts, "has_bias", False):
        return "they have biases"
    if getattr(experts, "is_transposed", False) or not getattr(experts, "is_concatenated", True):
        return "their matrices are transposed or interleaved"
    if getattr(experts, "has_post_expert_norm", False):
        return "their results are normalised"
    if gate not in (None, experts_of_transformers._default_apply_gate):
        return f"{type(experts).__name__} has a gate of its own"
    activation = getattr(experts, "act_fn", None)
    if activation is not nn.functional.silu and type(activation).__name__ not in ("SiLU", "SiLUActivation"):
        return f"their activation is {type(activation).__name__}, but must be SiLU"
    if not isinstance(getattr(experts, "gate_up_proj", None), Tensor) or not isinstance(experts.down_proj, Tensor):
        return "their matrices are not in tensors gate_up_proj and down_proj"
    return SWIGLU


def why_not(experts: nn.Module) -> str | None:
    """The reason why hpmoe has no kernel for these experts; None if it has one."""
    kind = kind_of(experts)
    return kind if isinstance(kind, str) else None


def prepare(
    model: nn.Module, *, max_tokens: int = 64, top_k: int | None = None, group: Group | None = None, chunks_at_most: int = 1
) -> int:
    """Builds the kernels that a model needs, before its first step and before ``torch.compile``.

    With expert parallelism, all processes of a group call it with the same `max_tokens`.

    Args:
        model: A model, or a part of one.
        max_tokens: Maximum number of tokens of one rank in a step (batch size times sequence length).
        top_k: Experts per token; by default the value in the model's configuration.
        group: The ranks; by default one rank, or with expert parallelism the processes that share the experts.
        chunks_at_most: The maximum number of chunks that a launch may divide the tokens into, as for :func:`hpmoe.moe`.

    Returns:
        Number of expert modules of the model that run on hpmoe.

    Raises:
        HpmoeError: If hpmoe has a kernel for none of the model's experts.
    """
    count, reasons = 0, set()
    module: Any
    for module in model.modules():
        if not (hasattr(module, "down_proj") and hasattr(module, "num_experts") and hasattr(module, "config")):
            continue
        reason = why_not(module)
        if reason is not None:
            reasons.add(reason)
            continue
        parallel = getattr(module, "_hpmoe_parallel", None)
        chosen = parallel.group if group is None and parallel is not None else group
        if parallel is not None and chosen is not None:
            parallel.group = chosen
        module._hpmoe = layer_of(module, top_k or _top_k(module.config), max_tokens, chosen, chunks_at_most)
        count += 1
    if not count:
        why = "; ".join(sorted(reasons)) or "transformers calls none of them by experts_implementation"
        raise HpmoeError(f"hpmoe has no kernel for the experts of this model: {why}")
    return count


def _top_k(config: Any) -> int:
    for name in ("num_experts_per_tok", "top_k", "moe_topk", "num_experts_per_token"):
        if isinstance(getattr(config, name, None), int):
            return getattr(config, name)
    raise HpmoeError("the model's configuration does not say how many experts a token has: pass top_k")


def layer_of(experts: nn.Module, top_k: int, max_tokens: int, group: Group | None, chunks_at_most: int = 1) -> MoE:
    """The layer for these experts."""
    kind = kind_of(experts)
    assert isinstance(kind, Kind), kind
    own: Any = experts
    # With expert parallelism, the experts of all processes; otherwise those of this process.
    parallel = getattr(experts, "_hpmoe_parallel", None)
    count = own.num_experts if parallel is None else parallel.experts
    _, hidden, inter = own.down_proj.shape
    constants: dict[str, Any] = {}
    if kind is GPT_OSS:
        hidden, inter = inter, hidden
        chosen = {"LIMIT": float(own.limit), "SLOPE": float(own.alpha)}
        constants = {name: value for name, value in chosen.items() if value != {"LIMIT": 7.0, "SLOPE": 1.702}[name]}
    sizes: dict[str, Any] = {"hidden": hidden, "inter": inter, "experts": count, "top_k": top_k, "max_tokens": max_tokens}
    layer = moe(**sizes, gate=kind.gate, chunks_at_most=chunks_at_most, **constants)
    if group is not None:
        layer.group = group
    return layer


def matrices_of(experts: nn.Module) -> list[Tensor]:
    """The matrices and biases, in the kernel's order."""
    kind = kind_of(experts)
    assert isinstance(kind, Kind), kind
    return [getattr(experts, name) for name in kind.names]


_warned: set[tuple[type, str]] = set()


def experts_forward(self: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """The weighted sum over each token's experts, with the signature that transformers expects."""
    layer = getattr(self, "_hpmoe", None)
    if layer is None or (not torch.compiler.is_compiling() and not _fits(layer, hidden_states, top_k_index)):
        reason = why_not(self)
        if reason is not None:
            if (type(self), reason) not in _warned:
                _warned.add((type(self), reason))
                warnings.warn(f"hpmoe has no kernel for {type(self).__name__} ({reason}): transformers computes them", stacklevel=2)
            return type(self).forward.__wrapped__(self, hidden_states, top_k_index, top_k_weights)
        refuse_while_compiling()
        group = None if layer is None else layer.group
        ranks = 1 if group is None else group.ranks
        layer = layer_of(self, top_k_index.shape[1], room(-(-hidden_states.shape[0] // ranks)), group)
        self._hpmoe = layer
    if getattr(self, "_is_expert_parallel", False):
        # Under the expert parallelism of transformers, ids of other processes' experts are at least `num_experts`.
        top_k_index = top_k_index.masked_fill(top_k_index >= self.num_experts, -1)
    return layer(hidden_states, top_k_index, top_k_weights, *matrices_of(self))


def refuse_while_compiling() -> None:
    """Raises an error if a model is being compiled, because a missing kernel can't be built then."""
    if torch.compiler.is_compiling():
        raise HpmoeError("kernels can't be built while a model is compiled: call hpmoe.hf.prepare(model, max_tokens=..) first")


def _fits(layer: MoE, hidden_states: Tensor, top_k_index: Tensor) -> bool:
    flow = layer.taskflow
    return hidden_states.shape[0] <= flow.max_tokens * layer.group.ranks and top_k_index.shape[1] == flow.top_k


def room(tokens: int) -> int:
    """Number of tokens per rank to build for: rounded up to a power of two, to limit the number of builds."""
    return max(64, 1 << (tokens - 1).bit_length())


experts_of_transformers.ExpertsInterface.register("hpmoe", experts_forward)
