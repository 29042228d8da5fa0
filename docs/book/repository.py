#!/usr/bin/env python3
"""Preprocessor of mdbook that adds to the book the repository's other documents and the files that pages link to.

The book's own pages are those of docs/. Links between pages, documents, files and folders of the repository, which lead where GitHub and editors expect it, are
changed to lead to pages of the site. Diagrams in Mermaid are drawn by the script that docs/book/build.sh puts next to the pages.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]

#: Documents, by their titles in the contents.
DOCUMENTS = {
    "README.md": "The repository",
    "CHANGELOG.md": "Changes",
    "DESIGN.md": "Design",
    "CONTRIBUTING.md": "Working on hpmoe",
    "python/README.md": "The Python package",
    "kernels/README.md": "The kernels' package",
    "kernels/host/README.md": "AscendC for CPUs",
    "kernels/host/COMPARED.md": "AscendC for CPUs, next to CANN's headers",
    "tools/standin/README.md": "The stand-in for CANN",
}

#: Languages of files, by their endings, as mdbook highlights them.
LANGUAGES = {".rs": "rust", ".toml": "toml", ".h": "cpp", ".cpp": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".csv": "text", ".txt": "text"}

#: Folder of all that is not from docs/.
FOLDER = PurePosixPath("repository")

LINK = re.compile(r"(?P<start>\]\()(?P<path>[^)\s#]*)(?P<heading>#[^)\s]*)?(?P<end>\))")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Site:
    """The pages of the site, by the files and folders of the repository that they show."""

    def __init__(self) -> None:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.files = {PurePosixPath(name) for name in listed.split("\0") if name}
        self.folders = {folder for file in self.files for folder in file.parents}
        #: Files and folders that pages link to and that have a page of their own.
        self.linked: set[PurePosixPath] = set()

    def page_of(self, path: PurePosixPath) -> PurePosixPath | None:
        """The page of the site for a file or a folder, if there can be one."""
        if path in self.folders:
            readme = path / "README.md"
            if readme in self.files:
                return self.page_of(readme)
            self.linked.add(path)
            return FOLDER / path / "index.md"
        if path not in self.files:
            return None
        if path.parts[0] == "docs" and path.suffix in (".md", ".svg", ".csv"):
            shown = path.relative_to("docs")
            return shown.with_name("index.md") if shown.name == "README.md" else shown
        if str(path) in DOCUMENTS:
            return FOLDER / path.with_name("document.md" if path.name == "README.md" else path.name)
        if path.suffix not in LANGUAGES:
            return None
        self.linked.add(path)
        return FOLDER / path.with_name(path.name + ".md")

    def relinked(self, text: str, of: PurePosixPath, page: PurePosixPath) -> str:
        """The text of a file as a page of the site."""

        def target(link: re.Match[str]) -> str:
            path, heading = link["path"], link["heading"] or ""
            if not path or ":" in path:
                return link[0]
            # Text in brackets before a call's parentheses is no link: `library["name"](group)`.
            named = PurePosixPath(os.path.normpath(of.parent / path))
            found = self.page_of(named)
            if found is None and named not in self.files:
                return link[0]
            if found is None:
                sys.exit(f"error: {of} links to {named}, for which the site has no page: name it in a code span")
            return f"{link['start']}{os.path.relpath(found, page.parent)}{heading}{link['end']}"

        lines, fence = [], None
        for line in text.splitlines():
            mark = FENCE.match(line)
            if mark and (fence is None or line.strip() == fence):
                fence = mark[1] if fence is None else None
            lines.append(line if fence or mark else LINK.sub(target, line))
        return "\n".join(lines) + "\n"


def with_diagrams(text: str, page: PurePosixPath) -> str:
    """The text with its diagrams as elements that the script of Mermaid draws."""
    text, count = MERMAID.subn(lambda block: f'<pre class="mermaid">\n{block[1]}</pre>', text)
    to_top = os.path.relpath(".", page.parent)
    scripts = [f'<script src="{to_top}/{name}"></script>\n' for name in ("mermaid.min.js", "mermaid-init.js")]
    return text + ("\n" + "".join(scripts) if count else "")


def chapter(title: str, page: PurePosixPath, content: str, below: list[dict] | None = None) -> dict:
    """A chapter, as mdbook takes it."""
    parts = {"name": title, "content": content, "number": None, "sub_items": below or [], "path": str(page)}
    return {"Chapter": {**parts, "source_path": None, "parent_names": []}}


def numbered(chapters: list[dict], after: list[int]) -> None:
    """Gives chapters the numbers that stand for their depth; the contents don't show them."""
    for number, each in enumerate(chapters, 1):
        own = each["Chapter"]
        own["number"] = [*after[:-1], after[-1] + number]
        numbered(own["sub_items"], [*own["number"], 0])


def own_pages(items: list, site: Site) -> None:
    """Changes the links of the book's own pages."""
    for item in items:
        own = item.get("Chapter") if isinstance(item, dict) else None
        if own and own["source_path"]:
            page, of = PurePosixPath(own["path"]), PurePosixPath("docs") / own["source_path"]
            own["content"] = with_diagrams(site.relinked(own["content"], of, page), page)
            own_pages(own["sub_items"], site)


def document(path: str, title: str, site: Site) -> dict:
    """The page of a document."""
    of = PurePosixPath(path)
    page = site.page_of(of)
    return chapter(title, page, with_diagrams(site.relinked((ROOT / path).read_text(), of, page), page))


def file(path: PurePosixPath) -> dict:
    """The page of a file."""
    text = (ROOT / path).read_text()
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    # Not to be run by a server for snippets, and without hidden lines: a whole file.
    language = LANGUAGES[path.suffix].replace("rust", "rust,noplayground")
    return chapter(path.name, FOLDER / path.with_name(path.name + ".md"), f"# {path}\n\n{fence}{language}\n{text}{fence}\n")


def folder(path: PurePosixPath, site: Site) -> dict:
    """The page of a folder, which lists its files, and their pages below it."""
    inside = sorted(name for name in site.files if name.parent == path)
    shown = [name for name in inside if name.suffix in LANGUAGES]
    names = [f"- `{name.name}/`" for name in sorted(site.folders) if name.parent == path and name != path]
    names += [f"- [{name.name}]({name.name}.md)" if name in shown else f"- `{name.name}`" for name in inside]
    content = f"# {path}/\n\n" + "\n".join(names) + "\n"
    return chapter(f"{path}/", FOLDER / path / "index.md", content, [file(name) for name in shown])


def main() -> None:
    """Reads a book from the standard input, as mdbook's preprocessors do, and writes it with the pages added."""
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0 if sys.argv[2] == "html" else 1)
    _, book = json.load(sys.stdin)
    site = Site()
    own_pages(book["items"], site)
    documents = [document(path, title, site) for path, title in DOCUMENTS.items()]
    folders = sorted(path for path in site.linked if path in site.folders)
    files = sorted(path for path in site.linked if path in site.files and path.parent not in folders)
    sources = [folder(path, site) for path in folders] + [file(path) for path in files]
    last = max(item["Chapter"]["number"][0] for item in book["items"] if "Chapter" in item and item["Chapter"]["number"])
    numbered(documents + sources, [last])
    book["items"] += [{"PartTitle": "Other documents"}, *documents, {"PartTitle": "Sources"}, *sources]
    json.dump(book, sys.stdout)


main()
