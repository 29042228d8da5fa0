"""Operands of every device, layout and class: the layer gives the bits of plain tensors, or an error that names the problem."""

import random

import pytest

torch = pytest.importorskip("torch")

import hpmoe  # noqa: E402
from hpmoe._moe import MoE  # noqa: E402

T, H, I, E, K = 8, 64, 32, 8, 2
NAMES = ["x", "ids", "weights", "gate", "up", "down"]


class Plain(torch.Tensor):
    """A user's class whose memory is that of an ordinary tensor."""


class Wrapped(torch.Tensor):
    """A tensor that wraps another one and has no memory of its own."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        inner = lambda value: value.inner if isinstance(value, cls) else value  # noqa: E731
        return function(*torch.utils._pytree.tree_map(inner, args), **torch.utils._pytree.tree_map(inner, kwargs or {}))


def fake(value):
    with torch._subclasses.FakeTensorMode() as mode:
        return mode.from_tensor(value)


def gaps(value):
    return torch.stack([value, value], dim=-1)[..., 0]


def sparse_rows(value):
    return value.reshape(value.shape[0], -1).to_sparse_csr()


def late(value):
    """A tensor that starts in the middle of other memory."""
    return torch.cat([value.flatten()[:3], value.flatten()])[3:].view(value.shape)


#: Changes of an operand, and whether they keep its elements.
CHANGES = {
    "nothing": (lambda value: value, True),
    "gaps": (gaps, True),
    "transposed": (lambda value: value.transpose(0, -1).contiguous().transpose(0, -1), True),
    "late": (late, True),
    "Parameter": (lambda value: torch.nn.Parameter(value, requires_grad=False), True),
    "class": (lambda value: value.as_subclass(Plain), True),
    "wrapped": (Wrapped, True),
    "negated": (lambda value: torch._neg_view(-value), True),
    "copied": (lambda value: value.clone(), True),
    "int64": (lambda value: value.long(), False),
    "meta": (lambda value: value.to("meta"), False),
    "fake": (fake, False),
    "sparse": (lambda value: value.to_sparse(), False),
    "sparse rows": (sparse_rows, False),
    "nested": (lambda value: torch.nested.nested_tensor(list(value)), False),
    "zeros": (lambda value: torch._efficientzerotensor(value.shape, dtype=value.dtype), False),
    "one number": (lambda value: value.flatten()[0], False),
    "no rows": (lambda value: value[:0], False),
    "too few columns": (lambda value: value[..., :-1], False),
    "numpy": (lambda value: value.float().numpy(), False),
    "list": (lambda value: value.tolist(), False),
    "bool": (lambda value: value.bool(), False),
    "complex": (lambda value: torch.complex(value.float(), value.float()), False),
}

#: Errors that name the problem: those of this package, and torch's for kinds that operators don't support.
ERRORS = (hpmoe.HpmoeError, RuntimeError, NotImplementedError, TypeError)


@pytest.fixture(scope="module")
def layer(library: hpmoe.Library) -> MoE:
    """The stock layer."""
    return MoE(library, "swiglu")


def operands() -> list:
    numbers = torch.Generator().manual_seed(1)
    normal = lambda *shape: (0.1 * torch.randn(*shape, generator=numbers)).bfloat16()  # noqa: E731
    ids = torch.stack([torch.randperm(E, generator=numbers)[:K] for _ in range(T)]).int()
    return [normal(T, H), ids, torch.rand(T, K, generator=numbers), normal(E, I, H), normal(E, I, H), normal(E, H, I)]


def flow(layer: MoE, tensors: list):
    """Calls the taskflow itself, without torch's operator."""
    x, ids, *others = tensors
    (y,) = layer.taskflow(layer.group, ids, x=x, **dict(zip(["weights", "gate", "up", "down"], others)))
    return y


def operator(layer: MoE, tensors: list):
    """Calls the operator, like exported programs."""
    x, ids, *others = tensors
    (y,) = torch.ops.hpmoe.run(ids, [x, *others], layer._keys[3], layer.group.name)
    return y


SURFACES = {"layer": lambda layer, tensors: layer(*tensors), "taskflow": flow, "operator": operator}


def check(layer: MoE, surface: str, changes: dict[int, str]) -> bool:
    """Calls a surface with changed operands, given by position. Returns whether there was a result."""
    tensors = operands()
    want = layer(*tensors)
    for place, change in changes.items():
        try:
            tensors[place] = CHANGES[change][0](tensors[place])
        except (RuntimeError, TypeError, NotImplementedError):
            # torch can't make this change for these elements.
            return False
    if all(getattr(tensor, "is_meta", False) for tensor in tensors):
        return False
    try:
        found = SURFACES[surface](layer, tensors)
    except AssertionError as error:
        # torch's own error for fake tensors among others.
        assert "FakeTensor" in str(error) and "fake" in changes.values(), changes
        return False
    except ERRORS as error:
        assert str(error).strip(), f"{changes} on the {surface}: an error without words"
        keeps = all(CHANGES[change][1] for change in changes.values())
        assert not (keeps and surface == "layer" and "wrapped" not in changes.values()), f"{changes}: {error}"
        return False
    where = f"{({NAMES[place]: change for place, change in changes.items()})} on the {surface}"
    if "fake" in changes.values() and isinstance(found, torch._subclasses.FakeTensor):
        return False
    # The type of a number does not matter: 64-bit ids, and arrays of f32.
    same = {("int64", 1), ("numpy", 2)}
    converted = [CHANGES[change][1] or (change, place) in same for place, change in changes.items()]
    assert all(converted), f"{where} gives a result"
    assert torch.equal(found, want), f"{where} gives other bits"
    return True


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("change", CHANGES)
def test_one_operand_of_each_kind(layer: MoE, surface: str, change: str) -> None:
    results = [check(layer, surface, {place: change}) for place in range(6)]
    if change in ("nothing", "late", "Parameter", "class", "copied"):
        assert all(results), f"{change} is refused"


@pytest.mark.parametrize("surface", SURFACES)
def test_operands_of_several_kinds(layer: MoE, surface: str) -> None:
    choose = random.Random(7)
    for _ in range(150):
        places = choose.sample(range(6), choose.randint(2, 6))
        check(layer, surface, {place: choose.choice(list(CHANGES)) for place in places})


def test_one_operand_on_the_meta_device_is_named(layer: MoE) -> None:
    for place, name in enumerate(["x", "ids", "weights", "a matrix", "a matrix", "a matrix"]):
        tensors = operands()
        tensors[place] = tensors[place].to("meta")
        with pytest.raises(hpmoe.HpmoeError, match=rf"^{name} is on meta, but \w+ on cpu: move it there with \.to\('cpu'\)$"):
            layer(*tensors)
    assert layer(*(tensor.to("meta") for tensor in operands())).is_meta


def test_a_masked_array_is_refused(layer: MoE) -> None:
    numpy = pytest.importorskip("numpy")
    x, ids, weights, *matrices = operands()
    arrays = [tensor.view(torch.uint16).numpy() for tensor in [x, *matrices]]
    masked = numpy.ma.masked_array(weights.numpy(), mask=weights.numpy() > 0.5)
    with pytest.raises(hpmoe.HpmoeError, match=r"`weights` is a masked array"):
        layer.taskflow(layer.group, ids.numpy(), x=arrays[0], weights=masked, gate=arrays[1], up=arrays[2], down=arrays[3])
