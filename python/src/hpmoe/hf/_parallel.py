"""Expert parallelism for transformers: the kernel itself sends tokens to the experts of other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard
from transformers.distributed.expert_parallel import EPImplementation, EPImplementationInterface

from .._errors import HpmoeError
from .._group import Group
from .._moe import MoE
from .._npu import device_for
from ._experts import kind_of, layer_of, matrices_of, refuse_while_compiling, room

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


class HpmoeEP(EPImplementation):
    """The experts of a group of processes. Each process holds some of the experts and brings its own tokens.

    It is selected by ``DistributedConfig(ep_implementation="hpmoe")``. One kernel sends the tokens, computes the experts and sends the results
    back; so does the backward pass.

    Attributes:
        experts: Total number of experts of all processes.
        group: The group that the layers of these processes share; :func:`hpmoe.hf.prepare` can choose another one.
    """

    def __init__(self, experts: Any, ep_mesh: DeviceMesh, tp_mesh: DeviceMesh) -> None:
        """For the experts of one layer, which are already distributed to the processes."""
        super().__init__(experts, ep_mesh, tp_mesh)
        kind = kind_of(experts)
        if isinstance(kind, str):
            raise HpmoeError(
                f'hpmoe has no kernel for {type(experts).__name__} ({kind}): leave out ep_implementation="hpmoe" for this model'
            )
        self.experts = experts.num_experts * ep_mesh.size()
        self.group = _group_of(ep_mesh)
        self._module = experts
        experts._hpmoe_parallel = self

    def __call__(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        """The weighted sum over the experts of each of this process's tokens."""
        tokens = hidden_states.shape[0]
        if self.tp_mesh.size() > 1:
            # All processes of a tensor-parallel group have the same tokens, so each passes only a part of them to the kernel.
            whole = (hidden_states, top_k_index, top_k_weights)
            hidden_states, top_k_index, top_k_weights = (_own_rows(tensor, self.tp_mesh) for tensor in whole)
        layer = self._layer(hidden_states, top_k_index)
        y = layer(hidden_states, top_k_index, top_k_weights, *matrices_of(self._module), group=self.group)
        return y if self.tp_mesh.size() == 1 else _all_rows(y, tokens, self.tp_mesh)

    def _layer(self, hidden_states: Tensor, top_k_index: Tensor) -> MoE:
        """The prepared layer, or else a new one with room for the tokens of each process."""
        layer = getattr(self._module, "_hpmoe", None)
        if layer is None:
            refuse_while_compiling()
            most = torch.tensor([hidden_states.shape[0]], device=hidden_states.device)
            torch.distributed.all_reduce(most, torch.distributed.ReduceOp.MAX, group=self.ep_mesh.get_group())
            layer = layer_of(self._module, top_k_index.shape[1], room(int(most)), self.group)
        return layer


#: By the names of process groups. A group is kept as long as the process: its memory is shared with other processes.
_groups: dict[str, Group] = {}


def _group_of(mesh: DeviceMesh) -> Group:
    """A group of the processes of a mesh."""
    process_group = mesh.get_group()
    if process_group.group_name not in _groups:
        _groups[process_group.group_name] = Group(process_group=process_group, device=device_for(mesh.device_type))
    return _groups[process_group.group_name]


def _own_rows(tensor: Tensor, mesh: DeviceMesh) -> Tensor:
    """This process's rows of a tensor that all processes of the mesh have."""
    return DTensor.from_local(tensor, mesh, [Replicate()], run_check=False).redistribute(mesh, [Shard(0)]).to_local()


def _all_rows(tensor: Tensor, rows: int, mesh: DeviceMesh) -> Tensor:
    """The rows of all processes, whose numbers can differ by one."""
    shape, stride = torch.Size((rows, tensor.shape[1])), (tensor.shape[1], 1)
    return DTensor.from_local(tensor.contiguous(), mesh, [Shard(0)], shape=shape, stride=stride).full_tensor()


EPImplementationInterface.register("hpmoe", HpmoeEP)
