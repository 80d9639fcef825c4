"""How a file is to be read, and how it was found to be written."""

from __future__ import annotations

from typing import NamedTuple

from bitfm.data.formats import check_decimal
from bitfm.validation import check_integer

__all__ = ["FileFacts", "Reading"]


class _Reading(NamedTuple):
    separator: str | None = None
    quote: str | None = None
    escape: str | None = None
    encoding: str | None = None
    skip_bad: int = 0
    decimal: str | None = None


class Reading(_Reading):
    """What `read_table` is told about a text; None is to be found, and "" says that there is none.

    Examples
    --------
    >>> Reading(quote="'").quote
    "'"
    """

    def __new__(
        cls,
        separator: str | None = None,
        quote: str | None = None,
        escape: str | None = None,
        encoding: str | None = None,
        skip_bad: int = 0,
        decimal: str | None = None,
    ) -> Reading:
        """Check what is told."""
        for name, mark in (("quote", quote), ("escape", escape)):
            fits = mark is None or mark == "" or (len(mark) == 1 and mark.isascii() and not mark.isalnum())
            if not fits or mark in ("\r", "\n", "\0"):
                raise ValueError(
                    f"{name} is {mark!r}; expected one ASCII character such as \"'\", or '' if there is none"
                )
        if quote and quote in (escape, separator):
            other = "separator" if quote == separator else "escape"
            raise ValueError(
                f"quote and {other} are both {quote!r}; give two different ones (doubled quotes need no escape)"
            )
        if escape and escape == separator:
            raise ValueError(f"escape and separator are both {escape!r}; give two different ones")
        check_integer("skip_bad", skip_bad, 0)
        check_decimal("decimal", decimal)
        return super().__new__(cls, separator, quote, escape, encoding, skip_bad, decimal)

    def with_separator(self, default: str | None) -> Reading:
        """Return the same with a separator, unless one was given."""
        return self if self.separator or default is None else Reading(default, *self[1:])


class FileFacts(NamedTuple):
    """How a file is written: of a text the encoding, separator, quotes and escapes, and lines that were skipped.

    Examples
    --------
    >>> str(FileFacts("text", "windows-1252", ";", "'"))
    "windows-1252, ';' between cells, quotes ', no escapes"
    >>> FileFacts("text", skipped=1, first_skipped=(7, "3 cells, but the first line has 2")).skipped_lines()
    '1 line skipped that is no row: line 7 (3 cells, but the first line has 2)'
    """

    format: str
    encoding: str | None = None
    separator: str | None = None
    quote: str = ""
    escape: str = ""
    skipped: int = 0
    first_skipped: tuple[int, str] | None = None

    def __str__(self) -> str:
        parts = [part for part in (None if self.format == "text" else self.format, self.encoding) if part]
        if self.separator is not None:
            parts.append(f"{self.separator!r} between cells")
            parts.append(f"quotes {self.quote}" if self.quote else "no quotes")
            parts.append(f"escapes {self.escape}" if self.escape else "no escapes")
        return ", ".join([*parts, *([self.skipped_lines()] if self.skipped else [])])

    def skipped_lines(self) -> str:
        """Return how many lines were skipped, and the first of them."""
        if self.first_skipped is None:
            return "no line skipped"
        line, why = self.first_skipped
        if self.skipped == 1:
            return f"1 line skipped that is no row: line {line} ({why})"
        return f"{self.skipped:,} lines skipped that are no rows, the first is line {line} ({why})"
