#!/usr/bin/env python3
"""Computes outputs of the variants of the layer with numpy in float64, token by token and independently of the compiler.

    pip install numpy ml_dtypes safetensors
    python3 examples/data/make_oracles.py [LAYER.safetensors ...]

For each layer, writes `oracles/<layer>.<variant>.safetensors` next to the layer's file: one tensor, `output [tokens, hidden]` in float32.
Without arguments, it does so for the bundled layers that the tests of the variants use. A variant's limits, biases and int8 weights follow
from formulas that its example has as well, so only the layer's file must be stored.
"""

import sys
from pathlib import Path

import ml_dtypes  # noqa: F401  (numpy learns bfloat16 from it)
import numpy as np
from safetensors.numpy import load_file, save_file

BUNDLED = ["deepseek_skewed", "qwen3_ragged"]


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def routed(layer, expert, before=False):
    """The sum over k of the router's weight times `expert(e, x)`, or of `expert(e, weight * x)`."""
    output = np.zeros_like(layer["hidden_states"])
    for token, x in enumerate(layer["hidden_states"]):
        for e, weight in zip(layer["topk_ids"][token].astype(int), layer["topk_weights"][token]):
            output[token] += expert(e, weight * x) if before else weight * expert(e, x)
    return output


def halves(layer, e):
    """gate_proj and up_proj of an expert."""
    return np.split(layer["gate_up_proj"][e], 2)


def plain(layer):
    def expert(e, x):
        gate, up = halves(layer, e)
        return layer["down_proj"][e] @ (silu(gate @ x) * (up @ x))

    return expert


def clipped(layer):
    """SwiGLU with an upper limit on gate, and a limit on up in both directions."""
    limit = 0.5

    def expert(e, x):
        gate, up = halves(layer, e)
        h = silu(np.minimum(gate @ x, limit)) * np.clip(up @ x, -limit, limit)
        return layer["down_proj"][e] @ h

    return routed(layer, expert)


def shared(layer):
    """The layer with a shared expert, which every token goes to."""
    if "shared_gate_proj" not in layer:
        return None
    x = layer["hidden_states"]
    h = silu(x @ layer["shared_gate_proj"].T) * (x @ layer["shared_up_proj"].T)
    return routed(layer, plain(layer)) + h @ layer["shared_down_proj"].T


def router(layer):
    """The layer with a shared expert and a router: it chooses by sigmoid scores plus bias, and drops chosen experts with a low score."""
    if "shared_gate_proj" not in layer:
        return None
    x, chosen_of = layer["hidden_states"], layer["topk_ids"].shape[1]
    e, n = np.arange(len(layer["down_proj"]))[:, None], np.arange(x.shape[1])
    scores = sigmoid(x @ (((41 * e + 23 * n + 11 * e * n) % 61 - 30.0) / 256.0).T)
    choosing = scores + (7 * e[:, 0] % 16 - 8.0) / 256.0
    order = np.argsort(-choosing, axis=1, kind="stable")
    ids = order[:, :chosen_of]
    # If the best score that was left out were closer than this, a float32 computation might choose it.
    last, left_out = (np.take_along_axis(choosing, order[:, k : k + 1], axis=1) for k in (chosen_of - 1, chosen_of))
    assert (last - left_out).min() > 1e-6, "scores are too near each other to check the choice"
    weights, least = np.take_along_axis(scores, ids, axis=1), 0.625
    assert np.abs(weights - least).min() > 1e-5, "a score is too near the limit to check the choice"
    little = weights < least
    assert little.mean() > 0.1 and little.all(axis=1).any(), "some tokens go to fewer experts, some to none"
    weights = np.where(little, 0.0, weights)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-20) * 2.5
    return shared(layer | {"topk_ids": ids, "topk_weights": weights})


def bias(e, count, step):
    """Made-up biases, because the layers have none."""
    return ((31 * e + 17 * np.arange(count)) % 64 - 32.0) * step


