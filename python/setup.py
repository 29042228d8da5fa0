"""Puts the sources of the layers' crate into the wheel, with its libraries for some sizes, which run without Rust."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[1]

#: What builds don't need of packages, below their own folders.
LEFT_OUT = ["target", "tests"]

#: Sizes of the layers whose libraries are part of the wheel: hidden, inter, experts, top_k, tokens of a rank.
BUNDLED = [("swiglu", 64, 32, 8, 2, 64)]


class BuildWithCrates(build_py):
    """Copies the crates, and builds the libraries of the layers."""

    def run(self) -> None:
        """Builds the package."""
        super().run()
        package = Path(self.build_lib) / "hpmoe"
        copy_crates(package / "crates")
        for layer in BUNDLED:
            build_layer(package / "kernels", *layer)


class WithLibraries(Distribution):
    """A package with files for one platform, though setuptools builds no extension."""

    def has_ext_modules(self) -> bool:
        """Says so."""
        return True


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform: its libraries are opened, and not linked with Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tag of the wheel."""
        return "py3", "none", re.sub("[-.]", "_", sysconfig.get_platform())


def packages() -> list[str]:
    """The folders of the packages that a build of the layers needs."""
    command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    of_name = {package["name"]: package for package in json.loads(found)["packages"]}
    needed, next_ones = {"hpmoe-stock"}, ["hpmoe-stock"]
    while next_ones:
        for dependency in of_name[next_ones.pop()]["dependencies"]:
            if dependency["kind"] != "dev" and "path" in dependency and dependency["name"] not in needed:
                needed.add(dependency["name"])
                next_ones.append(dependency["name"])
    return sorted(str(Path(of_name[name]["manifest_path"]).parent.relative_to(ROOT)) for name in needed)


def copy_crates(to: Path) -> None:
    """Copies the workspace as far as a build of the layers needs it."""
    shutil.rmtree(to, ignore_errors=True)

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name in LEFT_OUT and Path(folder).parent == ROOT]

    members = packages()
    for package in members:
        shutil.copytree(ROOT / package, to / package, ignore=ignored)
        own = to / package / "Cargo.toml"
        # Tests and what they need stay behind.
        own.write_text(re.sub(r"(?m)^\[(?:dev-dependencies|\[test\]|\[bench\])\]\n(?:.+\n)*\n?", "", own.read_text()))
    for file in ["Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"]:
        shutil.copy(ROOT / file, to)
    manifest = (ROOT / "Cargo.toml").read_text()
    manifest = re.sub(r"members = \[.*?\]", f"members = {members!r}".replace("'", '"'), manifest, flags=re.DOTALL)
    # Sections for packages that are not there.
    manifest = re.sub(r"(?m)^(#.*\n)?\[profile\.dev\.package\..*\n(?:.+\n)*\n?", "", manifest)
    (to / "Cargo.toml").write_text(manifest)
    # Whether cargo can read what is there.
    subprocess.run(["cargo", "metadata", "--format-version=1"], cwd=to, check=True, stdout=subprocess.DEVNULL)


def build_layer(to: Path, gate: str, hidden: int, inter: int, experts: int, top_k: int, tokens: int) -> None:
    """Builds the library of a layer."""
    sizes = f"HIDDEN={hidden},INTER={inter},EXPERTS={experts},TOP_K={top_k},TOKENS={tokens}"
    environment = {**os.environ, "HPMOE_SET": sizes, "HPMOE_STOCK_CORES": "4"}
    command = ["cargo", "build", "--release", "--locked", "--package", "hpmoe-stock"]
    print("+", *command, f"({sizes})", file=sys.stderr)
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    to.mkdir(parents=True, exist_ok=True)
    library = to / f"{gate}-{hidden}-{inter}-{experts}-{top_k}-{tokens}.so"
    shutil.copy(target / "release" / "libhpmoe_stock.so", library)
    if strip := shutil.which("strip"):
        subprocess.run([strip, "--strip-debug", library], check=True)


setup(distclass=WithLibraries, cmdclass={"build_py": BuildWithCrates, "bdist_wheel": PlatformWheel})
