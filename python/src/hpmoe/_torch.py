"""Taskflows as PyTorch operators, with fake implementations, and with gradients if there is a backward taskflow."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ._errors import HpmoeError
from ._group import Group
from ._library import load
from ._memory import torch_elements
from ._operands import device_fault, kind_fault
from ._signature import Argument
from ._taskflow import Taskflow


def key(flow: Taskflow) -> str:
    """The text that identifies a taskflow to the operator, also in another process."""
    return f"{flow.library.path}#{flow.name}"


def dtype(element: str) -> torch.dtype:
    """The torch type for an element type."""
    return {name: kind for kind, name in torch_elements().items()}[element]


#: Taskflows by the texts of `key`. Their libraries stay open, so that each file is opened once.
_flows: dict[str, Taskflow] = {}


def flow_of(key: str) -> Taskflow:
    """The taskflow for a text from `key`."""
    if key not in _flows:
        path, _, name = key.rpartition("#")
        _flows[key] = load(path)[name]
    return _flows[key]


def _read(flow: Taskflow) -> list[Argument]:
    return [argument for argument in flow.arguments if not argument.writable]


def _written(flow: Taskflow) -> list[Argument]:
    return [argument for argument in flow.arguments if argument.writable]


def has_tangent(tensor: Tensor) -> bool:
    """Whether a tensor carries a forward-mode derivative, which the operator would drop."""
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def transform_fault(tensors: list[Tensor]) -> str | None:
    """The reason why tensors can't be operands inside a torch.func transform; None if they can."""
    if torch.compiler.is_compiling():
        return None
    if any(map(torch._C._functorch.is_batchedtensor, tensors)):
        return f"kernels of hpmoe can't be batched by torch.vmap: {_UNBATCHED}"
    if any(map(torch._C._functorch.is_gradtrackingtensor, tensors)):
        return "kernels of hpmoe have no gradients in torch.func (grad, vjp, jacrev): call .backward() or torch.autograd.grad outside of it"
    return None


#: The way out of torch.vmap.
_UNBATCHED = "call the layer once with the tokens of the whole batch, since tokens don't influence each other, or in a loop"


def run_plainly(ids: Tensor, inputs: list[Tensor], key: str, group: str) -> list[Tensor]:
    """The operator's results. If all tensors are plain CPU tensors and no graph or gradient is recorded, the taskflow is called without torch's dispatch."""
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None or torch._C._len_torch_dispatch_stack():
        return torch.ops.hpmoe.run(ids, inputs, key, group)
    if torch._C._functorch.peek_interpreter_stack() is not None or torch._C._len_torch_function_stack() or torch.autograd._profiler_enabled():
        return torch.ops.hpmoe.run(ids, inputs, key, group)
    follows = torch.is_grad_enabled()
    for tensor in (ids, *inputs):
        if type(tensor) not in PLAIN or not tensor.is_cpu or (follows and tensor.requires_grad):
            return torch.ops.hpmoe.run(ids, inputs, key, group)
    return launched(ids, inputs, key, group)


#: Tensor types that hold only their elements.
PLAIN = (torch.Tensor, torch.nn.Parameter)


def launched(ids: Tensor, inputs: list[Tensor], key: str, group: str) -> list[Tensor]:
    """Launches a taskflow, and returns the tensors that it writes."""
    flow = flow_of(key)
    names = [argument.name for argument in _read(flow)]
    return list(flow(Group._of_name(group), ids, **dict(zip(names, inputs, strict=True))))


@torch.library.custom_op("hpmoe::run", mutates_args=())
def run(ids: Tensor, inputs: list[Tensor], key: str, group: str) -> list[Tensor]:
    """Runs a taskflow on all ranks of a group.

    Args:
        ids: The router's expert ids, [tokens, top_k].
        inputs: The tensors that the taskflow reads, in the order of its arguments.
        key: The taskflow.
        group: The name of the group.

    Returns:
        The tensors that it writes, in the order of its arguments.
    """
    return launched(ids, inputs, key, group)


