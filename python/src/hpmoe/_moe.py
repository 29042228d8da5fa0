"""The layers that are part of this package."""

from __future__ import annotations

import difflib
import functools
import json
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from . import _html
from ._build import built
from ._errors import HpmoeError, MissingToolError
from ._group import Group
from ._library import Library, load
from ._npu import device_of, number_of
from ._operands import device_fault, kind_fault
from ._packages import require
from ._placement import Placement

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: The arguments of a layer, and the constants of its kernels that they set.
SIZES = {"hidden": "HIDDEN", "inter": "INTER", "experts": "EXPERTS", "top_k": "TOP_K", "max_tokens": "TOKENS", "spare": "SPARE"}

#: The kernels of each kind of expert; they differ in how matrices are laid out.
GATES = {"swiglu": ["swiglu", "swiglu_joined"], "gpt_oss": ["gpt_oss"]}


#: Matrix cores of a die.
MOST_CORES = 24
#: Number of multiplications of a projection that keep a simulated core busy for about a millisecond.
PRODUCTS_OF_CORE = 1 << 23


def moe(
    *,
    hidden: int,
    inter: int,
    experts: int,
    top_k: int,
    max_tokens: int = 64,
    gate: str = "swiglu",
    spare: int = 0,
    chunks_at_most: int = 1,
    ranks: int | None = None,
    progress: bool | None = None,
    **constants: int | float,
) -> "MoE":
    """A Mixture-of-Experts layer without its router, for PyTorch, with gradients.

    The first call with new sizes builds the kernels; later calls reuse them (see :func:`hpmoe.build`).

    Args:
        hidden: Columns of a token.
        inter: Columns between the projections (intermediate size).
        experts: Experts of the whole group.
        top_k: Experts per token.
        max_tokens: Maximum number of tokens of one rank.
        gate: ``"swiglu"``: an expert is ``down(silu(gate x) * up x)``. ``"gpt_oss"``: matrices are transposed, both projections have
            biases, and the activation is ``(up + 1) * gate * sigmoid(SLOPE * gate)``, with gate limited to at most ``LIMIT`` and up to the range
            from ``-LIMIT`` to ``LIMIT``.
        spare: Places per rank beyond its share of the experts, for copies of experts (see :class:`hpmoe.Placement`).
        chunks_at_most: The maximum number of chunks that a launch may divide the tokens into: 1, 2, 4 or 8. With more than 1, each launch takes the smallest number
            by which the received rows of each chunk fit :attr:`Group.capacity_rows`, whose default is then 1.5 times an even load instead of the
            maximum over all routings. Results and gradients have the same bits for all of these numbers. With 2 or more, gradients of experts add
            up chunk by chunk, so that their bits differ from those of a layer with another `chunks_at_most`. Not for gpt_oss.
        ranks: A number of ranks to support in addition to the divisors of `experts`.
        progress: Whether to show the progress of a build.
        **constants: Other constants of the kernel, such as ``TILE_M``, or ``LIMIT=7.0`` and ``SLOPE=1.702`` of gpt-oss.

    Raises:
        BuildError: If the kernels must be built and the build fails.
        MissingPackageError: If PyTorch is not installed.
    """
    if gate not in GATES:
        raise HpmoeError(f"there is no gate {gate!r}: use one of {', '.join(map(repr, GATES))}")
    sizes = {"hidden": hidden, "inter": inter, "experts": experts, "top_k": top_k, "max_tokens": max_tokens}
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise HpmoeError(f"{name} is {value!r}, but must be a whole number of at least 1")
    if top_k > experts:
        raise HpmoeError(f"top_k is {top_k}, but there are {experts} experts: a token may name an expert only once")
    if not isinstance(spare, int) or isinstance(spare, bool) or spare < 0:
        raise HpmoeError(f"spare is {spare!r}, but must be a whole number of at least 0")
    if isinstance(chunks_at_most, bool) or chunks_at_most not in (1, 2, 4, 8):
        raise HpmoeError(f"chunks_at_most is {chunks_at_most!r}, but must be 1, 2, 4 or 8")
    if chunks_at_most > 1 and gate == "gpt_oss":
        raise HpmoeError("a layer with gpt_oss experts has no chunks, because the gradients of its biases can't be added up chunk by chunk: leave out chunks_at_most")
    if ranks is not None and (not isinstance(ranks, int) or isinstance(ranks, bool) or not 1 <= ranks <= 256):
        raise HpmoeError(f"ranks is {ranks!r}, but must be a whole number from 1 to 256")
    _refuse_unknown(gate, constants)
    # Before a build, which takes minutes.
    require("hpmoe.moe", "torch")
    named = ranks if ranks is not None and experts % ranks else None
    if spare:
        constants = {"SPARE": spare, **constants}
    build = [os.environ.get(name) for name in ("HPMOE_SET", "HPMOE_DEVICE", "HPMOE_MATRIX_CORES", "HPMOE_TIME_STAMPS")]
    made = json.dumps([gate, sizes, constants, named, chunks_at_most, *build], sort_keys=True)
    if made not in _made:
        _made[made] = _library(gate, sizes, constants, progress, named, chunks_at_most)
    return MoE(_made[made], gate)


