"""The libraries that the tests launch: the stock layers, built in the same way as by users."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
os.environ.setdefault("HPMOE_CACHE", str(ROOT / "target" / "hpmoe-python"))
# Reuse builds of the workspace.
os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
os.environ.setdefault("HPMOE_OBJECTS", str(ROOT / "target" / "hpmoe-objects"))

# Groups have checks off by default.
os.environ.setdefault("HPMOE_CHECKS", "on")

import hpmoe  # noqa: E402

SIZES = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2}


def of_gate(gate: str) -> hpmoe.Library:
    """The kernels of the stock layer of these sizes, for a kind of expert."""
    from hpmoe._moe import _library

    return _library(gate, {**SIZES, "max_tokens": 64}, {}, None)


@pytest.fixture(scope="session")
def library() -> hpmoe.Library:
    """The kernels of the stock layer with SwiGLU experts."""
    return of_gate("swiglu")


@pytest.fixture(scope="session")
def biased() -> hpmoe.Library:
    """The kernels of the stock layer with gpt-oss experts."""
    return of_gate("gpt_oss")


@pytest.fixture
def group() -> hpmoe.Group:
    """A group of one rank."""
    with hpmoe.Group() as group:
        yield group
