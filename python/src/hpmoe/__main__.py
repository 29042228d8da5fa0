"""Inspects and builds libraries of kernels: ``python -m hpmoe``. The command ``hpmoe`` is a different program, which works on source files."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ._version import __version__
from ._build import build
from ._errors import HpmoeError
from ._library import Library, load
from ._printable import printable_lines


def main(arguments: list[str] | None = None) -> int:
    """Runs the command, and returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m hpmoe", description="Describes and builds libraries of kernels.")
    parser.add_argument("--version", action="version", version=f"hpmoe {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="list the taskflows of a library of kernels")
    describe.add_argument("library", help="the file, such as target/release/libmy_kernels.so")
    made = commands.add_parser("build", help="build a crate of kernels, or take it from the cache")
    made.add_argument("crate", help="the folder of the crate")
    made.add_argument("constants", nargs="*", metavar="NAME=VALUE", help="constants of its kernels, such as HIDDEN=64")
    found = parser.parse_args(arguments)
    try:
        if found.command == "describe":
            library = load(found.library)
        else:
            library = build(found.crate, **dict(map(_constant, found.constants)))
            print(library.path)
        print(printable_lines(_text(library)))
    except HpmoeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _constant(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    for kind in (int, float):
        try:
            return name, kind(value.replace("_", ""))
        except ValueError:
            continue
    raise HpmoeError(f"{text!r} sets no constant: write NAME=VALUE" if separator else f"{text!r} has no `=`: write NAME=VALUE")


def _text(library: Library) -> str:
    lines = []
    for flow in library:
        lines.append(f"{flow.name}  {flow.fingerprint}  ranks {', '.join(map(str, flow.ranks))}")
        lines.append("    " + ", ".join(f"{name} = {value}" for name, value in flow.constants.items()))
        for argument in flow.arguments:
            kind = "writes" if argument.writable else "reads "
            lines.append(f"    {kind} {argument.name}: {argument.element} {argument.shape_text} per {argument.rows}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