#: Files of the kernels of each kind of expert, in the crate of the layers.
FILES = {"swiglu": ["separate.rs", "joined.rs"], "gpt_oss": ["biased.rs"]}

#: Constants that a build may set in every kernel, even if the source computes them from others.
OF_BUILDS = {"SPARE", "CHUNKS_AT_MOST"}


def _refuse_unknown(gate: str, constants: dict[str, int | float]) -> None:
    """Rejects unknown arguments before anything is built."""
    if not constants:
        return
    arguments = [*SIZES, "gate", "chunks_at_most", "ranks", "progress"]
    of_sizes = {constant: name for name, constant in SIZES.items()}
    definitions = _definitions(gate)
    sources = _sources(definitions)
    known = definitions.keys() - sources.keys() - of_sizes.keys()
    for name in constants:
        if name in of_sizes:
            raise HpmoeError(f"a layer has no argument {name}: pass {of_sizes[name]}=..")
        if name in sources:
            *others, last = [f"{of_sizes.get(source, source)}=.." for source in sources[name]]
            instead = f"{', '.join(others)} or {last}" if others else last
            raise HpmoeError(
                f"{name} can't be set, because a layer with {gate} experts computes it from other constants ({definitions[name]}): pass {instead} instead"
            )
        if name not in known:
            others = {other.lower(): other for other in [*known, *arguments]}
            others["tokens"] = "max_tokens"
            near = difflib.get_close_matches(name.lower(), others, n=1)
            help = f"did you mean {others[near[0]]}?" if near else f"it has {', '.join(arguments)}, and the constants {', '.join(sorted(known))}"
            raise HpmoeError(f"a layer with {gate} experts has no argument {name}: {help}")


def _definitions(gate: str) -> dict[str, str]:
    """The constants of a layer's kernels, with their definitions in the source."""
    text = "\n".join((crate() / "src" / name).read_text() for name in FILES[gate])
    return dict(re.findall(r"(?m)^ *pub const ([A-Z0-9_]+): (?:usize|f32) = ([^;]+);", text))


def _sources(definitions: dict[str, str]) -> dict[str, list[str]]:
    """The constants that follow from others, with the constants that a build sets instead."""
    named = {
        name: [other for other in dict.fromkeys(re.findall(r"\w+", text)) if other in definitions]
        for name, text in definitions.items()
        if name not in OF_BUILDS
    }

    def parameters(name: str) -> list[str]:
        return [found for other in named.get(name, []) for found in (parameters(other) or [other])]

    return {name: list(dict.fromkeys(parameters(name))) for name, others in named.items() if others}


#: The libraries that this process has made so far: a model has many layers of the same sizes.
_made: dict[str, Library] = {}


