"""The files that a project is joined by: licence, changelog, decision records."""

import re
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
APACHE_2_0 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""The SHA-256 of the licence's text as the Apache Software Foundation publishes it."""
RECORDS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def test_the_licence_is_the_unchanged_apache_licence_and_the_metadata_name_it():
    assert sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2_0
    assert PROJECT["license"] == "Apache-2.0"
    assert PROJECT["license-files"] == ["LICENSE"]


def test_the_newest_version_in_the_changelog_is_the_projects():
    headings = re.findall(
        r"^## \[(.+?)\] - (Unreleased|\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert headings[0][0] == PROJECT["version"]
    assert all(date != "Unreleased" for _, date in headings[1:])


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_decision_record_has_its_number_context_decision_and_consequences(record):
    text = record.read_text()
    assert text.startswith(f"# {int(record.name[:4])}. ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_decision_records_are_numbered_without_gaps_and_listed():
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))
    listed = re.findall(r"\((\d{4}-[a-z-]+\.md)\)", (ROOT / "docs" / "decisions" / "README.md").read_text())
    assert listed == [record.name for record in RECORDS]


@pytest.mark.parametrize("package", ["jackpot", "rules", "hardware_sim"])
def test_each_package_says_that_it_is_typed(package):
    assert (ROOT / package / "py.typed").is_file()


def test_every_file_that_the_contributing_guide_names_exists():
    named = re.findall(r"`(\.?(?:\w+/)+[\w.-]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    missing = [name for name in named if "example" not in name and not (ROOT / name).exists()]
    assert named
    assert not missing
