"""A test that needs the real data sets runs where they are, and is skipped with the reason where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.data
def test_any():
    pass

@pytest.mark.parametrize("name", [pytest.param("a", marks=pytest.mark.data("a")),
                                  pytest.param("b", marks=pytest.mark.data("a", "b"))])
def test_each(name):
    pass

def test_without():
    pass
"""


@pytest.mark.parametrize(
    ("folder", "passed", "reason"),
    [
        (None, ["test_without"], "BITFM_DATA names no folder"),
        ("", ["test_without"], "BITFM_DATA names no folder"),
        ("nowhere", ["test_without"], "there is no folder nowhere"),
        (".", ["test_any", "test_each[a]", "test_without"], "there is no folder b"),
    ],
)
def test_what_needs_data_is_skipped_where_there_is_none(folder, passed, reason, pytester, monkeypatch):
    if folder is None:
        monkeypatch.delenv("BITFM_DATA", raising=False)
    else:
        monkeypatch.setenv("BITFM_DATA", folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # else every run imports all plugins anew
    pytester.mkdir("a")
    pytester.makeconftest(Path(__file__).with_name("data_marker.py").read_text())
    pytester.makepyfile(TESTS)
    ran, skipped, failed = pytester.inline_run("-p", "no:cacheprovider").listoutcomes()
    assert not failed
    assert [report.nodeid.split("::")[1] for report in ran] == passed
    assert len(skipped) == 4 - len(passed)
    assert reason in skipped[-1].longrepr[2]
