"""Gradients of the kernels, compared with finite differences of the layers in f64, without PyTorch."""

from collections.abc import Callable

import numpy
import pytest

import hpmoe
from test_library import E, H, K, bf16, f32

#: Number of tokens, and number of experts that get tokens.
T, HIT = 40, 6


def inputs(library: hpmoe.Library, kernel: str, seed: int = 3) -> tuple[numpy.ndarray, dict[str, numpy.ndarray]]:
    """Ids, and the inputs of the forward pass."""
    random = numpy.random.default_rng(seed)
    ids = numpy.array([random.permutation(HIT)[:K] for _ in range(T)])
    scales = {"x": 1.0, "gate": 0.2, "up": 0.2, "down": 0.1, "gate_up": 0.2, "gate_up_bias": 4.0, "down_bias": 1.0}
    tensors = {"weights": random.random((T, K)).astype(numpy.float32)}
    flow = library[f"{kernel}::forward"]
    shapes = flow.shapes(hpmoe.Group(), T)
    for argument in flow.arguments:
        if argument.name in scales:
            numbers = scales[argument.name] * random.standard_normal(shapes[argument.name])
            tensors[argument.name] = bf16(numbers) if argument.element == "bf16" else numbers.astype(numpy.float32)
    return ids, tensors


def gpt_oss(ids: numpy.ndarray, wide: dict[str, numpy.ndarray]) -> numpy.ndarray:
    """The layer with gpt-oss experts."""
    y = numpy.zeros_like(wide["x"])
    for k in range(K):
        e = ids[:, k]
        pairs = numpy.einsum("th,thi->ti", wide["x"], wide["gate_up"][e]) + wide["gate_up_bias"][e, 0]
        gate, up = pairs[:, ::2].clip(max=7.0), pairs[:, 1::2].clip(-7.0, 7.0)
        h = (up + 1) * gate / (1 + numpy.exp(-1.702 * gate))
        y += wide["weights"][:, k : k + 1] * (numpy.einsum("ti,tih->th", h, wide["down"][e]) + wide["down_bias"][e, 0])
    return y


def swiglu(ids: numpy.ndarray, wide: dict[str, numpy.ndarray]) -> numpy.ndarray:
    """The layer with SwiGLU experts."""
    y = numpy.zeros_like(wide["x"])
    for k in range(K):
        e = ids[:, k]
        gate, up = (numpy.einsum("th,tih->ti", wide["x"], wide[name][e]) for name in ("gate", "up"))
        y += wide["weights"][:, k : k + 1] * numpy.einsum("ti,thi->th", gate / (1 + numpy.exp(-gate)) * up, wide["down"][e])
    return y


@pytest.mark.parametrize("layer", [swiglu, gpt_oss])
@pytest.mark.parametrize("ranks", [1, 4])
def test_gradients_are_differences_of_the_layer(
    layer: Callable, ranks: int, library: hpmoe.Library, biased: hpmoe.Library
) -> None:
    kernels, name = (biased if layer is gpt_oss else library), layer.__name__
    ids, tensors = inputs(kernels, name)
    random = numpy.random.default_rng(7)
    wide = {key: (f32(value) if value.dtype == numpy.uint16 else value).astype(numpy.float64) for key, value in tensors.items()}
    dy = bf16(random.standard_normal((T, H)))
    backward = kernels[f"{name}::backward"]
    group = hpmoe.Group(ranks=ranks)
    (y,) = kernels[f"{name}::forward"](group, ids, **tensors)
    want = layer(ids, wide)
    assert numpy.abs(f32(y) - want).max() < 0.01 * numpy.abs(want).max()
    read = {argument.name for argument in backward.arguments if not argument.writable}
    inputs_of_backward = {key: value for key, value in {**tensors, "dy": dy}.items() if key in read}
    written = backward(group, ids, **inputs_of_backward)
    outputs = dict(zip([argument.name for argument in backward.arguments if argument.writable], written))
    assert outputs.keys() == {f"d{key}" for key in tensors}
    for key, value in wide.items():
        gradient = outputs[f"d{key}"]
        gradient = (f32(gradient) if gradient.dtype == numpy.uint16 else gradient).astype(numpy.float64).reshape(value.shape)
        for _ in range(4):
            direction = random.standard_normal(value.shape)
            step = 1e-5
            ahead, back = (layer(ids, {**wide, key: value + sign * step * direction}) for sign in (1, -1))
            difference = (f32(dy) * (ahead - back)).sum() / (2 * step)
            scale = numpy.sqrt(((gradient * direction) ** 2).sum())
            assert abs((gradient * direction).sum() - difference) < 0.01 * scale, (key, difference, scale)
        if value.shape[0] == E:
            assert (gradient[HIT:] == 0).all() and all(numpy.abs(gradient[e]).max() > 0 for e in range(HIT))
