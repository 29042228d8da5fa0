"""HTML for notebooks. Only this module escapes text."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Sequence

from ._printable import printable_lines


def text(value: Any) -> str:
    """A value as text of HTML."""
    return escape(printable_lines(str(value)))


def preformatted(value: Any) -> str:
    """A text whose lines stay as they are."""
    return f"<pre>{text(value)}</pre>"


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table of texts."""
    line = lambda kind, cells: "<tr>" + "".join(f"<{kind}>{text(cell)}</{kind}>" for cell in cells) + "</tr>"  # noqa: E731
    return f"<table><thead>{line('th', head)}</thead><tbody>{''.join(line('td', row) for row in rows)}</tbody></table>"


def page(title: Any, *parts: str) -> str:
    """A title, followed by ready-made HTML."""
    return f"<div><strong>{text(title)}</strong>{''.join(parts)}</div>"
