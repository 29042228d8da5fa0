"""TorchTitan's routed experts on hpmoe kernels.

In a configuration, or by ``--override.imports``:

>>> OverrideConfig(imports=[("hpmoe.torchtitan.routed_experts", {"max_tokens": 4096})])

The gate, up and down matrices are separate tensors, which the kernel uses in place. With expert parallelism, each process of the mesh ``ep`` is a
rank of the kernel, and the kernel replaces TorchTitan's token dispatcher.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, replace
from typing import Any

from ._packages import require

# ruff: noqa: E402
require("hpmoe.torchtitan", "torch", "torchtitan")

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torchtitan.config import derive, override
from torchtitan.models.common.moe import GroupedExperts, RoutedExperts
from torchtitan.models.common.token_dispatcher import LocalTokenDispatcher

from ._errors import HpmoeError
from ._group import Group
from ._moe import MoE, moe
from ._npu import device_for

__all__ = ["HpmoeRoutedExperts", "routed_experts"]


@override(target=RoutedExperts.Config, description="Routed experts on hpmoe kernels")
def routed_experts(
    config: RoutedExperts.Config, *, max_tokens: int, ranks: int = 1, capacity_rows: int | None = None, chunks_at_most: int = 1
) -> RoutedExperts.Config:
    """Replaces routed experts by hpmoe's. Experts without a kernel stay as they are, with a warning.

    Args:
        config: The configuration of the experts to replace.
        max_tokens: Maximum number of tokens of one rank in a step.
        ranks: Number of ranks as threads of this process, without expert parallelism.
        capacity_rows: Room for received rows on each rank, of each chunk; by default that of :class:`hpmoe.Group`.
        chunks_at_most: The maximum number of chunks that a launch may divide the tokens into, as for :func:`hpmoe.moe`.
    """
    if type(config.inner_experts) is not GroupedExperts.Config:
        name = type(config.inner_experts).__qualname__
        warnings.warn(f"hpmoe has no kernel for {name}: torchtitan computes these experts", stacklevel=2)
        return config
    settings = {"max_tokens": max_tokens, "ranks": ranks, "capacity_rows": capacity_rows, "chunks_at_most": chunks_at_most}
    return derive(config, HpmoeRoutedExperts.Config, **settings)


class HpmoeRoutedExperts(RoutedExperts):
    """Experts with the same parameters as TorchTitan's, so that checkpoints, initialisation and sharding don't change."""

    @dataclass(kw_only=True, slots=True)
    class Config(RoutedExperts.Config):
        """Settings in addition to TorchTitan's; see :func:`routed_experts`."""

        max_tokens: int
        ranks: int = 1
        capacity_rows: int | None = None
        chunks_at_most: int = 1

    def __init__(self, config: Config) -> None:
        """Makes the parameters. The kernels are built once the parallelism is known."""
        self._settings = (config.max_tokens, config.ranks, config.capacity_rows, config.chunks_at_most)
        # The kernel dispatches tokens; a dispatcher of expert parallelism would reserve memory for them.
        sizes = config.token_dispatcher
        local = LocalTokenDispatcher.Config(num_experts=sizes.num_experts, top_k=sizes.top_k)
        super().__init__(replace(config, token_dispatcher=local))
        self._layer: MoE | None = None

    # Wraps the original, because sharding refers to its parameter names, which differ between versions of TorchTitan.
    @functools.wraps(RoutedExperts.forward)
    def forward(self, x: Tensor, scores: Tensor, ids: Tensor, _counts: Tensor, /) -> Tensor:
        """The sum over each token's experts, weighted by the router's scores."""
        layer = self._layer
        if layer is None:
            if torch.compiler.is_compiling():
                raise HpmoeError("kernels can't be built while a model is compiled: call the model's parallelize first")
            layer = self._prepare(None)
        return layer(x, ids, scores, *self._matrices())

    def parallelize(self, parallel_dims: Any) -> None:
        """Shards the parameters, and builds the kernels for the parts of this process."""
        super().parallelize(parallel_dims)
        self._prepare(parallel_dims.get_optional_mesh("ep"))

    def _prepare(self, mesh: Any) -> MoE:
        """Builds the layer. The processes of the mesh are its ranks."""
        max_tokens, ranks, capacity_rows, chunks_at_most = self._settings
        if mesh is None:
            group = _group(ranks, capacity_rows)
        else:
            group = _group_of(mesh, capacity_rows)
        experts, inter, hidden = self._matrices()[0].shape
        count = experts if mesh is None else experts * mesh.size()
        sizes: dict[str, Any] = {"hidden": hidden, "inter": inter, "experts": count, "top_k": self.token_dispatcher.top_k}
        self._layer = moe(**sizes, max_tokens=max_tokens, chunks_at_most=chunks_at_most)
        self._layer.group = group
        return self._layer

    def _matrices(self) -> list[Tensor]:
        """The gate, up and down matrices of this process."""
        experts = self.inner_experts
        matrices = (experts.w1_EFD, experts.w3_EFD, experts.w2_EDF)
        return [matrix.to_local() if isinstance(matrix, DTensor) else matrix for matrix in matrices]


@functools.cache
def _group(ranks: int, capacity_rows: int | None) -> Group:
    """A group of threads, with memory that all layers share."""
    return Group(ranks, capacity_rows=capacity_rows)


_groups: dict[tuple[str, int | None], Group] = {}


def _group_of(mesh: Any, capacity_rows: int | None) -> Group:
    """A group of the processes of a mesh, with memory that all layers share."""
    process_group = mesh.get_group()
    key = (process_group.group_name, capacity_rows)
    if key not in _groups:
        _groups[key] = Group(process_group=process_group, capacity_rows=capacity_rows, device=device_for(mesh.device_type))
    return _groups[key]