@run.register_fake
def _(ids: Tensor, inputs: list[Tensor], key: str, group: str) -> list[Tensor]:
    flow, of_name = flow_of(key), Group._of_name(group)
    read = _read(flow)
    torch._check(len(inputs) == len(read), lambda: f"{flow.name} reads {len(read)} tensors, but got {len(inputs)}")
    torch._check(
        ids.dim() == 2 and ids.shape[1] == flow.top_k,
        lambda: f"`ids` has the shape {list(ids.shape)}, but {flow.name} takes [tokens, {flow.top_k}]",
    )
    # This function also runs for tensors with data, if another tensor of the call is on the meta device.
    named = [("ids", ids), *((argument.name, tensor) for argument, tensor in zip(read, inputs))]
    faults = [fault for name, tensor in named if (fault := kind_fault(name, tensor))]
    if len(named) > 1 and (fault := device_fault(named[1], [*named[2:], named[0]], on_host=("ids",))):
        faults.append(fault)
    if faults:
        raise HpmoeError(faults[0])
    shapes = flow.shapes(of_name, ids.shape[0])
    for argument, tensor in zip(read, inputs):
        shape = shapes[argument.name]
        torch._check(
            tensor.dtype == dtype(argument.element),
            lambda a=argument, t=tensor: f"`{a.name}` has elements of {t.dtype}, but {flow.name} takes {a.element}",
        )
        if argument.rows not in ("token", "slot", "rank"):
            torch._check(
                tensor.dim() == len(shape) and all(have == want for have, want in zip(tensor.shape, shape)),
                lambda a=argument, t=tensor, s=shape: f"`{a.name}` has the shape {list(t.shape)}, but {flow.name} takes {list(s)}",
            )
    like = inputs[0] if inputs else ids
    return [like.new_empty(shapes[argument.name], dtype=dtype(argument.element)) for argument in _written(flow)]


def backward_of(flow: Taskflow) -> Taskflow:
    """The backward taskflow: `module::backward` for `module::forward`.

    It reads the tensors that the forward taskflow reads and writes, by the same names, and a gradient `d<name>` for each tensor that the forward
    taskflow writes. It writes a gradient `d<name>` for each tensor that the forward taskflow reads.
    """
    module, _, name = flow.name.partition("::")
    wanted = f"{module}::{name.replace('forward', 'backward', 1)}"
    found = {other.name: other for other in flow.library}
    if wanted == flow.name or wanted not in found:
        raise HpmoeError(
            f"{flow.name} has no gradients: only {module}::forward has some, and there are no second derivatives"
            if wanted == flow.name
            else f"{flow.name} has no gradients: its library has no taskflow {wanted}"
        )
    return found[wanted]


def _setup(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    ids, tensors, ctx.key, ctx.group = inputs
    flow = flow_of(ctx.key)
    saved = dict(zip([argument.name for argument in _read(flow)], tensors))
    # Of the outputs, saves only those that the backward taskflow reads.
    needed = {argument.name for other in flow.library if other is not flow for argument in other.arguments}
    for argument, tensor in zip(_written(flow), output):
        if argument.name in needed and argument.rows in ("received", "once"):
            saved[argument.name] = tensor
    ctx.names = list(saved)
    ctx.save_for_backward(ids, *saved.values())


def _backward(ctx: Any, gradients: list[Tensor | None]) -> tuple[Any, ...]:
    flow = flow_of(ctx.key)
    backward = backward_of(flow)
    ids, *saved = ctx.saved_tensors
    known = dict(zip(ctx.names, saved))
    for argument, gradient in zip(_written(flow), gradients):
        known[f"d{argument.name}"] = gradient
    shapes = flow.shapes(Group._of_name(ctx.group), ids.shape[0])
    inputs = []
    for argument in _read(backward):
        if argument.name not in known:
            raise HpmoeError(f"{backward.name} reads `{argument.name}`, which {flow.name} neither reads nor writes")
        value = known[argument.name]
        if value is None:
            value = saved[0].new_zeros(shapes[argument.name[1:]], dtype=dtype(argument.element))
        inputs.append(value.to(dtype(argument.element)).contiguous())
    outputs = run_plainly(ids, inputs, key(backward), ctx.group)
    found = {argument.name: output for argument, output in zip(_written(backward), outputs)}
    return None, [_gradient(found, f"d{argument.name}", known[argument.name]) for argument in _read(flow)], None, None


def _gradient(found: dict[str, Tensor], name: str, value: Tensor) -> Tensor | None:
    """The gradient with that name, converted to the type and the shape of `value`, if there is one."""
    return found[name].reshape(value.shape).to(value.dtype) if name in found else None


@run.register_vmap
def _(info: Any, in_dims: Any, *_: Any) -> Any:
    raise HpmoeError(f"kernels of hpmoe can't be batched by torch.vmap: {_UNBATCHED}")


run.register_autograd(_backward, setup_context=_setup)
