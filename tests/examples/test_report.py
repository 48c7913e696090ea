"""The report: ranked lists, Markdown, HTML."""

from __future__ import annotations

import hashlib
from html.parser import HTMLParser
from typing import Any

from examples.stdlib_swarm.findings import findings
from examples.stdlib_swarm.package import Package, merge
from examples.stdlib_swarm.report import report
from examples.stdlib_swarm.study import study

HOSTILE = '<script>alert("1")</script> & | `x`'


def package(name: str, functions: int, documented: bool) -> Package:
    doc = '    """Doc."""\n' if documented else ""
    source = "import os\n" + "".join(f"def f{n}(x):\n{doc}    return x\n" for n in range(functions))
    return merge(name, [study(source.encode(), name, is_package=True)], [])


PACKAGES = [package("small", 10, documented=True), package("large", 40, documented=False)]


class Page(HTMLParser):
    """What is in a page: its tags, its text, where it points."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in {"src", "href"}]
        if tag not in {"meta", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def rows(title: str) -> list[str]:
    [section] = [section for section in findings(PACKAGES).sections if section.title == title]
    return [row.label for row in section.rows]


def test_lists_are_ranked() -> None:
    """The biggest comes first where size counts, the least documented where documentation does."""
    assert rows("Packages by size") == ["large", "small"]
    assert rows("Packages by documentation") == ["large", "small"]
    assert rows("Most imported") == ["os"]
    assert rows("Longest functions")[0] == "small.f0"


def test_order_of_arrival_does_not_matter() -> None:
    """The same facts give the same bytes, in whatever order the packages came in."""
    assert report(PACKAGES) == report(PACKAGES[::-1])


def test_hashes_are_those_of_the_texts() -> None:
    """Each page comes with the hash of its bytes."""
    for file in report(PACKAGES)["files"].values():
        assert file["sha256"] == hashlib.sha256(file["text"].encode()).hexdigest()


def test_html_stands_alone() -> None:
    """The page is well-formed, loads nothing, runs nothing, and draws its bars as inline SVG."""
    text = report(PACKAGES)["files"]["report.html"]["text"]
    page = Page(text)

    assert page.open == []
    assert page.links == []
    assert "script" not in page.tags
    assert "svg" in page.tags
    assert "prefers-color-scheme: dark" in text


def test_foreign_words_are_escaped() -> None:
    """A reviewer's note reaches the page as text, in HTML and in Markdown."""
    refused: Package = {**package("odd", 1, documented=True), "refused": HOSTILE}
    files = report([refused])["files"]
    page = Page(files["report.html"]["text"])

    assert "script" not in page.tags
    assert HOSTILE in page.text
    assert "<script>" not in files["report.md"]["text"].replace("\\<", "")


def test_report_on_nothing() -> None:
    """A report without packages is still a report."""
    assert report([])["summary"]["packages"] == "0"


def test_remarks() -> None:
    """What could not be studied is said."""
    odd = merge("odd", [study(b"def f(:\n", "odd")], [], missing=2)

    assert findings([odd]).remarks == ["odd: 2 files could not be studied", "odd is no Python: SyntaxError"]
