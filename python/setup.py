"""Adds the sources of the layers' crate to wheel and source distribution, and programs that run without Rust to the wheel.

These programs are the libraries of layers with some sizes, and the command hpmoe.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from distutils.command.build_scripts import build_scripts  # as setuptools, imported above, has it

HERE = Path(__file__).resolve().parent

#: The sources of the crates in a source distribution.
PACKED = HERE / "crates"

#: The workspace of the crates: the copy in a source distribution, or else the checkout.
WORKSPACE = PACKED if PACKED.is_dir() else HERE.parent

#: Folders within a package that builds don't need.
LEFT_OUT = ["target", "tests"]

#: The program of the command.
COMMAND = "hpmoe"

#: Sizes of the layers whose libraries are part of the wheel: hidden, inter, experts, top_k, tokens of a rank.
BUNDLED = [("swiglu", 64, 32, 8, 2, 64)]


class BuildWithCrates(build_py):
    """Copies the crates, and builds the libraries of the layers."""

    def run(self) -> None:
        """Builds the package."""
        super().run()
        package = Path(self.build_lib) / "hpmoe"
        copy_crates(package / "crates", {"hpmoe-stock"})
        for layer in BUNDLED:
            build_layer(package / "kernels", target_folder(Path(self.build_lib).resolve().parent / "target"), *layer)


class BuildCommand(build_scripts):
    """Builds the command ``hpmoe``, which the wheel installs as it is."""

    def run(self) -> None:
        """Builds it."""
        folder = Path(self.build_dir)
        folder.mkdir(parents=True, exist_ok=True)
        build_command(folder, target_folder(folder.resolve().parent / "target"))

    def get_source_files(self) -> list[str]:
        """No source files: the command's crates are in the workspace that is copied anyway."""
        return []


class SdistWithCrates(sdist):
    """A source distribution that builds the wheel without a checkout."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Collects its files."""
        super().make_release_tree(base_dir, files)
        copy_crates(Path(base_dir) / "crates", {"hpmoe-stock", "hpmoe-cli"})


