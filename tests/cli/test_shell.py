"""What a shell expects of a command: completion, closed pipes, Ctrl-C, and a word where memory is short."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from cli_process import COMMAND, call, run, run_into_closed_pipe


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_shown(tmp_path, shell):
    done = call("--show-completion", shell, cwd=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0, done.stderr
    assert "_BITFM_COMPLETE" in done.stdout


def test_a_shell_learns_the_commands_and_leaves_files_to_itself(tmp_path):
    def complete(words, place):
        environment = {"_BITFM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        return call(cwd=tmp_path, **environment).stdout.split()

    assert complete("bitfm rec", 1) == ["recommend"]
    assert complete("bitfm recommend --his", 2) == ["--history"]
    assert complete("bitfm recommend sh", 2) == []  # what the script falls back to is the names of files
    shown = call("--show-completion", "bash", cwd=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout
    assert "complete -o default" in shown


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["a table", "JSON"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path, options):
    assert run_into_closed_pipe("doctor", *options, cwd=tmp_path) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is full")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["with a buffer", "without"])
def test_a_full_disk_below_standard_output_is_one_line_and_an_exit_code(tmp_path, unbuffered):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        for command, code in ((["--version"], 14), (["inspect", "no.bitfm"], 3)):
            streams = {"stdout": full, "stderr": subprocess.PIPE} if code == 14 else {"stderr": full}
            done = subprocess.run([*COMMAND, *command], **streams, text=True, env=environment, timeout=60, check=False)
            assert done.returncode == code  # also if there is no place for the sentence
            assert done.stderr in (None, "bitfm: [Errno 28] No space left on device\n")


def test_what_does_not_fit_is_not_lost_without_a_word(tmp_path):
    """Without a buffer, Python writes a part of a text, does not see that it was a part, and goes on."""
    resource = pytest.importorskip("resource")
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with open(tmp_path / "printed", "w") as printed:
        done = subprocess.run(
            [*COMMAND, "fit", "--help"],
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (14, "bitfm: [Errno 27] File too large\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, to know when the command waits")
def test_control_c_exits_with_130(tmp_path):
    """The command waits for a file of defaults that never comes; so it is there to be interrupted."""
    os.mkfifo(tmp_path / "slow.toml")
    command = [*COMMAND, "inspect", "shop.bitfm", "--config", "slow.toml"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with open(tmp_path / "slow.toml", "w"):  # opens when the command does
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, "", "bitfm: interrupted\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, to know what is imported")
@pytest.mark.parametrize("module", ["typer", "rich/console", "polars"])
def test_control_c_exits_with_130_while_modules_are_imported(tmp_path, module):
    """A module of this name never finishes its import: of the command line, of what it prints by, of a command."""
    source = tmp_path / f"{module}.py"
    source.parent.mkdir(exist_ok=True)
    source.write_text(f"open({str(tmp_path / 'slow')!r}).read()")
    os.mkfifo(tmp_path / "slow")
    if module.startswith("rich"):
        (source.parent / "__init__.py").touch()
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    command = [*COMMAND, "data", "describe", "t.csv"]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with open(tmp_path / "slow", "w"):
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert said in ("bitfm: interrupted\n", "\n", "")  # Typer says nothing while it reads the arguments


def test_little_is_imported_before_control_c_is_taken():
    """Until the command line's own function runs, Ctrl-C would end in a traceback."""
    script = "import sys; before = set(sys.modules); import bitfm.cli; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    foreign = {name for name in done.stdout.split() if name.split(".")[0] not in sys.stdlib_module_names}
    assert foreign == {"bitfm", "bitfm.cli", "bitfm.lazy"}


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (MemoryError(), "bitfm: out of memory; give smaller tables, or more memory\n"),
        (MemoryError("8 GB"), "bitfm: out of memory (8 GB); give smaller tables, or more memory\n"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "bitfm: [Errno 12] Cannot allocate memory\n"),
    ],
    ids=["plain", "of NumPy", "of the system"],
)
@pytest.mark.parametrize("place", ["bitfm.data.tables.read.read_file", "bitfm.cli.describe.names_of"])
def test_no_memory_is_one_sentence_and_an_exit_code(tmp_path, monkeypatch, problem, said, place):
    def fail(*_given, **_options):
        raise problem

    monkeypatch.setattr(place, fail)
    done = call("data", "describe", "t.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (15, "", said)


def test_no_memory_to_load_a_command_is_told_as_such(tmp_path, monkeypatch):
    monkeypatch.setattr(EntryPoint, "load", lambda self: np.empty(1 << 60, np.uint8))
    done = call("doctor", cwd=tmp_path)
    assert done.returncode == 15
    assert done.stderr.startswith("bitfm: out of memory (Unable to allocate")


def test_quiet_leaves_the_result_and_the_errors(tmp_path, bookshop, model):
    arguments = ["recommend", "shop.bitfm", "nobody", "-n", 1, "--csv"]
    loud, quiet = (run(*arguments, *more, cwd=bookshop.folder) for more in ((), ("--quiet",)))
    assert "not known" in loud.stderr
    assert (quiet.stderr, quiet.stdout) == ("", loud.stdout)
    done = run("similar", "shop.bitfm", "nothing", "-q", cwd=bookshop.folder)
    assert done.returncode == 11
    assert "is not known" in done.stderr
    (tmp_path / "bitfm.toml").write_text(f'model = "{model.path}"\n[recommend]\nquiet = true\njobs = 1\n')
    assert run("recommend", "nobody", "-n", 1, cwd=tmp_path).stderr == ""
    assert "not known" in run("explain", "nobody", bookshop.book, cwd=tmp_path).stderr  # that is of recommend alone


def test_jobs_limit_the_threads_of_the_process_and_change_no_result(tmp_path, bookshop):
    """The process counts its threads, those of the core and of Polars, while it fits."""
    code = (
        "import sys, threading, os, bitfm.cli as cli, bitfm.validation as v\n"
        "sys.argv[0] = 'bitfm'\n"
        "try:\n    cli.main()\nfinally:\n"
        "    import polars; print(v.thread_count(-1), v.thread_count(7), polars.thread_pool_size())\n"
    )
    tables = ["--interactions", "ratings.csv", "--user", "reader", "--item", "title", "--bits", "8", "--no-target"]
    files = []
    for jobs in ("1", "2"):
        command = [sys.executable, "-c", code, "fit", *tables, "--jobs", jobs, "-o", str(tmp_path / f"{jobs}.bitfm")]
        done = subprocess.run(command, capture_output=True, text=True, cwd=bookshop.folder, check=False)
        assert done.returncode == 0, done.stderr
        most = min(int(jobs), len(os.sched_getaffinity(0)))
        assert done.stdout.splitlines()[-1] == f"{most} {jobs} {jobs}"
        files.append((tmp_path / f"{jobs}.bitfm").read_bytes())
    assert files[0] == files[1]
