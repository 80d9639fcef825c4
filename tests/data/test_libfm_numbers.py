"""Numbers read from text are the doubles Python's float() gives, bit for bit."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitfm import _core


def parse_values(texts: list[str]) -> np.ndarray:
    parser = _core.LibfmParser()
    parser.feed("".join(f"0 1:{text}\n" for text in texts).encode())
    return parser.finish()[3]


def bits(array) -> list[int]:
    return np.asarray(array, dtype=np.float64).view(np.uint64).tolist()


HARD_NUMBERS = [
    "0",
    "-0",
    "+0",
    "0e999",
    "0.0e-999",
    "1",
    "-1",
    "00012",
    "1.",
    ".5",
    "-.5",
    "+.5e+3",
    "1E5",
    "1e+05",
    "1e-05",
    "123456789012345678",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0",
    "9007199254740994",
    "9007199254740995",
    "18446744073709551615",
    "18446744073709551616",
    "9999999999999999999",
    "0.9999999999999999999",
    "1e22",
    "1e23",
    "8.5e22",
    "123456789e15",
    "9007199254740991e22",
    "9007199254740993e-22",
    "1e-22",
    "1e-23",
    "1e-27",
    "1e-28",
    "9999999999999999999e-27",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "1e-400",
    "-1e-400",
    "1e-99999999999999",
    "0.1",
    "0.2",
    "0.3",
    "0.30000000000000004",
    "0.1234567890123456789",
    "3.141592653589793238462643383279502884197169399375105820974944",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
    "0.000000000000000000000000000000000000000012345678901234567890",
    "7.2057594037927933e16",
    "7.2057594037927945e16",
    "0.500000000000000166533453693773481063544750213623046875",
    "6250e-1074",
]


def test_hard_numbers_equal_pythons():
    assert bits(parse_values(HARD_NUMBERS)) == bits([float(text) for text in HARD_NUMBERS])


decimal = st.builds(
    lambda sign, whole, point, exponent: sign + whole + point + exponent,
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=25),
    st.one_of(st.just(""), st.text("0123456789", max_size=30).map(lambda digits: "." + digits)),
    st.one_of(st.just(""), st.integers(-340, 280).map(lambda power: f"e{power}")),
)


@given(st.lists(decimal, max_size=50))
def test_decimals_equal_pythons(texts):
    assert bits(parse_values(texts)) == bits([float(text) for text in texts])


def test_many_decimals_equal_pythons():
    rng = random.Random(0)
    texts = [
        f"{rng.randrange(10 ** rng.randint(1, 19))}e{rng.randint(-30, 5)}"
        if rng.random() < 0.5
        else repr(rng.random() * 10 ** rng.randint(-8, 8))
        for _ in range(100_000)
    ]
    assert bits(parse_values(texts)) == bits([float(text) for text in texts])
