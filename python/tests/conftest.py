"""The library that the tests launch: the stock layer, built as users build it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
os.environ.setdefault("HPMOE_CACHE", str(ROOT / "target" / "hpmoe-python"))
# What the workspace has built need not be built again.
os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
os.environ.setdefault("HPMOE_OBJECTS", str(ROOT / "target" / "hpmoe-objects"))

import hpmoe  # noqa: E402

SIZES = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2}


@pytest.fixture(scope="session")
def library() -> hpmoe.Library:
    """The kernels of the stock layer of these sizes."""
    from hpmoe._build import built
    from hpmoe._moe import crate

    constants = {"HIDDEN": 64, "INTER": 32, "EXPERTS": 8, "TOP_K": 2, "TOKENS": 64}
    return hpmoe.load(built(crate(), constants, {"HPMOE_STOCK_CORES": "4"}, None))


@pytest.fixture
def group() -> hpmoe.Group:
    """One rank."""
    with hpmoe.Group() as group:
        yield group
