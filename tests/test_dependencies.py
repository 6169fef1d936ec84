"""Everything imported is declared, pinned, and explained in the README."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
DECLARED = [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]
PINNED = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())


def name_of(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def deptry(*options):
    command = [sys.executable, "-m", "deptry", ".", "--no-ansi", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_imports_what_it_declares_and_declares_what_it_imports():
    deptry()


def test_tests_and_benchmarks_import_only_what_is_declared():
    own = {path.stem for folder in ("tests", "bench", "docs") for path in (ROOT / folder).rglob("*.py")}
    first_party = [option for name in sorted(own) for option in ("--known-first-party", name)]
    everything = ("--exclude", r"\.venv", "--exclude", r"\.git", "--exclude", "build")
    deptry(*everything, *first_party, "--ignore", "DEP002,DEP004")


@pytest.mark.parametrize("requirement", DECLARED)
def test_every_dependency_is_pinned(requirement):
    assert name_of(requirement) in {name_of(name) for name in PINNED}


def test_pins_stand_in_order_and_name_no_address():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines == sorted(lines, key=str.lower)
    assert all(re.fullmatch(r"[\w.]+", version) for version in PINNED.values())


def test_the_readme_gives_a_reason_for_every_dependency():
    section = (ROOT / "README.md").read_text().partition("## Dependencies")[2]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    explained = {word.strip() for names, reason in rows if reason.strip() for word in re.split(r",|\(.*?\)", names)}
    assert {name_of(requirement) for requirement in DECLARED} <= explained
