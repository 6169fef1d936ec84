"""The software's identity: the digest covers every file that the controller consists of, and nothing else."""

import os
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jackpot import identity
from jackpot.cli import run
from jackpot.identity import PACKAGES, software_digest, software_version

ROOT = Path(__file__).parent.parent
IN_THE_DIGEST = [
    "jackpot/app.py",
    "jackpot/web/templates/display.html",
    "jackpot/web/templates/numerals.svg",
    "jackpot/web/static/display.js",
    "jackpot/web/static/display.css",
    "jackpot/web/static/icon.svg",
    "migrations/env.py",
    "migrations/script.py.mako",
    "rules/register/canberra-poker-2016.toml",
    "rules/register/numbers/canberra-poker-2016.txt",
]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("copied")
    for package in (*PACKAGES, "hardware_sim"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_a_copy_elsewhere_has_the_same_digest(copied):
    assert software_digest(copied) == software_digest()


@pytest.mark.parametrize("name", IN_THE_DIGEST)
def test_one_changed_byte_changes_the_digest(copied, name):
    before = software_digest(copied)
    path = copied / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        assert software_digest(copied) != before
    finally:
        path.write_bytes(content)
    assert software_digest(copied) == before


def test_a_renamed_and_an_additional_file_change_the_digest(copied):
    before = software_digest(copied)
    page = copied / "jackpot/web/templates/display.html"
    renamed = page.rename(page.with_name("displays.html"))
    after = software_digest(copied)
    renamed.rename(page)
    (copied / "rules/additional.txt").touch()
    assert len({before, after, software_digest(copied)}) == 3
    (copied / "rules/additional.txt").unlink()
    assert software_digest(copied) == before


def test_compiled_files_and_the_simulator_do_not_count(copied):
    before = software_digest(copied)
    for package in ("jackpot", "jackpot/core", "rules"):
        compiled = copied / package / "__pycache__"
        compiled.mkdir()
        (compiled / "app.cpython-311.pyc").write_bytes(b"compiled")
    (copied / "hardware_sim/__init__.py").write_text("")
    assert software_digest(copied) == before


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "serve"]])
def test_the_command_line_shows_the_version(arguments, capsys):
    assert run(arguments) == 0
    assert capsys.readouterr().out == f"jackpot-controller {software_version()}\n"
    assert software_version() == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_an_owner_on_this_machine_is_known_to_have_ended(monkeypatch):
    own = identity.owner()
    host, process, machine = own.split(":")
    assert (host, process) == (socket.gethostname(), str(os.getpid()))
    assert identity.may_be_running(own)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not identity.may_be_running(f"{host}:{ended.pid}:{machine}")
    assert identity.may_be_running(f"elsewhere:{ended.pid}:{machine}")
    monkeypatch.setattr(identity, "_namespace", lambda: "0000")
    assert identity.may_be_running(f"{host}:{ended.pid}:{machine}"), "process numbers of another namespace say nothing"


def test_an_owner_of_an_earlier_boot_has_ended_where_the_store_is_on_this_machine(monkeypatch):
    own = identity.owner()
    monkeypatch.setattr(identity, "_boot", lambda: "another")
    assert identity.may_be_running(own)
    assert not identity.may_be_running(own, on_this_machine=True)
