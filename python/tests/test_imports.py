"""Imports of the package's files, and of packages that its installation does not bring along.

Files of the package don't import each other in a loop, except for the loops listed here with their reasons.
Every import counts: at the top of a file, inside a function, and for types only (``TYPE_CHECKING``). Imports for types do no harm when a program starts,
but a file can only be understood together with the files that define its types.
"""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import hpmoe
from hpmoe import _moe
from hpmoe._errors import MissingPackageError

PACKAGE = Path(__file__).parents[1] / "src" / "hpmoe"

#: The allowed loops: their files, and the reason.
EXPLAINED = {
    ("hpmoe._library", "hpmoe._taskflow"): "a library has taskflows, and each of them has its library as an attribute",
}


def modules(package: Path) -> dict[str, Path]:
    """The files of a package, by the names of their modules."""
    names = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return names


def imports(module: str, file: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports."""
    # The package in which relative imports with one dot are resolved.
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # A name is a module, or an item of the file that it is imported from.
            names = [f"{origin}.{alias.name}" for alias in node.names]
            found.update(name if name in known else origin for name in names)
    return {name for name in found if name in known and name != module}


def loops(edges: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Groups of modules, each of which reaches all others of the group."""
    reached = {module: set(to) for module, to in edges.items()}
    for between in edges:
        for to in reached.values():
            if between in to:
                to |= reached[between]
    groups = {tuple(sorted(other for other in to if module in reached[other])) for module, to in reached.items() if module in to}
    return sorted(groups)


def test_no_files_import_each_other() -> None:
    known = modules(PACKAGE)
    assert {"hpmoe", "hpmoe._group", "hpmoe.hf._experts"} <= known.keys()
    edges = {module: imports(module, file, known) for module, file in known.items()}
    assert {"hpmoe._c", "hpmoe._errors"} <= edges["hpmoe._group"] and "hpmoe._torch" in edges["hpmoe._moe"]
    found = loops(edges)
    texts = [
        "\n".join(f"  {module} imports {', '.join(sorted(edges[module] & set(group)))}" for module in group)
        for group in found
        if group not in EXPLAINED
    ]
    assert not texts, f"{len(texts)} loops of imports:\n" + "\n\n".join(texts)
    assert set(found) == EXPLAINED.keys(), "a loop that is listed is gone: take it from the list"


def test_all_kinds_of_imports_and_loops_are_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "q").mkdir(parents=True)
    texts = {
        "__init__.py": "from .a import one\nfrom . import b as other",
        "a.py": "import os\nimport p.b",
        "b.py": "def late():\n    from . import c",
        "c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import one",
        "q/__init__.py": "from .d import two",
        "q/d.py": "from .. import b\nfrom ..c import three\nfrom . import two\nfrom .. import four",
        "alone.py": "from .c import three\nfrom elsewhere import a",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    known = modules(package)
    edges = {module: imports(module, file, known) for module, file in known.items()}
    assert edges == {
        "p": {"p.a", "p.b"},
        "p.a": {"p.b"},
        "p.b": {"p.c"},
        "p.c": {"p.a"},
        "p.q": {"p.q.d"},
        "p.q.d": {"p", "p.b", "p.c", "p.q"},
        "p.alone": {"p.c"},
    }
    assert loops(edges) == [("p.a", "p.b", "p.c"), ("p.q", "p.q.d")]


def test_a_layer_without_pytorch_is_an_error_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(_moe, "_library", lambda *_: pytest.fail("the layer is built"))
    sizes = {"hidden": 72, "inter": 24, "experts": 8, "top_k": 2}
    with pytest.raises(hpmoe.HpmoeError) as caught:
        hpmoe.moe(**sizes)
    text = str(caught.value)
    assert text.startswith("hpmoe.moe needs PyTorch, which is not installed: install it with `pip install 'torch>=2.6'`. Without it, ")
    # What a user can call instead exists.
    for name in ["load", "build", "check", "simulate", "report", "timeline"]:
        assert f"hpmoe.{name}" in text and callable(getattr(hpmoe, name))
    # Programs may catch it as a failed import.
    assert isinstance(caught.value, ModuleNotFoundError) and caught.value.name == "torch"
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    # Invalid arguments are found first.
    with pytest.raises(hpmoe.HpmoeError, match="top_k is 9, but there are 8 experts"):
        hpmoe.moe(**{**sizes, "top_k": 9})


def test_calls_and_modules_without_their_packages_name_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    placed = hpmoe.Placement(4, 2, [0, 1, 2, 3])
    for name, call in [("place", lambda: placed.place(None)), ("tensors", placed.tensors)]:
        with pytest.raises(MissingPackageError, match=rf"hpmoe.Placement.{name} needs PyTorch, which is not installed"):
            call()
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    for module, installed in [
        ("hf", "'torch>=2.6' 'transformers>=5'"),
        ("checkpoints", "'torch>=2.6' 'safetensors'"),
        ("torchtitan", "'torch>=2.6' 'torchtitan'"),
    ]:
        code = f"import sys; sys.modules['torch'] = None; import hpmoe.{module}"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert f"hpmoe.{module} needs PyTorch, which is not installed: install it with `pip install {installed}`" in done.stderr


def test_a_package_that_lacks_another_is_not_called_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import a_package_that_torch_needs")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_package_that_torch_needs") as caught:
        hpmoe.moe(hidden=72, inter=24, experts=8, top_k=2)
    assert not isinstance(caught.value, hpmoe.HpmoeError)
