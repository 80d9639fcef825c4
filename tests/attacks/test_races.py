"""A moment of what ``make tsan`` does for minutes; and which of its reports count."""

from __future__ import annotations

from attacks.races import CHANGERS, SEARCHERS, arenas, fight, reports

REPORT = """==================
WARNING: ThreadSanitizer: data race (pid=24702)
  Write of size 8 at 0x7b2000003880 by thread T3:
    #0 {} <null> ({}+0x100624)
  Thread T3 (tid=24715, running) created by main thread at:
    #0 pthread_create <null> (libtsan.so+0x5e686)
SUMMARY: ThreadSanitizer: data race (bitfm/_core.so+0x100624)
==================
"""


def test_searches_see_a_catalogue_that_was():
    for arena in arenas(share=0.01):
        done, wrong = fight(arena, 0.1)
        assert not wrong, arena.name
        assert done["searches"] >= SEARCHERS
        assert done["changes"] >= CHANGERS


def test_reports_with_a_frame_in_the_core_count():
    ours = REPORT.format("bitfm::moments", "_core.cpython-311-x86_64-linux-gnu.so")
    path = REPORT.format("bitfm::moments", "/home/me/bitfm/_core.abi3.so")
    others = REPORT.format("memcpy", "_polars_runtime.abi3.so") + REPORT.format("its_core.h", "libpython3.11.so")
    found, counted = reports(others + ours + path)
    assert found == 4
    assert [part.strip() for part in counted] == [part.replace("=" * 18, "").strip() for part in (ours, path)]
