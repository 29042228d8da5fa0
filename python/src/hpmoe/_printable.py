"""Makes text from outside safe to print, like `printable.rs` of `hpmoe-kernels`."""

import re

#: Control characters of ASCII and Latin-1, and Unicode characters that end lines, are invisible or change the direction of writing.
_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def printable(text: str) -> str:
    r"""The text on one line, with control characters replaced by escapes such as ``\u{1b}``."""
    return _ACTS.sub(lambda found: _SHORT.get(found[0]) or f"\\u{{{ord(found[0]):x}}}", text)


def printable_lines(text: str) -> str:
    """A text of several lines. Line feeds and tabs stay, and other control characters are escaped."""
    return _ACTS.sub(lambda found: found[0] if found[0] in "\n\t" else printable(found[0]), text)
