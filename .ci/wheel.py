"""Checks that a wheel built from a checkout and one built from the source distribution are complete, alike, and run where their tag says."""

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[1]

#: Libraries that every Linux system with glibc has.
EVERYWHERE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def tracked(folder: str) -> set[str]:
    """The files of a package that builds need."""
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    nested = {str(PurePosixPath(name).parent) for name in listed.splitlines() if name.endswith("/Cargo.toml")} - {folder}
    others = (f"{folder}/tests/", *(f"{package}/" for package in nested))
    return {name for name in listed.splitlines() if not name.startswith(others)}


def check_files(wheel: zipfile.ZipFile) -> None:
    """Fails if a file of the package, of a crate or of the metadata is missing."""
    names = set(wheel.namelist())
    of_python = {name.removeprefix("python/src/") for name in tracked("python/src")}
    members = re.search(r"members = \[(.*?)\]", wheel.read("hpmoe/crates/Cargo.toml").decode(), re.DOTALL)
    crates = re.findall(r'"([^"]+)"', members[1])
    assert {"python/stock", "kernels", "hpmoe-runtime/c"} <= set(crates), crates
    of_crates = {f"hpmoe/crates/{name}" for crate in crates for name in tracked(crate)}
    info = f"{PurePosixPath(wheel.filename).name.split('-py3')[0]}.dist-info"
    needed = of_python | of_crates | {"hpmoe/crates/Cargo.lock", command_of(wheel)}
    needed |= {f"{info}/licenses/{license}" for license in ("LICENSE-MIT", "LICENSE-APACHE")}
    assert needed <= names, f"{wheel.filename} lacks {sorted(needed - names)}"
    left_out = re.compile(rf"hpmoe/crates/({'|'.join(crates)})/(tests|target)/|\.pyc$")
    extra = {name for name in names - needed if left_out.search(name)}
    assert not extra, f"{wheel.filename} has {sorted(extra)}"
    fields, _, description = wheel.read(f"{info}/METADATA").decode().partition("\n\n")
    assert "License-Expression: MIT OR Apache-2.0" in fields.splitlines(), fields
    assert description == (ROOT / "python" / "README.md").read_text(), f"the description of {wheel.filename} is not python/README.md"


def command_of(wheel: zipfile.ZipFile) -> str:
    """The name of the command in a wheel."""
    return f"{PurePosixPath(wheel.filename).name.split('-py3')[0]}.data/scripts/hpmoe"


def check_program(name: str, content: bytes, glibc: tuple[int, int]) -> ELFFile:
    """Fails unless a library or program is stripped and needs no more of its machine than glibc of that version."""
    elf = ELFFile(io.BytesIO(content))
    kept = [section.name for section in elf.iter_sections() if section.name == ".symtab" or section.name.startswith(".debug")]
    assert not kept, f"{name} is not stripped: it has {kept}"
    needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags() if tag.entry.d_tag == "DT_NEEDED"}
    assert needed <= EVERYWHERE, f"{name} needs {sorted(needed - EVERYWHERE)}"
    versions = [version.name for _, of_file in elf.get_section_by_name(".gnu.version_r").iter_versions() for version in of_file]
    asked = [tuple(map(int, version.split("_")[1].split(".")[:2])) for version in versions if version.startswith("GLIBC_")]
    assert max(asked) <= glibc, f"{name} needs glibc {max(asked)}, and the wheel says {glibc}"
    return elf


def check_library(name: str, content: bytes, glibc: tuple[int, int]) -> None:
    """Fails unless a library is such a program, and exports the C interface alone."""
    elf = check_program(name, content, glibc)
    exported = {symbol.name for symbol in elf.get_section_by_name(".dynsym").iter_symbols() if symbol.entry.st_shndx != "SHN_UNDEF"}
    foreign = {symbol for symbol in exported if symbol and not symbol.startswith("hpmoe_")}
    assert "hpmoe_launch" in exported and not foreign, f"{name} exports {sorted(foreign)[:9]}"


def check_wheel(path: Path) -> list[str]:
    """Checks one wheel; the files that it has."""
    tag = re.search(r"-py3-none-(manylinux_(\d+)_(\d+)_\w+?)(?:\.|$)", path.stem + ".")
    assert tag, f"{path.name} is for no other machine than one like this"
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(path)], check=True, capture_output=True, text=True).stdout
    assert f'"{tag[1]}"' in shown.replace("\n", " "), f"auditwheel does not find {tag[1]}:\n{shown}"
    with zipfile.ZipFile(path) as wheel:
        check_files(wheel)
        libraries = [name for name in wheel.namelist() if name.endswith(".so")]
        assert libraries, f"{path.name} has no library"
        for name in libraries:
            check_library(name, wheel.read(name), (int(tag[2]), int(tag[3])))
        command = wheel.getinfo(command_of(wheel))
        check_program(command.filename, wheel.read(command), (int(tag[2]), int(tag[3])))
        assert command.external_attr >> 16 & 0o111, f"{command.filename} can't be executed"
        print(f"{path}: the command has {command.file_size:,} bytes, {command.compress_size:,} compressed")
        return sorted(wheel.namelist())


def main() -> None:
    """Checks the wheels that the command line names."""
    wheels = [Path(name) for name in sys.argv[1:]]
    files = [check_wheel(wheel) for wheel in wheels]
    for wheel, found in zip(wheels, files):
        assert found == files[0], f"{wheel} and {wheels[0]} differ: {sorted(set(found) ^ set(files[0]))}"
        print(f"{wheel}: {len(found)} files, {wheel.stat().st_size:,} bytes")


main()
