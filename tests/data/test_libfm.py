"""Reading the libFM text format: what it means, and that what is malformed is refused with its place."""

from __future__ import annotations

import gzip
import itertools
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from bitfm import _core
from bitfm.data.libfm import read_libfm
from bitfm.errors import DataFileError

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and returns its path."""

    def write(content, name="rows.libfm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def rows(path):
    X, y = read_libfm(path)
    return X.toarray().tolist(), y.tolist()


def parse(chunks):
    parser = _core.LibfmParser()
    for chunk in chunks:
        parser.feed(chunk)
    return [array.tobytes() for array in parser.finish()]


def test_reads_rows_comments_and_blank_lines(file):
    text = "# a header\n\n5 0:1 3:0.5 # a comment\n \t \n-1.5\tqid:7   2:+2e0\t\n0\n7#8 1:1\n3 1:.5 2:5.#"
    X, y = read_libfm(file(text))
    assert y.tolist() == [5, -1.5, 0, 7, 3]
    assert X.toarray().tolist() == [[1, 0, 0, 0.5], [0, 0, 2, 0], [0] * 4, [0] * 4, [0, 0.5, 5, 0]]
    assert isinstance(X, sparse.csr_matrix)
    assert (X.indices.dtype, X.indptr.dtype, X.dtype, y.dtype) == (np.int32, np.int32, np.float64, np.float64)
    assert X.has_canonical_format


def test_crlf_reads_like_lf(file):
    text = "1 0:1 2:3\n# c\n\n2 1:1 # c\n3"
    assert rows(file(text)) == rows(file(text.replace("\n", "\r\n") + "\r", "crlf"))


def test_unsorted_indices_are_sorted(file):
    X, _ = read_libfm(file("1 5:50 0:1 3:30\n1 1:1 0:2\n"))
    assert X.indices.tolist() == [0, 3, 5, 0, 1]
    assert X.data.tolist() == [1, 30, 50, 2, 1]


def test_empty_file_is_an_empty_matrix(file):
    for content in ("", "\n\n", "# nothing"):
        assert read_libfm(file(content))[0].shape == (0, 0)
        X, y = read_libfm(file(content), n_features=7)
        assert X.shape == (0, 7)
        assert y.shape == (0,)


@pytest.mark.parametrize(
    ("text", "zero_based", "columns"),
    [
        ("1 1:1 3:1", True, [1, 3]),
        ("1 1:1 3:1", False, [0, 2]),
        ("1 1:1 3:1", "auto", [0, 2]),
        ("1 1:1\n1 0:1", "auto", [1, 0]),
        ("1", "auto", []),
    ],
)
def test_zero_based(file, text, zero_based, columns):
    X, _ = read_libfm(file(text), zero_based=zero_based)
    assert X.indices.tolist() == columns
    assert X.shape[1] == max(columns, default=-1) + 1


def test_n_features(file):
    path = file("1 0:1 9:1\n")
    assert read_libfm(path, n_features=10)[0].shape == (1, 10)
    assert read_libfm(path, n_features=2**31 - 1)[0].shape == (1, 2**31 - 1)
    with pytest.raises(DataFileError, match="holds 10 features but n_features is 9"):
        read_libfm(path, n_features=9)


def test_largest_index(file):
    X, _ = read_libfm(file("1 2147483646:1 0:1\n"))
    assert X.shape == (1, 2**31 - 1)
    assert X.indices.dtype == np.int32


def test_float32(file):
    X, y = read_libfm(file("0.1 0:0.1\n"), dtype="float32")
    assert X.dtype == np.float32
    assert X.data[0] == np.float32(0.1)
    assert y[0] == 0.1
    with pytest.raises(DataFileError, match="1e\\+300 is too large for float32"):
        read_libfm(file("1 0:1e300\n"), dtype="float32")


@pytest.mark.parametrize(
    "options", [{"zero_based": "yes"}, {"dtype": "int8"}, {"n_features": -1}, {"n_features": 2**31}]
)
def test_wrong_options_are_refused(file, options):
    with pytest.raises(ValueError, match=r"expected|must be a whole number"):
        read_libfm(file("1 0:1\n"), **options)


PIECES = b"# head\r\n1.25 3:0.123456789012345678 1:2e-5 # c\n\n-0 qid:3 7:1\r\n2\n3 2147483646:1e300"


def test_byte_by_byte_is_the_same():
    assert parse(PIECES[i : i + 1] for i in range(len(PIECES))) == parse([PIECES])


@given(st.lists(st.integers(0, len(PIECES)), max_size=10))
def test_split_anywhere_is_the_same(cuts):
    cuts = [0, *sorted(cuts), len(PIECES)]
    assert parse(PIECES[a:b] for a, b in itertools.pairwise(cuts)) == parse([PIECES])


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_place_of_an_error_does_not_depend_on_pieces(size):
    content = b"1 0:1\n# c\r\n2 1:1   4:x\n"
    with pytest.raises(_core.LibfmError, match=r"^line 3, column 11: expected a number after ':' but found 'x'$"):
        parse(content[i : i + size] for i in range(0, len(content), size))


def test_parser_is_closed_after_its_end_or_an_error():
    parser = _core.LibfmParser()
    parser.finish()
    broken = _core.LibfmParser()
    with pytest.raises(_core.LibfmError):
        broken.feed(b"x\n")
    for closed in (parser, broken):
        with pytest.raises(ValueError, match="make a new one"):
            closed.feed(b"1\n")
        with pytest.raises(ValueError, match="make a new one"):
            closed.finish()


def test_a_wrong_length_does_no_harm():
    for n_bytes in (0, 1, 10**6, 2**64 - 1):
        parser = _core.LibfmParser(0, n_bytes=n_bytes)
        for _ in range(3):
            parser.feed(b"1 0:1 1:2\n" * 1000)
        assert len(parser.finish()[0]) == 3000


def test_threads_cannot_share_a_parser():
    parser, errors = _core.LibfmParser(), []

    def feed():
        for _ in range(200):
            try:
                parser.feed(b"1 0:1 5:0.5\n" * 500)
            except ValueError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("in use by another thread" in error for error in errors)
    assert len(parser.finish()[0]) == 500 * (800 - len(errors))


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("abc 0:1", 1, "expected a number as the target but found 'abc'"),
        ("  1x 0:1", 3, "expected a number as the target but found '1x'"),
        ("0:1 1:1", 1, "expected a number as the target but found '0:1'"),
        ("1,2 0:1", 1, "expected a number as the target but found '1,2'"),
        ("nan 0:1", 1, "expected a finite number as the target but found 'nan'"),
        ("1e999", 1, "expected a finite number as the target but found '1e999'"),
        ("\x00", 1, "expected a number as the target but found '\\x00'"),
        ("1 3:abc", 5, "expected a number after ':' but found 'abc'"),
        ("1 3:", 5, "expected a number after ':' but found nothing"),
        ("1 3: 4:1", 5, "expected a number after ':' but found nothing"),
        ("1 3:#", 5, "expected a number after ':' but found nothing"),
        ("1 3:1:2", 5, "expected a number after ':' but found '1:2'"),
        ("1 3:0x10", 5, "expected a number after ':' but found '0x10'"),
        ("1 3:1_0", 5, "expected a number after ':' but found '1_0'"),
        ("1 3:.", 5, "expected a number after ':' but found '.'"),
        ("1 3:-", 5, "expected a number after ':' but found '-'"),
        ("1 3:--1", 5, "expected a number after ':' but found '--1'"),
        ("1 3:1e", 5, "expected a number after ':' but found '1e'"),
        ("1 3:1e+", 5, "expected a number after ':' but found '1e+'"),
        ("1 3:1,5", 5, "expected a number after ':' but found '1,5'"),
        ("1 3:NaN", 5, "expected a finite number after ':' but found 'NaN'"),
        ("1 3:-inf", 5, "expected a finite number after ':' but found '-inf'"),
        ("1 3:-1e309", 5, "expected a finite number after ':' but found '-1e309'"),
        ("1 3:1\x00", 5, "expected a number after ':' but found '1\\x00'"),
        ("1 0:1 é:1", 7, "expected a whole number of 0 or more before ':' but found '\\xc3\\xa9'"),
        ("1 7", 3, "expected 'index:value' but found '7'"),
        ("1 0:1\tword", 7, "expected 'index:value' but found 'word'"),
        ("1 " + "w" * 99, 3, f"expected 'index:value' but found '{'w' * 30}...'"),
        ("1 :5", 3, "expected a whole number of 0 or more before ':' but found nothing"),
        ("1 -1:5", 3, "expected a whole number of 0 or more before ':' but found '-1'"),
        ("1 1.5:5", 3, "expected a whole number of 0 or more before ':' but found '1.5'"),
        ("1 1e2:5", 3, "expected a whole number of 0 or more before ':' but found '1e2'"),
        ("1 a:5", 3, "expected a whole number of 0 or more before ':' but found 'a'"),
        ("1 2147483647:5", 3, "expected an index of at most 2147483646 but found '2147483647'"),
        (
            "1 99999999999999999999999:5",
            3,
            "expected an index of at most 2147483646 but found '99999999999999999999999'",
        ),
        ("1 3:1 3:2", 7, "expected each index once but found index 3 a second time"),
        ("1 qid:1 3:1 1:5 03:2 # 3:4", 17, "expected each index once but found index 3 a second time"),
        ("1 qid:x 3:1", 7, "expected a whole number after 'qid:' but found 'x'"),
        ("1 qid: 3:1", 7, "expected a whole number after 'qid:' but found nothing"),
        ("1 3:1 qid:1", 7, "expected a whole number of 0 or more before ':' but found 'qid'"),
        ("1 3:1\r2 4:1", 6, "expected a line feed after a carriage return but found '2'"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "", "\n1 0:1\n"])
def test_malformed_lines(file, line, column, message, ending):
    path = file("1 0:1\n# comment\n" + line + ending, "ratings.libfm")
    with pytest.raises(DataFileError) as caught:
        read_libfm(path)
    assert str(caught.value) == f"{path}, line 3, column {column}: {message}"


def test_index_0_where_indices_start_at_1(file):
    path = file("1 1:1\n1 1:1 0:1\n")
    with pytest.raises(DataFileError) as caught:
        read_libfm(path, zero_based=False)
    assert str(caught.value).startswith(f"{path}, line 2, column 7: found index 0 where indices start at 1")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_libfm(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        read_libfm(tmp_path)


@given(st.binary(max_size=200))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\x00")
@example(b"\x1f")
@example(b"\x00" * 100)
@shared_folder
def test_random_bytes_never_crash(file, content):
    with_result_or_error(file(content))


@given(st.text("0123456789012345 :.e-+\n\r\t#qidnaf\x00", max_size=80), st.integers(0, 80))
@shared_folder
def test_almost_rows_never_crash(file, noise, place):
    text = "1 0:1 5:0.25 # c\n-2.5 qid:1 3:1e-3\n"
    with_result_or_error(file(text[:place] + noise + text[place:]))


def with_result_or_error(path):
    for zero_based in (True, False, "auto"):
        try:
            X, y = read_libfm(path, zero_based=zero_based)
        except DataFileError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            X.check_format(full_check=True)
            assert X.shape[0] == len(y)
            assert np.isfinite(X.data).all()
            assert np.isfinite(y).all()


def test_gzip_is_known_by_its_bytes(file):
    content = b"1 0:1\n2 3:0.5\n"
    plain = rows(file(content))
    assert rows(file(gzip.compress(content), "no-suffix")) == plain
    assert rows(file(content, "plain.gz")) == plain
    assert rows(file(gzip.compress(content[:9]) + gzip.compress(content[9:]), "members")) == plain


def test_errors_in_gzip_name_the_line(file):
    path = file(gzip.compress(b"1 0:1\n2 x\n"), "rows.gz")
    with pytest.raises(DataFileError, match=r"rows\.gz, line 2, column 3: expected 'index:value' but found 'x'"):
        read_libfm(path)


def test_truncated_gzip_at_every_byte(file):
    content = gzip.compress(b"1 0:1 1:0.5\n" * 3)
    for length in range(2, len(content)):
        with pytest.raises(DataFileError, match=r"compressed data (ends too early|is damaged)"):
            read_libfm(file(content[:length], "rows.gz"))


def test_corrupt_gzip_never_passes(file):
    content = gzip.compress(b"1 0:1 1:0.5\n" * 50, mtime=0)
    for place in range(10, len(content)):
        broken = bytearray(content)
        broken[place] ^= 0x55
        with pytest.raises(DataFileError):
            read_libfm(file(bytes(broken), "rows.gz"))
    with pytest.raises(DataFileError, match="damaged"):
        read_libfm(file(content + b"garbage", "rows.gz"))
