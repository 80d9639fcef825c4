"""A command of another package joins ``bitfm`` by an entry point: one file, and nothing changes in bitfm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENTRIES = """
[bitfm.commands]
greet = greetings:greet
greetings = greetings:group
data.greet = greetings:greet
broken = greetings:nothing
fit = greetings:greet
"""


@pytest.fixture
def bitfm(tmp_path):
    """``python -m bitfm`` where a distribution of one file and its entry points is installed."""
    shutil.copy(Path(__file__).with_name("greetings.py"), tmp_path)
    about = tmp_path / "greetings-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)

    def run(*arguments):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", "bitfm", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)

    return run


def test_a_command_is_one_file_and_an_entry_point(bitfm):
    assert bitfm("greet", "Ada", "--loud").stdout == "HELLO Ada\n"
    assert bitfm("greet").returncode == 2  # an argument is missing: as of bitfm's own commands
    assert "As loud as can be." in bitfm("greet", "--help").stdout


def test_so_is_a_group_and_a_command_of_a_group_of_bitfm(bitfm):
    assert bitfm("greetings", "leave").stdout == "goodbye\n"
    assert bitfm("data", "greet", "Ada").stdout == "hello Ada\n"
    assert "greet" in bitfm("data", "--help").stdout


def test_the_help_of_bitfm_has_them_and_what_is_broken_harms_nothing_else(bitfm):
    shown = bitfm("--help")
    assert shown.returncode == 0, shown.stderr
    assert "Greet by name." in shown.stdout
    assert "Several greetings." in shown.stdout
    assert "broken" in shown.stdout
    done = bitfm("broken", "--help")
    assert done.returncode == 2
    assert done.stderr.startswith("bitfm: bitfm broken cannot be loaded: ")
    assert done.stderr.endswith("install greetings again or remove it\n")
    assert "Traceback" not in done.stderr


def test_bitfms_own_commands_cannot_be_taken(bitfm):
    assert "Fit a recommender" in bitfm("fit", "--help").stdout
