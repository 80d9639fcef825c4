"""The command line as a whole."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoints

import pytest

import bitfm
from bitfm import _core
from bitfm.cli.app import EXIT_CODES
from cli_process import call, run
from documents import ROOT


def test_doctor_tells_what_is_here(tmp_path):
    done = call("doctor", cwd=tmp_path, BITFM_DATA="")
    assert done.returncode == 0, done.stderr
    assert bitfm.__version__ in done.stdout
    assert _core.isa() in done.stdout
    assert "none found" in done.stdout


def test_doctor_speaks_json_and_finds_data_and_the_chosen_instruction_set(tmp_path):
    done = run("doctor", "--json", cwd=tmp_path, BITFM_DATA=str(tmp_path), BITFM_ISA="portable")
    facts = {row["what"]: row["found"] for row in json.loads(done.stdout)["rows"]}
    assert facts["data folder"] == str(tmp_path)
    assert facts["instruction set"].startswith("portable")
    assert int(facts["threads"]) >= 1


def test_an_unknown_instruction_set_is_one_clear_line(tmp_path):
    done = run("doctor", cwd=tmp_path, BITFM_ISA="sse9")
    assert done.returncode == 1
    assert "'sse9' is not available" in done.stderr
    assert "portable" in done.stderr
    assert "Traceback" not in done.stderr


def test_version_and_help(tmp_path):
    assert call("--version", cwd=tmp_path).stdout.strip() == f"bitfm {bitfm.__version__}"
    assert "doctor" in call("--help", cwd=tmp_path).stdout
    assert run("nonsense", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    "arguments", ["bench", "bench --help", "bench accuracy --bits 8", "paper", "data prepare csv x"]
)
def test_a_command_of_a_package_that_is_not_installed_says_what_to_install(tmp_path, monkeypatch, arguments):
    monkeypatch.setattr("bitfm.cli._registry.entry_points", lambda **about: EntryPoints())
    done = call(*arguments.split(), cwd=tmp_path)
    assert done.returncode == 2
    name = "bitfm data prepare" if "prepare" in arguments else f"bitfm {arguments.split()[0]}"
    told = f"bitfm: {name} is a command of bitfm-research, which is not installed; pip install bitfm-research\n"
    assert done.stderr == told
    assert "bench" not in call("--help", cwd=tmp_path).stdout


def test_exit_codes_are_as_documented():
    table = re.findall(r"\| (\d+) \| \{class\}`~bitfm\.(\w+)`", (ROOT / "docs/command-line.md").read_text())
    assert {getattr(bitfm, name).code: int(number) for number, name in table}.items() <= EXIT_CODES.items()
    assert len(table) == 10
    assert (EXIT_CODES["usage"], EXIT_CODES["system"], EXIT_CODES["disk-full"]) == (2, 3, 14)
    assert EXIT_CODES["out-of-memory"] == 15
