"""The instruction sets that the core finds are those that the system names."""

import platform
import re
from pathlib import Path

import pytest

from bitfm import core

BESIDE_AVX2 = {"avx2", "fma", "bmi1", "bmi2", "popcnt"}
BESIDE_AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512_vnni"}
BESIDE_AVX512 |= BESIDE_AVX2 | {"avx512_bitalg", "avx512_vpopcntdq", "gfni"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have the portable kernels alone")
def test_isas_are_those_of_the_processor():
    flags = set(re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
    expected = ["portable"]
    expected += ["avx2"] if flags >= BESIDE_AVX2 else []
    expected += ["avx512"] if flags >= BESIDE_AVX512 else []
    assert core.available_isas() == expected
