"""What a shell expects of a command: completion, closed pipes, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from cli_process import COMMAND, call, run_into_closed_pipe


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_shown(tmp_path, shell):
    done = call("--show-completion", shell, cwd=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0, done.stderr
    assert "_BITFM_COMPLETE" in done.stdout


def test_a_shell_learns_the_commands_and_leaves_files_to_itself(tmp_path):
    def complete(words, place):
        environment = {"_BITFM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        return call(cwd=tmp_path, **environment).stdout.split()

    assert complete("bitfm re", 1) == ["recommend"]
    assert complete("bitfm recommend --his", 2) == ["--history"]
    assert complete("bitfm recommend sh", 2) == []  # what the script falls back to is the names of files
    shown = call("--show-completion", "bash", cwd=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout
    assert "complete -o default" in shown


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["a table", "JSON"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path, options):
    assert run_into_closed_pipe("doctor", *options, cwd=tmp_path) == (0, "")


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
