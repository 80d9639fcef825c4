"""A write happens entirely or not at all, and never disturbs who has the old file open."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bitfm import persist
from bitfm.atomic import atomic_write
from bitfm.errors import ModelFileError

BLOCK = np.arange(120, dtype=np.int32).reshape(4, 5, 6)


def run_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start the code in another process that finds the same packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_contents_can_be_rewritten_in_place(path):
    persist.write(path, {"a": BLOCK}, {"model": "demo"})
    before = path.read_bytes()
    contents = persist.read(path)
    persist.write(path, contents.tensors, contents.metadata)
    assert path.read_bytes() == before


def test_overwriting_does_not_disturb_an_open_reader(path):
    persist.write(path, {"a": BLOCK}, {})
    open_contents = persist.read(path)
    persist.write(path, {"a": BLOCK + 1}, {})
    assert_array_equal(open_contents.tensors["a"], BLOCK)
    assert_array_equal(persist.read(path).tensors["a"], BLOCK + 1)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_file_mode_honours_the_umask(path, umask, mode):
    before = os.umask(umask)
    try:
        persist.write(path, {}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_symbolic_link_is_followed(tmp_path):
    link, target = tmp_path / "current.bitfm", tmp_path / "monday.bitfm"
    link.symlink_to(target)
    for value in (1, 2):
        persist.write(link, {"a": np.array(value)}, {})
        assert link.is_symlink()
        assert persist.read(target).tensors["a"] == value


def test_a_relative_path_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    persist.write("model.bitfm", {"a": BLOCK}, {})
    assert_array_equal(persist.read("model.bitfm").tensors["a"], BLOCK)


def test_neither_a_pipe_nor_a_folder_is_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelFileError, match="not a regular file"):
            persist.write(target, {}, {})
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_missing_folder_is_named_in_the_error(tmp_path):
    target = tmp_path / "missing" / "model.bitfm"
    with pytest.raises(FileNotFoundError) as caught:
        persist.write(target, {}, {})
    assert caught.value.filename == str(target)


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, function, failure):
    persist.write(path, {"a": BLOCK}, {})

    def fail(*_):
        raise failure

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(type(failure)):
        persist.write(path, {"a": BLOCK + 1}, {})
    assert os.listdir(path.parent) == [path.name]
    assert_array_equal(persist.read(path).tensors["a"], BLOCK)


def test_a_folder_that_cannot_be_synced_does_not_fail_a_finished_write(path, monkeypatch):
    sync = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    persist.write(path, {"a": BLOCK}, {})
    assert_array_equal(persist.read(path).tensors["a"], BLOCK)


def test_file_and_folder_are_synced_around_the_rename(path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace

    def record_sync(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def record_replace(source, target):
        calls.append("rename")
        assert os.path.dirname(source) == os.path.dirname(target)
        assert os.path.getsize(source) % 64 == len(BLOCK.tobytes()) % 64
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_replace)
    persist.write(path, {"a": BLOCK}, {})
    assert calls == ["file", "rename", "folder"]


def test_a_write_that_the_kernel_refuses_half_way_leaves_the_old_file(path):
    persist.write(path, {"a": BLOCK}, {})
    child = run_python(
        """
        import resource, sys
        import numpy as np
        from bitfm import persist

        resource.setrlimit(resource.RLIMIT_FSIZE, (10 << 20, 10 << 20))
        try:
            persist.write(sys.argv[1], {"a": np.zeros(40 << 20, dtype=np.uint8)}, {})
        except OSError as error:
            print(error.errno, error.filename)
        """,
        path,
    )
    assert child.communicate()[0].strip() == f"{errno.EFBIG} {path}"
    assert os.listdir(path.parent) == [path.name]
    assert_array_equal(persist.read(path).tensors["a"], BLOCK)


WRITE_AND_WAIT = """
    import os, sys, time
    from bitfm.atomic import atomic_write

    if sys.argv[2] == "named":
        del os.O_TMPFILE  # as on systems that have none
    with atomic_write(sys.argv[1]) as file:
        file.write(b"half of it")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("way", ["unnamed", "named"])
def test_a_process_killed_while_writing_leaves_the_old_file(path, way):
    persist.write(path, {"a": BLOCK}, {})
    child = run_python(WRITE_AND_WAIT, path, way)
    assert child.stdout.readline() == "writing\n"
    temporary = sorted(path.parent.glob(".bitfm-*.tmp"))
    assert len(temporary) == (way == "named")
    for file in temporary:
        os.utime(file, (0, 0))
    persist.write(path, {"a": BLOCK + 1}, {})
    assert sorted(path.parent.glob(".bitfm-*.tmp")) == temporary  # somebody is writing it, however old it is
    child.kill()
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    assert_array_equal(persist.read(path).tensors["a"], BLOCK + 1)
    persist.write(path, {"a": BLOCK}, {})
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(path, mode):
    persist.write(path, {}, {})
    path.chmod(mode)
    with atomic_write(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # before the first byte
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def test_writing_takes_memory_for_a_chunk_not_for_the_array(path):
    child = run_python(
        """
        import resource, sys
        import numpy as np
        from bitfm import persist

        array = np.zeros((4, 16 << 20), dtype=np.uint8)
        array += 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        persist.write(sys.argv[1], {"c": array, "fortran": array.reshape(16 << 20, 4).T}, {})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """,
        path,
    )
    kibibytes = int(child.communicate()[0])
    assert kibibytes < 16 << 10
    path.unlink()