def _library(
    gate: str,
    sizes: dict[str, int],
    constants: dict[str, int | float],
    progress: bool | None,
    ranks: int | None = None,
    chunks_at_most: int = 1,
) -> Library:
    """The library of a layer: one that is part of this package, or one that is built."""
    hidden, inter, experts, top_k, max_tokens = sizes.values()
    wanted = {"HIDDEN": hidden, "INTER": inter, "EXPERTS": experts, "TOP_K": top_k, "TOKENS": max_tokens, **constants}
    bundled = Path(__file__).parent / "kernels" / _file(gate, wanted)
    more = {"HPMOE_STOCK_GATE": gate}
    if ranks is not None:
        more["HPMOE_STOCK_RANKS"] = str(ranks)
    if chunks_at_most > 1:
        more["HPMOE_STOCK_CHUNKS"] = str(chunks_at_most)
    # The library that the package includes is for the CPU.
    if os.environ.get("HPMOE_DEVICE") != "cann":
        if not constants and ranks is None and chunks_at_most == 1 and bundled.exists():
            return load(bundled)
        more["HPMOE_STOCK_CORES"] = str(_matrix_cores(hidden * inter * top_k * max_tokens))
    try:
        return load(built(crate(), wanted, more, progress, _described(gate, sizes)))
    except MissingToolError as error:
        raise MissingToolError(f"{error}. {_without_rust(bundled.parent)}") from error


def _described(gate: str, sizes: dict[str, int]) -> str:
    """The name of a layer in a build's progress lines."""
    return f"the layer {', '.join(f'{name}={value}' for name, value in sizes.items())}, gate={gate!r}"


