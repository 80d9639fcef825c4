"""A disk that is full for real; `make fuzz ATTACK=disk` has more operations and other spaces left."""

from __future__ import annotations

import pytest

from attacks.disk import namespace, on_full_disk

pytestmark = pytest.mark.skipif(namespace() is None, reason="may not mount a small disk")


@pytest.mark.parametrize("operation", ["save", "recommend --csv", "demo"])
def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path, operation):
    assert on_full_disk(operation, 8192, tmp_path) == "refused"
