"""Crates are built once per set of sources and constants."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import hpmoe
from hpmoe import _build, _moe, _source
from hpmoe.__main__ import main
from hpmoe._stages import Stages
from ranks import run_ranks
from test_library import bf16

ROOT = Path(__file__).parents[2]
ECHO = ROOT / "ui-tests" / "kernels" / "echo.rs"


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    """A user's crate: one kernel that sends tokens to their experts and back."""
    folder = tmp_path / "my-kernels"
    (folder / "src").mkdir(parents=True)
    path = lambda name: f'{{ path = "{ROOT / name}" }}'  # noqa: E731
    (folder / "Cargo.toml").write_text(
        f"""[package]
name = "my-kernels"
version = "1.0.0"
edition = "2024"
[lib]
crate-type = ["cdylib"]
[dependencies]
hpmoe-runtime = {path("hpmoe-runtime")}
hpmoe-c = {path("hpmoe-runtime/c")}
[build-dependencies]
hpmoe-build = {path("hpmoe-core/build")}
[workspace]
# The same as in hpmoe's workspace, so that its builds are reused.
[profile.release]
debug = "line-tables-only"
"""
    )
    shutil.copy(ROOT / "Cargo.lock", folder)
    (folder / "build.rs").write_text('fn main() { hpmoe_build::kernels(["src/echo.rs"]).matrix_cores(2).build(); }\n')
    (folder / "src" / "lib.rs").write_text("pub mod echo;\nhpmoe_c::export!();\n")
    shutil.copy(ECHO, folder / "src")
    return folder


