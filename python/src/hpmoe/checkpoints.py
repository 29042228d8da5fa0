"""Loads experts from safetensors checkpoints, in the form that the layers take.

>>> gate_up, down = hpmoe.checkpoints.load_experts("model/", "model.layers.3.mlp.experts", rank=0, ranks=4)

Files are memory-mapped, and only the experts of one rank are read. The format is recognised by the tensors' names:

- ``E.gate_proj.weight``, ``E.up_proj.weight``, ``E.down_proj.weight`` for each expert E (Qwen3-MoE, DeepSeek, GLM), or ``E.w1``,
  ``E.w3``, ``E.w2`` (Mixtral, MiniMax-M2): [out, in], with ``weight_scale_inv`` for fp8 in blocks of 128 by 128;
- ``gate_up_proj`` [experts, 2 * inter, hidden] and ``down_proj`` [experts, hidden, inter], with all experts in one tensor;
- ``gate_up_proj_blocks`` and ``_scales``: MXFP4 (gpt-oss), with one scale per 32 numbers of 4 bits.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ._errors import HpmoeError
from ._packages import require

# ruff: noqa: E402
require("hpmoe.checkpoints", "torch", "safetensors")

import torch
from safetensors import safe_open
from torch import Tensor

__all__ = ["load_experts", "load_gpt_oss_experts"]

#: The names of gate, up and down matrices of an expert.
SEPARATE = [("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2")]
#: The numbers of four bits, e2m1.
FP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]
#: Rows and columns of a block of fp8 with one scale.
BLOCK = 128


def load_experts(
    checkpoint: str | os.PathLike[str], prefix: str, *, rank: int = 0, ranks: int = 1, transposed: bool = False, interleaved: bool = False
) -> tuple[Tensor, Tensor]:
    """Reads the experts of one layer that belong to one rank.

    Args:
        checkpoint: A file, or a folder with ``model.safetensors.index.json`` or with safetensors files.
        prefix: Common prefix of the names of the experts' tensors, such as ``"model.layers.3.mlp.experts"``.
        rank: The rank whose experts are read.
        ranks: Number of ranks. Each owns the same number of experts, in order.
        transposed: Whether tensors of all experts are [experts, in, out] (the dequantised gpt-oss of transformers).
        interleaved: Whether the rows of ``gate_up_proj`` alternate between gate and up, gate first.

    Returns:
        ``gate_up`` [experts of the rank, 2 * inter, hidden], with the rows of gate first, and ``down`` [experts of the rank, hidden, inter],
        in bf16.

    Raises:
        HpmoeError: If there are no such tensors, or the number of ranks does not divide the experts.
    """
    _check_rank(rank, ranks)
    with ExitStack() as stack:
        files = _Files(Path(checkpoint), prefix, stack)
        if "gate_up_proj_blocks" in files.names:
            own = _own(files.rows("gate_up_proj_blocks"), rank, ranks)
            gate_up, down = (_mxfp4(files, name, own) for name in ("gate_up_proj", "down_proj"))
        elif "gate_up_proj" in files.names:
            own = _own(files.rows("gate_up_proj"), rank, ranks)
            gate_up, down = (_bf16(files.part(name, own)) for name in ("gate_up_proj", "down_proj"))
            if transposed:
                gate_up, down = gate_up.transpose(1, 2), down.transpose(1, 2)
        else:
            return _separate(files, rank, ranks)
    if interleaved:
        gate_up = torch.cat([gate_up[:, ::2], gate_up[:, 1::2]], dim=1)
    return gate_up.contiguous(), down.contiguous()


def load_gpt_oss_experts(
    checkpoint: str | os.PathLike[str], prefix: str, *, rank: int = 0, ranks: int = 1
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reads the gpt-oss experts of one layer that belong to one rank, in the form of ``hpmoe.moe(gate="gpt_oss")`` and transformers.

    Args:
        checkpoint: As for :func:`load_experts`.
        prefix: Common prefix of the names of the experts' tensors.
        rank: The rank whose experts are read.
        ranks: Number of ranks. Each owns the same number of experts, in order.

    Returns:
        ``gate_up`` [experts of the rank, hidden, 2 * inter], whose columns alternate between gate and up, its biases [experts, 2 * inter], ``down``
        [experts of the rank, inter, hidden], and its biases [experts, hidden], in bf16.

    Raises:
        HpmoeError: If there are no such tensors, or the number of ranks does not divide the experts.
    """
    _check_rank(rank, ranks)
    found = []
    with ExitStack() as stack:
        files = _Files(Path(checkpoint), prefix, stack)
        for name in ("gate_up_proj", "down_proj"):
            bias = f"{name}_bias"
            if bias not in files.names:
                raise HpmoeError(f"the checkpoint has no tensor {files.prefix}.{bias}: experts of gpt-oss have biases")
            own = _own(files.rows(bias), rank, ranks)
            packed = f"{name}_blocks" in files.names
            matrices = _mxfp4(files, name, own).transpose(1, 2) if packed else _bf16(files.part(name, own))
            found += [matrices.contiguous(), _bf16(files.part(bias, own))]
    gate_up, gate_up_bias, down, down_bias = found
    return gate_up, gate_up_bias, down, down_bias


