"""Results in notebooks: HTML without scripts, style sheets or backgrounds, which suits dark pages and light ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Markup", "bar", "details", "table"]

# Colours that the colour-blind can tell apart (Okabe and Ito), and that stand out from black as well as from white.
_ABOVE, _BELOW = "#0072B2", "#D55E00"
_TABLE = '<table style="margin-left: 0">'  # where the text begins, though notebooks put tables in the middle


class Markup(str):
    """A text that is HTML already; every other text is escaped.

    Examples
    --------
    >>> isinstance(table([]), Markup)
    True
    """

    __slots__ = ()


def table(
    rows: Iterable[Sequence[object]], *, head: Sequence[str] = (), caption: str = "", floats: str = ",.4f"
) -> Markup:
    """Return a table, with the first cell of each row as its header and numbers to the right.

    Parameters
    ----------
    rows : sequences of texts, numbers, None or Markup
        Texts may come from data: they are escaped.
    head : names of the columns, optional
    caption : str, optional
        What the table is, above it.
    floats : str, default ",.4f"
        The format of floats.

    Examples
    --------
    >>> print(table([("<b>", 1234, 0.5)]))
    <table ...><tbody><tr><th scope="row" ...>&lt;b&gt;</th><td ...>1,234</td><td ...>0.5000</td></tr></tbody></table>
    """
    style = "caption-side: top; text-align: left; white-space: nowrap"
    above = f'<caption style="{style}">{escape(caption)}</caption>' if caption else ""
    if head:
        names = "".join(_cell('th scope="col"', name) for name in head)
        above += f"<thead><tr>{names}</tr></thead>"
    body = ""
    for of, *values in rows:
        cells = "".join(_cell("td", value, floats) for value in values)
        body += "<tr>" + _cell('th scope="row"', of, floats) + cells + "</tr>"
    return Markup(f"{_TABLE}{above}<tbody>{body}</tbody></table>")


def details(summary: str, content: Markup) -> Markup:
    """Return a part that is folded up until it is clicked.

    Examples
    --------
    >>> print(details("2 columns", table([])))
    <details><summary>2 columns</summary><table ...><tbody></tbody></table></details>
    """
    return Markup(f"<details><summary>{escape(summary)}</summary>{content}</details>")


def bar(value: float, largest: float) -> Markup:
    """Return a bar beside a number: to the right above 0 and to the left below; the largest is as long as fits.

    It says nothing that the number does not say, so it is hidden from screen readers.

    Examples
    --------
    >>> print(bar(-1, 2))
    <div aria-hidden="true" style="...transparent 25.0%, #D55E00 25.0% 50.0%, transparent 50.0%)"></div>
    """
    share = 50 * value / largest if largest else 0.0
    left, right = (f"{end:.1f}%" for end in sorted((50.0, 50 + share)))
    colours = f"transparent {left}, {_ABOVE if value > 0 else _BELOW} {left} {right}, transparent {right}"
    style = f"width: 8em; height: 0.8em; background: linear-gradient(to right, {colours})"
    return Markup(f'<div aria-hidden="true" style="{style}"></div>')


def _cell(tag: str, value: object, floats: str = "") -> str:
    side = "right" if isinstance(value, int | float) else "left"
    return f'<{tag} style="padding: 0.2em 0.6em; text-align: {side}">{_text(value, floats)}</{tag[:2]}>'


def _text(value: object, floats: str) -> str:
    if isinstance(value, Markup):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return format(value, floats)
    return escape(f"{value:,}" if isinstance(value, int) else str(value))
