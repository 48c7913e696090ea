"""The report as a page: Markdown for reading in place, HTML for looking at. Pure: findings in, text out.

The HTML is one file that loads nothing and runs nothing. Every word that comes from a package is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from examples.stdlib_swarm.findings import Findings, Row, Section

TITLE: Final = "What a swarm found in the standard library"
BAR_CHARS: Final = 24

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2430; --dim: #5b6675; --paper: #fbfbf9; --card: #ffffff;
  --line: #e3e5e8; --bar: #2f6f8f; --track: #edf0f2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --dim: #9aa5b4; --paper: #14181d;
  --card: #1b2027; --line: #2c333c; --bar: #6bb3d3; --track: #262d35; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin: 0; }
p { color: var(--dim); margin: .15rem 0 1rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem;
  margin: 1.75rem 0; }
dl div, section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
dl div { padding: .8rem 1rem; display: flex; flex-direction: column-reverse; }
dt { color: var(--dim); font-size: .85rem; }
dd { margin: 0; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.lists { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 1rem; }
section { padding: 1.1rem 1.25rem; min-width: 0; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem 0; text-align: left; font-weight: 400; vertical-align: middle; }
th { width: 48%; padding-right: .75rem; overflow-wrap: anywhere; }
td:last-child { width: 1%; padding-left: .75rem; text-align: right; color: var(--dim); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: .65rem; }
.track { fill: var(--track); }
.bar { fill: var(--bar); }
ul { margin: .5rem 0 0; padding-left: 1.1rem; color: var(--dim); overflow-wrap: anywhere; }
footer { margin-top: 2rem; color: var(--dim); font-size: .85rem; }
"""


def markdown_page(found: Findings) -> str:
    """The report in Markdown."""
    return "\n".join(_markdown(found)) + "\n"


def html_page(found: Findings) -> str:
    """The report as one HTML file."""
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(figure)}</dd></div>"
        for name, figure in found.figures.items()
    )
    lists = "\n".join(_html_section(section) for section in found.sections if section.rows)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{TITLE}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{TITLE}</h1>
<p>One task per package, one per file; every figure below was handed in under a lease and has a receipt.</p>
<dl>{figures}</dl>
<div class="lists">
{lists}
{_html_remarks(found.remarks)}
</div>
<footer>Made by examples/stdlib_swarm with Tessera.</footer>
</main>
</body>
</html>
"""


def _markdown(found: Findings) -> Iterator[str]:
    yield f"# {TITLE}\n"
    yield ", ".join(f"{name} **{figure}**" for name, figure in found.figures.items()) + "."
    for section in found.sections:
        if section.rows:
            yield f"\n## {section.title}\n\n{section.note}\n\n| | | |\n|---|---|---:|"
            for row, share in _shares(section.rows):
                bar = "█" * round(share * BAR_CHARS)
                yield f"| `{row.label}` | {bar} | {_plain(row.shown)} |"
    if found.remarks:
        yield "\n## Remarks\n"
        yield from (f"- {_plain(remark)}" for remark in found.remarks)


def _html_section(section: Section) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{_name(row.label)}</th><td>{_bar(share)}</td><td>{escape(row.shown)}</td></tr>'
        for row, share in _shares(section.rows)
    )
    return (
        f"<section><h2>{escape(section.title)}</h2><p>{escape(section.note)}</p>\n"
        f"<table>\n{rows}\n</table></section>"
    )


def _html_remarks(remarks: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return f"<section><h2>Remarks</h2><ul>{items}</ul></section>" if items else ""


def _name(dotted: str) -> str:
    """A name that breaks after its dots, if it must break."""
    return escape(dotted).replace(".", ".<wbr>")


def _bar(share: float) -> str:
    """A bar of this share of its cell. The value stands beside it as text, so screen readers skip it."""
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="10" rx="1.5"/>'
        f'<rect class="bar" width="{100 * share:.1f}" height="10" rx="1.5"/></svg>'
    )


def _shares(rows: list[Row]) -> Iterator[tuple[Row, float]]:
    """Each row with its share of the longest; shares of a whole (at most 1) are drawn as they are."""
    longest = max(1.0, *(row.size for row in rows))
    return ((row, row.size / longest) for row in rows)


def _plain(text: str) -> str:
    """Text that Markdown leaves alone, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))