def test_what_has_been_built_is_kept(
    crate: Path, library: hpmoe.Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HPMOE_CACHE", str(tmp_path / "cache"))
    builds, runtimes = [], []

    def cargo_build(manifest: Path, target: Path, environment: dict[str, str], stages: Stages) -> Path:
        builds.append((manifest, environment["HPMOE_SET"]))
        runtimes.append(environment["HPMOE_CXX_RUNTIME"])
        return Path(library.path)

    monkeypatch.setattr(_build, "_cargo_build", cargo_build)
    first = hpmoe.build(crate, HIDDEN=16, TOKENS=8)
    origin = json.loads(Path(first.path).with_suffix(".json").read_text())
    assert origin["crate"] == str(crate) and origin["constants"] == {"HIDDEN": 16, "TOKENS": 8}
    assert set(origin["sources"]) == {"build.rs", "src/echo.rs", "src/lib.rs"}
    assert builds == [(crate / "Cargo.toml", "HIDDEN=16,TOKENS=8")]
    assert Path(first.path).parent == tmp_path / "cache" / "libraries"
    assert hpmoe.build(crate, TOKENS=8, HIDDEN=16) is first and len(builds) == 1
    # Other constants, other sources, another compiler's flags.
    assert hpmoe.build(crate, HIDDEN=16, TOKENS=9) is not first and len(builds) == 2
    source = crate / "src" / "echo.rs"
    text = source.read_text()
    source.write_text(text + "// changed\n")
    hpmoe.build(crate, HIDDEN=16, TOKENS=8)
    assert len(builds) == 3
    source.write_text(text)
    assert hpmoe.build(crate, HIDDEN=16, TOKENS=8) is first and len(builds) == 3
    monkeypatch.setenv("CXXFLAGS", "-O1")
    hpmoe.build(crate, HIDDEN=16, TOKENS=8)
    assert len(builds) == 4
    monkeypatch.setenv("HPMOE_CXX_RUNTIME", "shared")
    hpmoe.build(crate, HIDDEN=16, TOKENS=8)
    assert len(builds) == 5
    assert runtimes == ["prefer-static"] * 4 + ["shared"]


def test_a_library_needs_no_libstdcxx_of_its_process(library: hpmoe.Library) -> None:
    compiler = os.environ.get("CXX") or "c++"
    found = subprocess.run([compiler, "-print-file-name=libstdc++.a"], capture_output=True, text=True, check=True).stdout
    if not os.path.isabs(found.strip()):
        pytest.skip(f"{compiler} has no libstdc++.a")
    needed = subprocess.run(["readelf", "--dynamic", library.path], capture_output=True, text=True, check=True).stdout
    assert "libc.so.6" in needed and "libstdc++" not in needed


@pytest.mark.slow
def test_a_crate_of_a_user(crate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HPMOE_CACHE", str(tmp_path / "cache"))
    echo = hpmoe.build(crate, HIDDEN=16, TOKENS=8)["echo::forward"]
    assert (echo.constants["HIDDEN"], echo.constants["TOKENS"], echo.constants["EXPERTS"]) == (16, 8, 4)
    x = numpy.full((3, 16), 0x3F80, numpy.uint16)
    weights = numpy.array([[1, 2], [3, 4], [5, 6]], numpy.float32)
    (y,) = echo(hpmoe.Group(), numpy.array([[0, 1], [2, 3], [3, 0]]), x=x, weights=weights)
    assert (y == numpy.repeat(weights.sum(1, keepdims=True), 16, axis=1)).all()

    with pytest.raises(hpmoe.BuildError, match="(?s)does not compile:.*HIDEN"):
        hpmoe.build(crate, HIDEN=16)
    source, manifest = crate / "src" / "echo.rs", crate / "Cargo.toml"
    source.write_text(source.read_text().replace("slots.put(rows);", "slots.put(row);"))
    with pytest.raises(hpmoe.BuildError, match="(?s)does not compile:.*row"):
        hpmoe.build(crate, HIDDEN=16, TOKENS=8)
    source.write_text(ECHO.read_text())
    manifest.write_text(manifest.read_text().replace('"cdylib"', '"rlib"'))
    with pytest.raises(hpmoe.BuildError, match="is not a library: write `crate-type"):
        hpmoe.build(crate, HIDDEN=16, TOKENS=8)


@pytest.mark.slow
def test_a_kernel_that_makes_its_route(crate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HPMOE_CACHE", str(tmp_path / "cache"))
    shutil.copy(ROOT / "ui-tests" / "kernels" / "routed.rs", crate / "src")
    (crate / "build.rs").write_text('fn main() { hpmoe_build::kernels(["src/routed.rs"]).matrix_cores(2).build(); }\n')
    (crate / "src" / "lib.rs").write_text("pub mod routed;\nhpmoe_c::export!();\n")
    library = hpmoe.build(crate)
    forward, hosted = library["routed::forward"], library["routed::hosted"]
    assert forward.makes_route and not hosted.makes_route
    random = numpy.random.default_rng(1)
    ids = numpy.array([random.permutation(8)[:3] for _ in range(37)], numpy.int32)
    normal = lambda *shape: bf16(0.3 * random.standard_normal(shape))  # noqa: E731
    given = {"x": normal(37, 48), "weights": random.random((37, 3)).astype(numpy.float32)}
    given.update(gate=normal(8, 32, 48), down=normal(8, 48, 32))
    for ranks in (1, 4):
        with hpmoe.Group(ranks=ranks) as group:
            results = [flow(group, ids, **given)[1] for flow in (forward, hosted)]
            results += [flow.reference(group, ids, **given)[1] for flow in (forward, hosted)]
            assert all((result == results[0]).all() for result in results) and results[0].any()
            assert hpmoe.last_report()["received_rows"] == [int((ids // (8 // ranks) == rank).sum()) for rank in range(ranks)]
    with pytest.raises(hpmoe.HpmoeError, match="routed::hosted takes a route, which the host makes from the router's ids: pass ids"):
        hosted(hpmoe.Group(), **given)
    with pytest.raises(hpmoe.HpmoeError, match="routed::forward reads `ids`, which is missing: pass ids=.."):
        forward(hpmoe.Group(), **given)
    with pytest.raises(hpmoe.HpmoeError, match="is 8, but experts are numbered from 0 to 7"):
        forward(hpmoe.Group(), numpy.where(ids == 0, 8, ids).astype(numpy.int32), **given)


#: One rank of two: both passes with a kept route, then a backward pass without one.
KEPT_RANK = """
import os, numpy, hpmoe
rank = int(os.environ["RANK"])
library, given = hpmoe.load({library!r}), dict(numpy.load({given!r}))
tokens, experts = slice(21 * rank, 21 + 16 * rank), slice(4 * rank, 4 * rank + 4)
own = {{name: numpy.ascontiguousarray(array[experts if name in ("gate", "down") else tokens]) for name, array in given.items()}}
dy = own.pop("dy")
group = hpmoe.Group.join(rank, 2, {address!r}, time_limit=60)
recv, g, y, routed = library["kept::forward"](group, **own)
of = {{"gate": own["gate"], "down": own["down"], "dy": dy, "recv": recv, "g": g}}
for launch in range(3):
    dx, dgate, ddown = library["kept::backward"](group, routed=routed, **of)
numpy.savez({folder!r} + f"/{{rank}}.npz", y=y, dx=dx, dgate=dgate, ddown=ddown)
try:
    library["kept::backward"](group, routed=numpy.zeros_like(routed), **of)
except hpmoe.HpmoeError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_backward_pass_takes_the_route_that_the_forward_pass_has_kept(crate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HPMOE_CACHE", str(tmp_path / "cache"))
    shutil.copy(ROOT / "ui-tests" / "kernels" / "kept.rs", crate / "src")
    (crate / "build.rs").write_text('fn main() { hpmoe_build::kernels(["src/kept.rs"]).matrix_cores(2).build(); }\n')
    (crate / "src" / "lib.rs").write_text("pub mod kept;\nhpmoe_c::export!();\n")
    library = hpmoe.build(crate)
    forward, backward = library["kept::forward"], library["kept::backward"]
    hosted, hosted_backward = library["kept::hosted"], library["kept::hosted_backward"]
    assert forward.makes_route and backward.makes_route and backward.capturable
    random = numpy.random.default_rng(1)
    normal = lambda *shape: bf16(0.3 * random.standard_normal(shape))  # noqa: E731
    hidden, inter, experts, top_k = (forward.constants[name] for name in ("HIDDEN", "INTER", "EXPERTS", "TOP_K"))
    ids = numpy.array([random.permutation(experts)[:top_k] for _ in range(37)], numpy.int32)
    ids[5, 1], ids[30] = -1, -1
    x, dy, gate, down = normal(37, hidden), normal(37, hidden), normal(experts, inter, hidden), normal(experts, hidden, inter)

    def by_the_host(ranks: int) -> list[numpy.ndarray]:
        with hpmoe.Group(ranks=ranks) as group:
            recv, g, y = hosted(group, ids, x=x, gate=gate, down=down)
            return [y, *hosted_backward(group, ids, dy=dy, gate=gate, down=down, recv=recv, g=g)]

    expected = by_the_host(1)
    with hpmoe.Group() as group:
        recv, g, y, routed = forward(group, ids=ids, x=x, gate=gate, down=down)
        assert routed.shape == forward.shapes(group, 37)["routed"]
        for _ in range(2):
            found = [y, *backward(group, routed=routed, dy=dy, gate=gate, down=down, recv=recv, g=g)]
            assert all((a == b).all() for a, b in zip(found, expected)) and found[1].any()
        want = [forward.reference(group, ids=ids, x=x, gate=gate, down=down)[2]]
        want += backward.reference(group, routed=routed, dy=dy, gate=gate, down=down, recv=recv, g=g)
        assert all((a == b).all() for a, b in zip(want, expected))
        with pytest.raises(hpmoe.HpmoeError, match="`routed` of rank 0 has no route: launch a taskflow first that keeps its route there"):
            backward(group, routed=numpy.zeros_like(routed), dy=dy, gate=gate, down=down, recv=recv, g=g)
    with hpmoe.Group(ranks=2) as group, pytest.raises(hpmoe.HpmoeError, match="is a kept route, which a process passes for one rank alone"):
        forward(group, ids=ids, x=x, gate=gate, down=down)
    # The ranks are processes, with other numbers of tokens.
    numpy.savez(tmp_path / "given.npz", ids=ids, x=x, dy=dy, gate=gate, down=down)
    script = KEPT_RANK.format(library=str(library.path), given=str(tmp_path / "given.npz"), folder=str(tmp_path), address=f"file:{tmp_path}/rank0")
    assert all("has no route: launch a taskflow first that keeps its route there" in said for said in run_ranks(script, 2))
    parts = [numpy.load(tmp_path / f"{rank}.npz") for rank in range(2)]
    for name, whole in zip(("y", "dx", "dgate", "ddown"), by_the_host(2)):
        assert (numpy.concatenate([part[name] for part in parts]) == whole).all(), name


@pytest.mark.slow
def test_each_pass_chooses_its_chunks_by_its_own_room_with_one_kept_route(crate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HPMOE_CACHE", str(tmp_path / "cache"))
    shutil.copy(ROOT / "ui-tests" / "kernels" / "kept_chunks.rs", crate / "src")
    (crate / "build.rs").write_text('fn main() { hpmoe_build::kernels(["src/kept_chunks.rs"]).chunks_at_most(8).matrix_cores(2).build(); }\n')
    (crate / "src" / "lib.rs").write_text("pub mod kept_chunks;\nhpmoe_c::export!();\n")
    library = hpmoe.build(crate)
    forward, backward = library["kept_chunks::forward"], library["kept_chunks::backward"]
    random = numpy.random.default_rng(2)
    normal = lambda *shape: bf16(0.3 * random.standard_normal(shape))  # noqa: E731
    hidden, inter, experts, top_k = (forward.constants[name] for name in ("HIDDEN", "INTER", "EXPERTS", "TOP_K"))
    ids = numpy.array([random.permutation(experts)[:top_k] for _ in range(41)], numpy.int32)
    ids[7] = -1
    x, dy, gate, down = normal(41, hidden), normal(41, hidden), normal(experts, inter, hidden), normal(experts, hidden, inter)
    # 120 rows in all: as many chunks as leave no more than these.
    rooms = {200: 1, 70: 2, 40: 4, 20: 8}
    groups = {rows: hpmoe.Group(capacity_rows=rows) for rows in rooms}
    found = []
    for rows, chunks in rooms.items():
        y, routed = forward(groups[rows], ids=ids, x=x, gate=gate, down=down)
        assert groups[rows].last_report()["chunks"] == chunks
        for other, of_backward in rooms.items():
            dx = backward(groups[other], routed=routed, dy=dy, gate=gate, down=down)
            assert groups[other].last_report()["chunks"] == of_backward
            found.append((y, dx))
    want = forward.reference(groups[200], ids=ids, x=x, gate=gate, down=down)
    (dx,) = backward.reference(groups[200], routed=want[1], dy=dy, gate=gate, down=down)
    expected = want[0], dx
    assert dx.any()
    for passes in found:
        assert all((one == other).all() for one, other in zip(passes, expected, strict=True))
    with hpmoe.Group(capacity_rows=10) as group, pytest.raises(hpmoe.HpmoeError, match=r"there is room for 10: raise it with hpmoe.Group\(capacity_rows=18\)"):
        backward(group, routed=routed, dy=dy, gate=gate, down=down)


def test_what_can_not_be_built(crate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(hpmoe.BuildError, match="is not a crate: it contains no Cargo.toml"):
        hpmoe.build(tmp_path / "nothing")
    with pytest.raises(hpmoe.HpmoeError, match="HIDDEN is '64': constants of kernels are whole numbers or floats"):
        hpmoe.build(crate, HIDDEN="64")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(hpmoe.BuildError, match="there is no program cargo: kernels are built with Rust"):
        hpmoe.build(crate, HIDDEN=64)
    sizes = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2, "max_tokens": 65}
    with pytest.raises(hpmoe.BuildError, match=r"no program cargo: .* compiler\. This package has no prebuilt layers"):
        _moe._library("swiglu", sizes, {}, None)
    monkeypatch.setattr(_moe, "__file__", str(tmp_path / "_moe.py"))
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "swiglu-64-32-8-2-64.so").touch()
    monkeypatch.setattr(_moe, "crate", lambda: crate)
    says = "hpmoe.moe(gate='swiglu', hidden=64, inter=32, experts=8, top_k=2, max_tokens=64)"
    with pytest.raises(hpmoe.BuildError, match=re.escape(f"which need neither: {says}")):
        _moe._library("swiglu", sizes, {}, None)


def test_constants_of_the_call_win() -> None:
    assert _build.settings({"HIDDEN": 64, "LIMIT": 7.5}, "INTER=3, HIDDEN=1,") == "HIDDEN=64,INTER=3,LIMIT=7.5"
    assert _build.settings({}) == ""


def test_sizes_of_layers() -> None:
    sizes = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2}
    for change, said in [
        ({"top_k": 9}, "top_k is 9, but there are 8 experts"),
        ({"hidden": 0}, "hidden is 0, but must be a whole number of at least 1"),
        ({"gate": "relu"}, "there is no gate 'relu': use one of 'swiglu', 'gpt_oss'"),
        ({"tile_m": 16}, "a layer with swiglu experts has no argument tile_m: did you mean TILE_M?"),
        ({"tokens": 16}, "a layer with swiglu experts has no argument tokens: did you mean max_tokens?"),
        ({"TOKENS": 16}, "a layer has no argument TOKENS: pass max_tokens=.."),
        ({"LIMIT": 7.0}, "a layer with swiglu experts has no argument LIMIT: it has hidden, inter, experts, top_k, max_tokens, spare, gate, chunks_at_most, ranks, progress, and"),
        ({"limits": 7.0, "gate": "gpt_oss"}, "a layer with gpt_oss experts has no argument limits: did you mean LIMIT?"),
    ]:
        with pytest.raises(hpmoe.HpmoeError, match=said):
            hpmoe.moe(**{**sizes, **change})


def test_constants_that_follow_from_others_are_no_arguments_of_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_moe, "require", lambda *_: None)
    monkeypatch.setattr(_moe, "_library", lambda *_: pytest.fail("the layer is built"))
    sizes = {"hidden": 64, "inter": 32, "experts": 8, "top_k": 2}
    for change, said in [
        ({"SLOTS": 4}, "SLOTS can't be set, because a layer with swiglu experts computes it from other constants (BLOCK * TOP_K): pass BLOCK=.. or top_k=.. instead"),
        ({"GATE_UP": 64}, "(2 * INTER): pass inter=.. instead"),
        ({"PUT_NUMBERS": 8}, "(TILE_M): pass TILE_M=.. instead"),
        # Through another constant that follows from others.
        ({"PARTS": 4, "gate": "gpt_oss"}, "(UNIT_PARTS + HIDDEN.div_ceil(COLUMNS)): pass inter=.., TILE_N=.., hidden=.. or COLUMNS=.. instead"),
    ]:
        with pytest.raises(hpmoe.HpmoeError, match=re.escape(said)):
            hpmoe.moe(**{**sizes, **change})
    with pytest.raises(hpmoe.HpmoeError, match="and the constants BLOCK, COLUMNS, GRAD_M, GRAD_N, PUT, TILE_M, TILE_N$"):
        hpmoe.moe(**sizes, FOO=1)
    chunks = {"CHUNKS": "8", "CHUNKS_AT_MOST": "CHUNKS", "TILE_M": "_", "ROWS": "CHUNKS_AT_MOST * TILE_M"}
    assert _moe._sources(chunks) == {"ROWS": ["CHUNKS_AT_MOST", "TILE_M"]}


def test_a_build_tells_its_stages_where_nobody_sees_a_bar(
    crate: Path, library: hpmoe.Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HPMOE_CACHE", str(tmp_path / "cache"))
    manifest = crate / "Cargo.toml"
    told = {"manifest_path": str(manifest), "package_id": "mine", "fresh": False, "reason": "compiler-artifact"}
    of = lambda **what: json.dumps({**told, **what})  # noqa: E731
    lines = [
        of(manifest_path="/other/Cargo.toml", package_id="other", target={"kind": ["lib"], "crate_types": ["lib"]}),
        of(target={"kind": ["custom-build"], "crate_types": ["bin"]}),
        json.dumps({"reason": "build-script-executed", "package_id": "other"}),
        json.dumps({"reason": "build-script-executed", "package_id": "mine"}),
        of(target={"kind": ["cdylib"], "crate_types": ["cdylib"]}, filenames=[library.path]),
    ]
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    real = shutil.which("cargo")
    (tmp_path / "said").write_text("\n".join(lines))
    cargo.write_text(f'#!/bin/sh\n[ "$1" = build ] || exec "{real}" "$@"\necho "  Compiling other" >&2\ncat "{tmp_path}/said"\n')
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:{os.environ['PATH']}")
    hpmoe.build(crate, HIDDEN=16)
    stages = ["the build begins", "dependencies are compiled, which takes a minute or two the first time", "kernels are scheduled and compiled as C++"]
    stages += ["the library is compiled", "built"]
    assert [re.sub(r" \(\d+ s\)$", "", line) for line in capfd.readouterr().err.splitlines()] == [f"hpmoe: {crate}: {stage}" for stage in stages]
    # A kept library prints nothing, and neither does the default; True prints cargo's own output.
    hpmoe.build(crate, HIDDEN=16)
    hpmoe.build(crate, HIDDEN=17, progress=False)
    assert capfd.readouterr().err == ""
    hpmoe.build(crate, HIDDEN=18, progress=True)
    assert capfd.readouterr().err == "  Compiling other\n"
    # A library knows its kernel file.
    assert _source.source_of(library["swiglu::forward"]).constants["HIDDEN"] == 64


def test_numbers_of_ranks_are_libraries_of_their_own(crate: Path) -> None:
    manifest = crate / "Cargo.toml"
    keys = {_build._key(manifest, [crate / "src"], {**os.environ, "HPMOE_STOCK_RANKS": ranks}) for ranks in ("3", "5")}
    assert len(keys) == 2


def test_the_command(library: hpmoe.Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", library.path]) == 0
    out = capsys.readouterr().out
    assert "swiglu::forward" in out and "reads  gate: bf16 32 x 64 per expert" in out
    assert main(["describe", "nothing.so"]) == 1
    assert "error: there is no library" in capsys.readouterr().err
    assert main(["build", ".", "HIDDEN"]) == 1
    assert "error: 'HIDDEN' has no `=`: write NAME=VALUE" in capsys.readouterr().err
    # The command needs neither PyTorch nor numpy.
    code = "import sys; sys.modules['torch'] = sys.modules['numpy'] = None; from hpmoe.__main__ import main; main(['--help'])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "describe" in done.stdout and "build" in done.stdout
