"""Builds crates of kernels with cargo, once for each set of sources and constants."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterable

from ._errors import BuildError, HpmoeError, MissingToolError
from ._library import Library, load
from ._stages import Stages, of_crate


def cache() -> Path:
    """The folder of built libraries: ``HPMOE_CACHE``, or ``hpmoe`` in the user's cache folder."""
    if named := os.environ.get("HPMOE_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpmoe"


def build(crate: str | os.PathLike[str], *, progress: bool | None = None, **constants: int | float) -> Library:
    """Builds a crate of kernels and opens its library.

    The build is skipped if the same sources were built with the same constants before. Libraries are cached in ``HPMOE_CACHE``, or in the user's
    cache folder, under a hash of the crate, the crates that it depends on by path, the constants and the compiler.

    Args:
        crate: The folder of the crate, which has type ``cdylib`` and contains ``hpmoe_c::export!();``.
        progress: True shows cargo's progress, False shows nothing. By default, cargo's progress is shown on a terminal; elsewhere, as in a
            notebook, one line is shown per stage.
        **constants: Constants of the kernels, such as ``HIDDEN=64``.

    Raises:
        BuildError: If cargo is missing, or the crate does not compile. The message includes the compiler's output.
    """
    return load(built(crate, constants, {}, progress, str(crate)))


def built(
    crate: str | os.PathLike[str], constants: dict[str, int | float], more: dict[str, str], progress: bool | None, name: str
) -> Path:
    """Builds a crate's library. `more` adds environment variables to the build; `name` is the name that progress lines show."""
    manifest = Path(crate).resolve() / "Cargo.toml"
    if not manifest.exists():
        raise BuildError(f"{Path(crate)} is not a crate: it contains no Cargo.toml")
    environment = {**os.environ, **more, "HPMOE_SET": settings(constants, os.environ.get("HPMOE_SET", ""))}
    # Python, or a package that it has imported, may already have loaded a libstdc++ that is older than the C++ compiler's.
    environment.setdefault("HPMOE_CXX_RUNTIME", "prefer-static")
    return _built(manifest, environment, progress, name)


def settings(constants: dict[str, int | float], inherited: str = "") -> str:
    """The value of `HPMOE_SET` for these constants. Passed constants win over those in the environment."""
    for name, value in constants.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise HpmoeError(f"{name} is {value!r}: constants of kernels are whole numbers or floats")
    pairs = _pairs(inherited)
    pairs.update({name: repr(value) for name, value in constants.items()})
    return ",".join(f"{name}={value}" for name, value in sorted(pairs.items()))


def _pairs(settings: str) -> dict[str, str]:
    """The constants of an `HPMOE_SET` value, by name."""
    return dict(part.strip().split("=", 1) for part in settings.split(",") if "=" in part)


def _built(manifest: Path, environment: dict[str, str], progress: bool | None, described: str) -> Path:
    name, folders = _packages(manifest, environment)
    key = _key(manifest, folders, environment)
    kept = cache() / "libraries" / f"{name}-{key}{_suffix()}"
    if kept.exists():
        return kept
    target = Path(environment.get("CARGO_TARGET_DIR") or cache() / "target")
    target.mkdir(parents=True, exist_ok=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    stages = Stages(described, progress)
    with open(cache() / "lock", "w") as lock:
        # Another process may be building the same crate, with other constants, in the same folder.
        stages.lock(lock)
        if not kept.exists():
            made = _cargo_build(manifest, target, environment, stages)
            _replace(kept.with_suffix(".json"), json.dumps(_origin(manifest, environment)).encode())
            _replace(kept, made.read_bytes())
    return kept


def _replace(kept: Path, content: bytes) -> None:
    """Writes a file atomically."""
    # Processes in different containers that share the cache can have the same process id.
    part = kept.with_suffix(f".{secrets.token_hex(8)}")
    part.write_bytes(content)
    os.replace(part, kept)


def _origin(manifest: Path, environment: dict[str, str]) -> dict[str, Any]:
    """The origin of a library: its crate, the constants that were set, and digests of its source files."""
    crate = manifest.parent
    sources = {str(file.relative_to(crate)): hashlib.sha256(file.read_bytes()).hexdigest() for file in _sources(crate) if file.suffix == ".rs"}
    return {"crate": str(crate), "constants": {name: _number(value) for name, value in _pairs(environment["HPMOE_SET"]).items()}, "sources": sources}


def _number(text: str) -> int | float:
    plain = text.strip().replace("_", "")
    return int(plain) if plain.isdigit() else float(plain)


def _suffix() -> str:
    return ".dylib" if sys.platform == "darwin" else ".so"


def _run(command: list[str], environment: dict[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, **options)
    except FileNotFoundError as error:
        raise _without(command[0]) from error


def _without(program: str) -> MissingToolError:
    return MissingToolError(
        f"there is no program {program}: kernels are built with Rust 1.89 or later (https://rustup.rs) and a C++ compiler"
    )


def _packages(manifest: Path, environment: dict[str, str]) -> tuple[str, list[Path]]:
    """The name of the crate, and the folders of the crate and of its path dependencies."""
    command = ["cargo", "metadata", "--format-version=1", "--manifest-path", str(manifest)]
    done = _run(command, environment, stderr=subprocess.PIPE)
    if done.returncode:
        raise BuildError(f"cargo can't read {manifest}:\n{done.stderr.strip()}")
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    wanted = next(i for i, package in packages.items() if Path(package["manifest_path"]).resolve() == manifest)
    links = {node["id"]: [dep["pkg"] for dep in node["deps"]] for node in metadata["resolve"]["nodes"]}
    seen, next_ones = {wanted}, [wanted]
    while next_ones:
        for package in links[next_ones.pop()]:
            if package not in seen:
                seen.add(package)
                next_ones.append(package)
    local = [packages[i] for i in seen if packages[i]["source"] is None]
    # Cargo.lock covers packages from a registry by version and checksum.
    folders = [Path(package["manifest_path"]).parent for package in local] + [Path(metadata["workspace_root"]) / "Cargo.lock"]
    return packages[wanted]["name"], sorted(folders)


def _key(manifest: Path, folders: Iterable[Path], environment: dict[str, str]) -> str:
    """A hash of all inputs of a build."""
    digest = hashlib.sha256()
    rustc = _run(["rustc", "-vV"], environment, stderr=subprocess.PIPE).stdout
    said = ["HPMOE_SET", "HPMOE_DEVICE", "HPMOE_MATRIX_CORES", "HPMOE_TIME_STAMPS", "ASCEND_HOME_PATH", "HPMOE_STOCK_CHUNKS", "HPMOE_STOCK_CORES", "HPMOE_STOCK_GATE", "HPMOE_STOCK_RANKS", "RUSTFLAGS", "CXX", "CXXFLAGS", "HPMOE_CXX_RUNTIME"]
    for text in [str(manifest), rustc, *(f"{name}={environment.get(name, '')}" for name in said)]:
        digest.update(text.encode() + b"\0")
    for folder in folders:
        for file in _sources(folder):
            digest.update(str(file.relative_to(folder.parent)).encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _sources(folder: Path) -> list[Path]:
    """The source files of a package, without cargo's output and without nested packages."""
    if folder.is_file():
        return [folder]
    found = []
    for place, below, files in os.walk(folder):
        top = place == str(folder)
        apart = not top and "Cargo.toml" in files
        below[:] = [] if apart else sorted(name for name in below if not name.startswith(".") and not (top and name == "target"))
        found += [] if apart else [Path(place) / name for name in files]
    return sorted(path for path in found if path.is_file())


def _cargo_build(manifest: Path, target: Path, environment: dict[str, str], stages: Stages) -> Path:
    """Runs cargo, and returns the library that it built."""
    environment = dict(environment)
    if stages.by_cargo:
        environment.update(CARGO_TERM_PROGRESS_WHEN="always", CARGO_TERM_PROGRESS_WIDTH="80")
    command = ["cargo", "build", "--release", "--manifest-path", str(manifest), "--target-dir", str(target)]
    command += ["--message-format=json-render-diagnostics"]
    made: list[Path] = []
    stages.begun()
    with tempfile.TemporaryFile("w+") as said:
        try:
            cargo = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=None if stages.by_cargo else said)
        except FileNotFoundError as error:
            raise _without(command[0]) from error
        with cargo:
            assert cargo.stdout is not None
            for line in cargo.stdout:
                message = json.loads(line) if line.startswith("{") else {}
                stages.heard(message, manifest)
                made += _libraries(message, manifest)
        if cargo.returncode:
            said.seek(0)
            words = "see the compiler's output above" if stages.by_cargo else said.read().strip()
            raise BuildError(f"{manifest.parent} does not compile:\n{words}")
    if not made:
        raise BuildError(f"{manifest.parent} is not a library: write `crate-type = [\"cdylib\"]` below `[lib]` in its Cargo.toml")
    stages.over()
    return made[0]


def _libraries(message: dict[str, Any], manifest: Path) -> list[Path]:
    """The library files that a cargo message reports for a crate."""
    if message.get("reason") != "compiler-artifact" or not of_crate(message, manifest) or "cdylib" not in message["target"]["crate_types"]:
        return []
    return [Path(file) for file in message["filenames"] if file.endswith(_suffix())]