class WithLibraries(Distribution):
    """A package with files for one platform, though setuptools builds no extension."""

    def has_ext_modules(self) -> bool:
        """True: the wheel is for one platform."""
        return True


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform: its libraries are opened, and not linked with Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tag of the wheel before its libraries are looked at."""
        return "py3", "none", super().get_tag()[2]

    def run(self) -> None:
        """Builds the wheel, and on Linux gives it the tag of the oldest platform that its libraries run on."""
        super().run()
        if sys.platform == "linux":
            for command, _, wheel in self.distribution.dist_files:
                if command == "bdist_wheel":
                    tag_for_oldest(Path(wheel))


def tag_for_oldest(wheel: Path) -> None:
    """Replaces a wheel by one with the lowest manylinux or musllinux tag whose requirements it meets.

    A wheel that needs newer libraries than any such tag allows keeps its tag. pip can still install it on this machine.
    """
    folder = wheel.parent / "tagged"
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(folder), str(wheel)]
    print("+", *command, file=sys.stderr)
    if subprocess.run(command).returncode == 0:
        wheel.unlink()
        for tagged in folder.iterdir():
            os.replace(tagged, wheel.parent / tagged.name)
    else:
        print(f"warning: {wheel.name} runs only on machines like this one: see above why auditwheel gives it no broader tag", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)


def packages(roots: set[str]) -> list[str]:
    """The folders of these packages and of all packages that their builds need."""
    command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    found = subprocess.run(command, cwd=WORKSPACE, check=True, stdout=subprocess.PIPE).stdout
    of_name = {package["name"]: package for package in json.loads(found)["packages"]}
    needed, next_ones = set(roots), sorted(roots)
    while next_ones:
        for dependency in of_name[next_ones.pop()]["dependencies"]:
            if dependency["kind"] != "dev" and "path" in dependency and dependency["name"] not in needed:
                needed.add(dependency["name"])
                next_ones.append(dependency["name"])
    return sorted(str(Path(of_name[name]["manifest_path"]).parent.relative_to(WORKSPACE)) for name in needed)


def copy_crates(to: Path, roots: set[str]) -> None:
    """Copies the files of the workspace that builds of these packages need."""
    shutil.rmtree(to, ignore_errors=True)

    members = packages(roots)
    folders = {WORKSPACE / package for package in members}

    def ignored(folder: str, names: list[str]) -> list[str]:
        inside = Path(folder)
        # A package inside of another one's folder is copied by itself, if at all.
        return [name for name in names if (name in LEFT_OUT and inside in folders) or (inside / name / "Cargo.toml").exists()]

    for package in members:
        shutil.copytree(WORKSPACE / package, to / package, ignore=ignored)
    for file in ["Cargo.toml", "Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"]:
        shutil.copy(WORKSPACE / file, to)
    leave_out(to, members)
    # Checks that cargo can read the copied workspace.
    subprocess.run(["cargo", "metadata", "--format-version=1"], cwd=to, check=True, stdout=subprocess.DEVNULL)


def leave_out(workspace: Path, members: list[str]) -> None:
    """Removes dependencies of tests, and packages that were not copied, from the manifests of a copied workspace."""
    for package in members:
        own = workspace / package / "Cargo.toml"
        own.write_text(re.sub(r"(?m)^\[(?:dev-dependencies|\[test\]|\[bench\])\]\n(?:.+\n)*\n?", "", own.read_text()))
    whole = workspace / "Cargo.toml"
    manifest = re.sub(r"members = \[.*?\]", f"members = {members!r}".replace("'", '"'), whole.read_text(), flags=re.DOTALL)
    # Removes the sections of packages that were not copied.
    whole.write_text(re.sub(r"(?m)^(#.*\n)?\[profile\.dev\.package\..*\n(?:.+\n)*\n?", "", manifest))


def build_layer(to: Path, target: Path, gate: str, hidden: int, inter: int, experts: int, top_k: int, tokens: int) -> None:
    """Builds the library of a layer, which needs only glibc on the machine that it runs on."""
    constants = {"HIDDEN": hidden, "INTER": inter, "EXPERTS": experts, "TOP_K": top_k, "TOKENS": tokens}
    sizes = ",".join(f"{name}={value}" for name, value in constants.items())
    environment = {**os.environ, "HPMOE_SET": sizes, "HPMOE_STOCK_CORES": "1", "HPMOE_STOCK_GATE": gate}
    environment.update(CARGO_TARGET_DIR=str(target), HPMOE_CXX_RUNTIME="static")
    command = ["cargo", "rustc", "--release", "--locked", "--package", "hpmoe-stock", "--", "-C", "strip=symbols"]
    print("+", *command, f"({sizes})", file=sys.stderr)
    subprocess.run(command, cwd=WORKSPACE, env=environment, check=True)
    to.mkdir(parents=True, exist_ok=True)
    library = to / f"{gate}-{hidden}-{inter}-{experts}-{top_k}-{tokens}.so"
    shutil.copy(target / "release" / "libhpmoe_stock.so", library)
    # The sources are those of the wheel.
    library.with_suffix(".json").write_text(json.dumps({"crate": None, "constants": constants, "sources": {}}))


def build_command(to: Path, target: Path) -> None:
    """Builds the command ``hpmoe``, which needs only glibc on the machine that it runs on."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "rustc", "--release", "--locked", "--package", "hpmoe-cli", "--bin", COMMAND, "--", "-C", "strip=symbols"]
    print("+", *command, file=sys.stderr)
    subprocess.run(command, cwd=WORKSPACE, env=environment, check=True)
    shutil.copy(target / "release" / COMMAND, to)


def target_folder(own: Path) -> Path:
    """The folder in which cargo builds. In a checkout, it already has most objects."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or (own if WORKSPACE == PACKED else WORKSPACE / "target")).absolute()


setup(
    distclass=WithLibraries,
    # Setuptools installs scripts only if it knows of one; BuildCommand makes it.
    scripts=[COMMAND],
    cmdclass={"build_py": BuildWithCrates, "build_scripts": BuildCommand, "sdist": SdistWithCrates, "bdist_wheel": PlatformWheel},
)
