"""A small document, written once and rendered twice: as Markdown and as one HTML page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "Figure", "Heading", "Points", "Table", "Text", "as_html", "as_markdown"]


@dataclass(frozen=True)
class Heading:
    """A heading of a level, 1 for the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of points, each a head and what is said of it."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """A table; its first `words` columns are words, the others numbers. Cells in ``**`` are strong."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True)
class Figure:
    """A picture beside the document, an SVG, and what it shows."""

    path: Path
    caption: str


Block = Heading | Text | Points | Table | Figure

_CSS = """
:root { color-scheme: light dark; --ink: #1b1b1f; --pale: #5c5f66; --paper: #fdfdfc; --line: #d9dade; --band: #f4f5f6;
  --yes: #00664a; --no: #a63c00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e7; --pale: #a2a5ad; --paper: #17181b; --line: #3a3c42; --band: #1f2125; --yes: #4cc9a0;
    --no: #ff9d66; }
}
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 68rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 "Source Serif 4", Charter, Georgia, "Times New Roman", serif; }
h1 { font-size: 1.9rem; line-height: 1.2; } h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
h3 { margin-top: 1.8rem; } p, li { max-width: 46rem; } code { font-size: 0.9em; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.88rem; line-height: 1.35;
  font-variant-numeric: lining-nums tabular-nums; }
th, td { padding: 0.28rem 0.7rem; text-align: right; vertical-align: top; white-space: nowrap; }
th { border-bottom: 2px solid var(--line); font-weight: 600; vertical-align: bottom; }
th.word, td.word { text-align: left; white-space: normal; }
tbody tr:nth-child(even) { background: var(--band); }
td.yes { color: var(--yes); font-weight: 600; } td.no { color: var(--no); font-weight: 600; }
td.not { color: var(--pale); font-style: italic; }
figure { margin: 1.4rem 0; } figure svg { width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { color: var(--pale); font-size: 0.9rem; max-width: 46rem; }
@media print { body { max-width: none; } h2, h3 { break-after: avoid; } tr, figure { break-inside: avoid; } }
"""


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return the document as Markdown.

    >>> print(as_markdown([Heading("A", 1), Table(["method", "bits"], [["DCF", "8"]])]))
    # A
    <BLANKLINE>
    | method | bits |
    |---|---:|
    | DCF | 8 |
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Text():
            return block.text
        case Points():
            return "\n".join(f"- **{head}** {text}" for head, text in block.items)
        case Table():
            rule = "|".join("---" if i < block.words else "---:" for i in range(len(block.head)))
            lines = [_row(block.head), f"|{rule}|", *(_row(row) for row in block.rows)]
            return "\n".join(lines)
        case Figure():
            return f"![{block.caption}]({block.path.name})\n\n*{block.caption}*"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def as_html(blocks: Sequence[Block]) -> str:
    """Return the document as one page that needs no other file: its style and its pictures are in it.

    >>> page = as_html([Heading("A < B", 1)])
    >>> page.startswith("<!DOCTYPE html>"), "<h1>A &lt; B</h1>" in page
    (True, True)
    """
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    body = "\n".join(_html(block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_inline(block.text)}</h{block.level}>"
        case Text():
            return f"<p>{_inline(block.text)}</p>"
        case Points():
            items = (f"<li><strong>{_inline(head)}</strong> {_inline(text)}</li>" for head, text in block.items)
            return "<ul>\n" + "\n".join(items) + "\n</ul>"
        case Table():
            head = "".join(f"<th{_word(i, block)}>{_inline(cell)}</th>" for i, cell in enumerate(block.head))
            rows = "\n".join(f"<tr>{''.join(_cells(row, block))}</tr>" for row in block.rows)
            return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'
        case Figure():
            return f"<figure>{_svg(block)}<figcaption>{_inline(block.caption)}</figcaption></figure>"


def _cells(row: Sequence[str], table: Table) -> list[str]:
    kinds = {"yes": ' class="yes"', "no": ' class="no"', "not run": ' class="not"'}
    return [
        f"<td{_word(i, table) or kinds.get(cell.removesuffix(', in part'), '')}>{_inline(cell)}</td>"
        for i, cell in enumerate(row)
    ]


def _word(column: int, table: Table) -> str:
    return ' class="word"' if column < table.words else ""


def _inline(text: str) -> str:
    """Escape, then render the marks that a text may have: two stars, one star, a backtick."""
    text = html.escape(text, quote=False)
    for mark, element in ((r"\*\*", "strong"), (r"\*", "em"), ("`", "code")):
        text = re.sub(f"{mark}(.+?){mark}", rf"<{element}>\1</{element}>", text)
    return text


def _svg(figure: Figure) -> str:
    """Return the picture's own element, its names made its own, since several pictures share the page."""
    text = figure.path.read_text(encoding="utf-8")
    text = text[text.index("<svg") :]
    name = figure.path.stem
    for mark in ('id="', 'href="#', "url(#"):
        text = re.sub(rf"(?<![\w-]){re.escape(mark)}", f"{mark}{name}-", text)
    label = html.escape(figure.caption)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