def _matrix_cores(products: int) -> int:
    """Number of matrix cores of a layer on the CPU for a projection with that many products: one per thread of the machine, if all have enough work.
    Each core adds a fixed cost, which is wasted if it has little work.
    """
    return max(1, min(os.cpu_count() or 1, MOST_CORES, products // PRODUCTS_OF_CORE))


def _without_rust(folder: Path) -> str:
    """The layers that need no build, for an error message."""
    names = ["gate", "hidden", "inter", "experts", "top_k", "max_tokens"]
    layers = []
    for file in sorted(folder.glob("*.so")):
        gate, *sizes = file.stem.split("-")
        layers.append(", ".join(f"{name}={value}" for name, value in zip(names, [repr(gate), *sizes])))
    if not layers:
        return "This package has no prebuilt layers, but a wheel has some"
    return "This package has prebuilt layers, which need neither: " + "; ".join(f"hpmoe.moe({layer})" for layer in layers)


def _file(gate: str, sizes: dict[str, int | float]) -> str:
    return "-".join([gate, *map(str, sizes.values())]) + ".so"


def crate() -> Path:
    """The crate of the layers, inside the package, or next to it in a checkout."""
    for place in [Path(__file__).parent / "crates" / "python" / "stock", Path(__file__).parents[2] / "stock"]:
        if (place / "Cargo.toml").exists():
            return place
    raise HpmoeError("this package was installed without the sources of its layers: install the wheel, or from a checkout")


def _reopened(path: str, gate: str) -> "MoE":
    return MoE(load(path), gate)


@functools.cache
def default_group() -> Group:
    """The group for layers without their own."""
    return Group()


class MoE:
    """A Mixture-of-Experts layer without its router. Call it with the router's ids and weights.

    Attributes:
        library: The library of its kernels.
        group: The default group: one rank, on the NPU of `x` or on the CPU, with memory that all layers share.
    """

    def __init__(self, library: Library, gate: str) -> None:
        """Makes a layer from a library that was built for this kind of expert."""
        require("hpmoe.MoE", "torch")
        from . import _torch

        self.library = library
        self.taskflow = library[f"{gate}::forward"]
        self.group = self._default = default_group()
        self._gate = gate
        # By the number of matrices and biases.
        self._keys: dict[int, str] = {}
        self._kinds: dict[int, list[tuple[torch.dtype, bool]]] = {}
        for flow in library:
            kernel, _, name = flow.name.partition("::")
            if name == "forward" and kernel in GATES[gate]:
                matrices = [argument for argument in flow.arguments if argument.rows == "expert"]
                self._keys[len(matrices)] = _torch.key(flow)
                self._kinds[len(matrices)] = [(_torch.dtype(one.element), one.height == 1) for one in matrices]
        self._top_k = self.taskflow.top_k

    def __deepcopy__(self, memo: object) -> "MoE":
        """The layer itself, because it has no parameters."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the file of its library, without its group."""
        return _reopened, (self.library.path, self._gate)

    def __repr__(self) -> str:
        """The sizes."""
        constants = self.taskflow.constants
        sizes = ", ".join(f"{name.lower()}={constants[name]}" for name in ["HIDDEN", "INTER", "EXPERTS", "TOP_K"])
        chunks = "" if self.taskflow.chunks_at_most is None else f", chunks_at_most={self.taskflow.chunks_at_most}"
        return f"MoE({sizes}, max_tokens={self.taskflow.max_tokens}, gate={self._gate!r}{chunks})"

    def _repr_html_(self) -> str:
        """The sizes, the kernels and their constants."""
        return _html.page(repr(self), self.library._repr_html_())

    def __call__(
        self,
        x: "Tensor",
        ids: "Tensor",
        weights: "Tensor",
        *matrices: "Tensor",
        group: Group | None = None,
        placement: Placement | None = None,
    ) -> "Tensor":
        """Like :meth:`forward`, on the layer's own group. With a placement, matrices are those of physical experts (:meth:`Placement.place`)."""
        if placement is not None:
            group = (self.group if group is None else group).placed(placement)
        npu = device_of(x)
        if group is None and npu is not None and self.group is self._default:
            # The group of layers on that NPU, which the operator makes: torch.compile can't.
            return self._run(None, f'{{"device": "npu:{number_of(npu)}"}}#default', x, ids, weights, matrices)
        return self.forward(self.group if group is None else group, x, ids, weights, *matrices)

    def forward(self, group: Group, x: "Tensor", ids: "Tensor", weights: "Tensor", *matrices: "Tensor") -> "Tensor":
        """``y = sum_k weights[:, k] * expert[ids[:, k]](x)``, with gradients for all inputs except `ids`.

        The kernel multiplies bf16 and sums in f32. Other types of `x` and of the matrices are converted, and the result has the type of
        `x`. The router's weights and biases are used as f32. Contiguous tensors of these types are used in place.

        Args:
            group: The ranks. Each rank takes an equal part of the tokens, and the ranks own the experts in order. If ranks are processes, pass
                this process's tokens and the matrices of its experts.
            x: Tokens, [.., hidden].
            ids: The router's expert ids, [.., top_k]; -1 names none.
            weights: The router's weights, [.., top_k].
            *matrices: The experts' matrices: gate and up [experts, inter, hidden] and down [experts, hidden, inter]; or gate and up
                in one tensor, [experts, 2 * inter, hidden], with the rows of gate first, and down. For gpt-oss: gate_up
                [experts, hidden, 2 * inter], whose columns alternate between gate and up, its biases [experts, 2 * inter], down
                [experts, inter, hidden], and its biases [experts, hidden].

        Returns:
            The sums, [.., hidden].
        """
        if not isinstance(group, Group):
            raise HpmoeError(f"the group is of type {type(group).__name__}: pass group=hpmoe.Group(..)")
        return self._run(group, group.name, x, ids, weights, matrices)

    def _run(
        self, group: Group | None, name: str, x: "Tensor", ids: "Tensor", weights: "Tensor", matrices: tuple["Tensor", ...]
    ) -> "Tensor":
        import torch

        from . import _torch

        of_ids, tensors = self._converted(group, x, ids, weights, matrices)
        if any(map(_torch.has_tangent, tensors)):
            self._refuse(group, "a layer has no forward-mode derivatives (torch.func.jvp): use those of its backward pass, torch.autograd.grad")
        if fault := _torch.transform_fault([of_ids, *tensors]):
            self._refuse(group, fault)
        (y,) = _torch.run_plainly(of_ids, tensors, self._keys[len(tensors) - 2], name)
        y = y.to(x.dtype)
        # A view of the same shape would hide changes in place from FSDP.
        return y if x.dim() == 2 else y.reshape(x.shape)

    def reference(self, group: Group, x: "Tensor", ids: "Tensor", weights: "Tensor", *matrices: "Tensor") -> "Tensor":
        """The sums of :meth:`forward`, bit for bit, computed by the kernel's reference. It runs on the CPU, without gradients, for ranks that are threads of
        this process.
        """
        from . import _torch

        if not isinstance(group, Group):
            raise HpmoeError(f"the group is of type {type(group).__name__}: pass hpmoe.Group(..)")
        of_ids, tensors = self._converted(group, x, ids, weights, matrices)
        flow = _torch.flow_of(self._keys[len(tensors) - 2])
        names = [argument.name for argument in flow.arguments if not argument.writable]
        (y,) = flow.reference(group, of_ids, **{name: tensor.detach() for name, tensor in zip(names, tensors)})
        return y.to(x.dtype).reshape(x.shape)

    def _converted(
        self, group: Group | None, x: "Tensor", ids: "Tensor", weights: "Tensor", matrices: tuple["Tensor", ...]
    ) -> tuple["Tensor", list["Tensor"]]:
        """The ids, and the kernel's inputs converted to its types."""
        import torch

        wrong = self._fault(x, ids, weights, matrices)
        if wrong is None and not torch.compiler.is_compiling():
            # Compares the number of tokens only outside of compilation: a comparison of a symbolic number would become part of the graph.
            wrong = self._too_many(math.prod(x.shape[:-1]), group)
        if wrong is not None:
            self._refuse(group, wrong)
        tokens = x.reshape(-1, x.shape[-1]).to(torch.bfloat16).resolve_neg().contiguous()
        routed = weights.reshape(-1, self._top_k).to(torch.float32).resolve_neg().contiguous()
        converted = []
        for matrix, (dtype, is_bias) in zip(matrices, self._kinds[len(matrices)]):
            matrix = matrix.to(dtype).resolve_neg().contiguous()
            # A bias is a matrix with one row.
            converted.append(matrix.unsqueeze(1) if is_bias and matrix.dim() == 2 else matrix)
        return ids.reshape(-1, self._top_k).resolve_neg().contiguous(), [tokens, routed, *converted]

    def _fault(self, x: object, ids: object, weights: object, matrices: tuple[object, ...]) -> str | None:
        """The first problem of the arguments that the launch itself would not find."""
        import torch

        if len(matrices) not in self._keys:
            if self._gate == "gpt_oss":
                return f"a layer of gpt-oss has 4 tensors, but got {len(matrices)}: pass gate_up, its biases, down and its biases"
            return f"a layer has 2 or 3 matrices, but got {len(matrices)}: pass gate_up and down, or gate, up and down"
        for name, value in [("x", x), ("ids", ids), ("weights", weights), *(("a matrix", matrix) for matrix in matrices)]:
            if not isinstance(value, torch.Tensor):
                return f"{name} is of type {type(value).__name__}: pass a tensor of PyTorch"
            if name == "ids":
                if value.dtype not in (torch.int32, torch.int64):
                    return f"ids has elements of {value.dtype}: pass int32 or int64"
            elif not value.dtype.is_floating_point:
                return f"{name} has elements of {value.dtype}: pass a floating-point type"
            if fault := kind_fault(name, value):
                return fault
        assert isinstance(x, torch.Tensor) and isinstance(ids, torch.Tensor) and isinstance(weights, torch.Tensor)
        others = [("ids", ids), ("weights", weights), *(("a matrix", matrix) for matrix in matrices)]
        if fault := device_fault(("x", x), others, on_host=("ids",)):
            return fault
        if x.dim() == 0:
            return "x is one number: pass tokens, [.., hidden]"
        for name, value in [("ids", ids), ("weights", weights)]:
            if value.dim() == 0 or value.shape[-1] != self._top_k:
                wanted = f"a token of this layer has {self._top_k} experts: pass [.., {self._top_k}]"
                return f"{name} has the shape {list(value.shape)}, but {wanted}"
            if value.numel() * x.shape[-1] != x.numel() * self._top_k:
                return f"{name} has the shape {list(value.shape)}, but x {list(x.shape)}: pass a row of both for each token"
        return None

    def _too_many(self, tokens: int, group: Group | None) -> str | None:
        ranks, most = (1 if group is None else group.here), self.taskflow.max_tokens
        if tokens <= most * ranks:
            return None
        here = f"{tokens} tokens" if ranks == 1 else f"{tokens} tokens for {ranks} ranks"
        return f"x has {here}, but the layer was made for at most {most} tokens per rank: make it with max_tokens={-(-tokens // ranks)}"

    def _refuse(self, group: Group | None, message: str) -> None:
        """Raises an error. Processes that are about to launch together with this one raise it, too."""
        if group is not None and group.rank is not None:
            interface = self.library._interface
            interface.refuse(group._handle(interface), message)
        raise HpmoeError(message)
