"""Results in notebooks: whole, escaped, and without anything from elsewhere."""

from __future__ import annotations

import pytest

from bitfm.html import bar, details, table
from markup import Reader


def test_every_text_is_shown_and_none_is_obeyed():
    evil = "<script>alert('&')</script>\"><img src=x onerror=alert(1)>"
    read = Reader(table([(evil, evil)], head=(evil, evil), caption=evil) + details(evil, table([])))
    assert read.texts == [evil] * 6
    assert set(read.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"}


def test_numbers_are_to_the_right_and_grouped():
    read = Reader(table([("n", 1234567, 0.123456, None, float("nan"))]))
    assert read.texts == ["n", "1,234,567", "0.1235"]
    sides = [value.split()[-1] for name, value in read.attributes if name == "style"][1:]
    assert sides == ["left", "right", "right", "left", "right"]


@pytest.mark.parametrize(("value", "largest", "ends"), [(2, 2, (50, 100)), (-1, 2, (25, 50)), (0, 0, (50, 50))])
def test_a_bar_starts_in_the_middle(value, largest, ends):
    style = dict(Reader(bar(value, largest)).attributes)["style"]
    assert f"{ends[0]:.1f}% {ends[1]:.1f}%" in style