class _Files:
    """The tensors with a prefix, from all files of a checkpoint."""

    def __init__(self, checkpoint: Path, prefix: str, stack: ExitStack) -> None:
        index = checkpoint / "model.safetensors.index.json"
        begin = prefix.rstrip(".") + "."
        opened: dict[Path, Any] = {}

        def open_file(path: Path) -> Any:
            if path not in opened:
                if not path.exists():
                    raise HpmoeError(f"there is no file {path}: the checkpoint is not complete")
                opened[path] = stack.enter_context(safe_open(path, framework="pt"))
            return opened[path]

        if index.exists():
            of_name = {name: checkpoint / file for name, file in json.loads(index.read_text())["weight_map"].items()}
        else:
            files = sorted(checkpoint.glob("*.safetensors")) if checkpoint.is_dir() else [checkpoint]
            of_name = {name: file for file in files for name in open_file(file).keys()}
        self.prefix = prefix
        self.names = {name[len(begin) :]: open_file(file) for name, file in of_name.items() if name.startswith(begin)}
        if not self.names:
            raise HpmoeError(f"{checkpoint} has no tensors whose names begin with {begin!r}: pass the prefix of a layer's experts")

    def whole(self, name: str) -> Tensor:
        """A tensor."""
        if name not in self.names:
            raise HpmoeError(f"the checkpoint has no tensor {self.prefix}.{name}")
        return self.names[name].get_tensor(f"{self.prefix}.{name}")

    def rows(self, name: str) -> int:
        """The first size of a tensor."""
        return self.names[name].get_slice(f"{self.prefix}.{name}").get_shape()[0]

    def part(self, name: str, own: range) -> Tensor:
        """The part of a tensor that belongs to some experts."""
        if name not in self.names:
            raise HpmoeError(f"the checkpoint has no tensor {self.prefix}.{name}")
        return self.names[name].get_slice(f"{self.prefix}.{name}")[own.start : own.stop]


def _check_rank(rank: int, ranks: int) -> None:
    if not 0 <= rank < ranks:
        raise HpmoeError(f"there is no rank {rank} of {ranks}: number them from 0 to {ranks - 1}")


def _own(experts: int, rank: int, ranks: int) -> range:
    """The range of a rank's experts."""
    if experts == 0 or experts % ranks:
        raise HpmoeError(f"{experts} experts can't be divided evenly among {ranks} ranks: use a number of ranks that divides {experts}")
    return range(experts // ranks * rank, experts // ranks * (rank + 1))


def _bf16(tensor: Tensor) -> Tensor:
    if not tensor.dtype.is_floating_point or tensor.element_size() == 1:
        raise HpmoeError(f"the matrices are {tensor.dtype} without scales: pass a checkpoint with scales, or in bf16, f16 or f32")
    return tensor.to(torch.bfloat16)


def _separate(files: _Files, rank: int, ranks: int) -> tuple[Tensor, Tensor]:
    """Reads experts that have one tensor per matrix. The result is filled expert by expert, to avoid a second copy of all of them."""
    numbers = {name.partition(".")[0] for name in files.names}
    experts = sorted(int(number) for number in numbers if number.isdigit())
    if experts != list(range(len(experts))) or not experts:
        raise HpmoeError(f"{files.prefix} has experts {experts}: number them from 0 without gaps")
    kinds = [names for names in SEPARATE if f"0.{names[0]}.weight" in files.names]
    if not kinds:
        raise HpmoeError(f"{files.prefix}.0 has none of {', '.join(names[0] for names in SEPARATE)}.weight: its layout is not known")
    gate_name, up_name, down_name = kinds[0]
    gate_up = down = None
    own = _own(len(experts), rank, ranks)
    for place, expert in enumerate(own):
        gate, up, of_down = (_matrix(files, f"{expert}.{name}") for name in (gate_name, up_name, down_name))
        if gate_up is None or down is None:
            inter, hidden = gate.shape
            gate_up = torch.empty(len(own), 2 * inter, hidden, dtype=torch.bfloat16)
            down = torch.empty(len(own), hidden, inter, dtype=torch.bfloat16)
        inter = gate_up.shape[1] // 2
        gate_up[place, :inter], gate_up[place, inter:], down[place] = gate, up, of_down
    assert gate_up is not None and down is not None
    return gate_up, down


def _matrix(files: _Files, name: str) -> Tensor:
    """One matrix in bf16, with the block scales of fp8 applied."""
    weight = files.whole(f"{name}.weight")
    if f"{name}.weight_scale_inv" not in files.names:
        return _bf16(weight)
    scales = files.whole(f"{name}.weight_scale_inv").to(torch.float32)
    rows, columns = weight.shape
    wanted = (-(-rows // BLOCK), -(-columns // BLOCK))
    if tuple(scales.shape) != wanted:
        raise HpmoeError(
            f"{files.prefix}.{name}.weight_scale_inv has the shape {list(scales.shape)}, but a matrix of {rows} by {columns} in blocks of "
            f"{BLOCK} by {BLOCK} has {list(wanted)}"
        )
    spread = scales.repeat_interleave(BLOCK, 0)[:rows].repeat_interleave(BLOCK, 1)[:, :columns]
    return (weight.to(torch.float32) * spread).to(torch.bfloat16)


def _mxfp4(files: _Files, name: str, own: range) -> Tensor:
    """Dequantises MXFP4 matrices: two 4-bit numbers per byte, the lower half first, and a power of two per 32 numbers."""
    blocks, scales = files.part(f"{name}_blocks", own), files.part(f"{name}_scales", own)
    numbers = torch.tensor(FP4, dtype=torch.bfloat16)
    values = torch.stack([numbers[(blocks & 15).int()], numbers[(blocks >> 4).int()]], dim=-1).flatten(-2)
    exponents = scales.to(torch.int32) - 127
    return torch.ldexp(values, exponents.unsqueeze(-1)).flatten(-2)