def biased(layer):
    """The layer with the gated unit of gpt-oss: interleaved gate and up, biases on both projections, limits, a steeper sigmoid."""
    limit, slope = 7.0, 1.702

    def expert(e, x):
        gate_proj, up_proj = halves(layer, e)
        down_proj = layer["down_proj"][e]
        offset = bias(e, 2 * len(gate_proj), 0.25)
        gate = np.minimum(gate_proj @ x + offset[0::2], limit)
        up = np.clip(up_proj @ x + offset[1::2], -limit, limit)
        return down_proj @ ((up + 1.0) * gate * sigmoid(slope * gate)) + bias(e, len(down_proj), 1.0 / 256.0)

    return routed(layer, expert)


def quantised(w):
    """Rows rounded to integers, and the scale of each row, both computed in float32."""
    w = w.astype(np.float32)
    scales = np.abs(w).max(axis=-1, keepdims=True) / np.float32(127)
    scales = np.where(scales > 0, scales, np.float32(1))
    return np.rint(w / scales).clip(-127, 127).astype(np.int64), scales[..., 0].astype(np.float64)


def int8(layer):
    """The layer with weights in i8."""

    def rounded(w):
        numbers, scales = quantised(w)
        return numbers * scales[:, np.newaxis]

    def expert(e, x):
        gate, up = (rounded(w) for w in halves(layer, e))
        return rounded(layer["down_proj"][e]) @ (silu(gate @ x) * (up @ x))

    return routed(layer, expert)


def packed(w):
    """Rows rounded to 4-bit integers times an integer factor per group of 16 columns, and the scale of each row."""
    w = w.astype(np.float32)
    scales = np.abs(w).max(axis=-1, keepdims=True) / np.float32(7 * 16)
    scales = np.where(scales > 0, scales, np.float32(1))
    units = (w / scales).reshape(len(w), -1, 16)
    times = np.ceil(np.abs(units).max(axis=-1, keepdims=True) / np.float32(7)).clip(1, 16)
    numbers = np.rint(units / times).clip(-8, 7) * times
    return numbers.reshape(w.shape).astype(np.int64), scales[..., 0].astype(np.float64)


def product_in_int8(narrow):
    """A function that multiplies weights, rounded by `narrow`, with rows in i8, in exact integers."""

    def product(w, x):
        (w, w_scales), (x, x_scale) = narrow(w), quantised(x)
        return (w @ x) * w_scales * x_scale

    return product


def in_int8(layer, product):
    def expert(e, x):
        gate, up = halves(layer, e)
        return product(layer["down_proj"][e], silu(product(gate, x)) * product(up, x))

    return routed(layer, expert)


def w8a8(layer):
    """The layer with weights, tokens and activations in i8."""
    return in_int8(layer, product_in_int8(quantised))


def w4a8(layer):
    """The layer with weights in four bits, and tokens and activations in i8."""
    return in_int8(layer, product_in_int8(packed))


def prescaled(layer):
    """The layer with the router's weights applied before the experts."""
    return routed(layer, plain(layer), before=True)


VARIANTS = {
    "prescaled": prescaled,
    "clipped": clipped,
    "shared": shared,
    "router": router,
    "biased": biased,
    "int8": int8,
    "w8a8": w8a8,
    "w4a8": w4a8,
}


def main():
    here = Path(__file__).parent
    for path in [Path(name) for name in sys.argv[1:]] or [here / f"{name}.safetensors" for name in BUNDLED]:
        layer = {name: tensor.astype(np.float64) for name, tensor in load_file(path).items()}
        check(layer, path)
        (path.parent / "oracles").mkdir(exist_ok=True)
        for name, variant in VARIANTS.items():
            output = variant(layer)
            if output is not None:
                target = path.parent / "oracles" / f"{path.stem}.{name}.safetensors"
                save_file({"output": output.astype(np.float32)}, target)
                target.chmod(0o644)
                print(target)


def check(layer, path):
    """Checks that this script computes the plain layer's output as the other software did that made the file."""
    expected, found = layer["output"], shared(layer)
    if found is None:
        found = routed(layer, plain(layer))
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    # The output in the file was computed in float32.
    assert error < 1e-5, f"{path}: the plain layer differs by {error:.1e}"


if __name__ == "__main__":
    main()
