"""Experts of Hugging Face transformers on hpmoe kernels.

>>> import hpmoe.hf
>>> model = AutoModelForCausalLM.from_config(config, experts_implementation="hpmoe")
>>> hpmoe.hf.prepare(model, max_tokens=512)     # optional: builds the kernels now, chooses the group

There are kernels for experts with ``down(silu(gate x) * up x)`` whose gate and up matrices lie in ``gate_up_proj``,
[experts, 2 * inter, hidden]: those of Qwen3-MoE, DeepSeek-V3, Mixtral, GLM-4.5, MiniMax-M2 and many more; and for those of gpt-oss. For other
experts, transformers' own implementation is used, with a warning.

With expert parallelism, each process holds some of the experts, and is a rank of the kernels:

>>> distributed = DistributedConfig(fsdp_size=4, ep_size=4, ep_implementation="hpmoe")
>>> model = AutoModelForCausalLM.from_pretrained(path, experts_implementation="hpmoe", distributed_config=distributed)
"""

from .._packages import require

# ruff: noqa: E402
require("hpmoe.hf", "torch", "transformers")

from ._experts import prepare, why_not
from ._parallel import HpmoeEP

__all__ = ["HpmoeEP", "prepare", "why_not"]
