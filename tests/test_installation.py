"""Packages named `rules`, `migrations` or `hardware_sim` that are not ours: harmless, or named in one sentence."""

import ast
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from jackpot import installation
from jackpot.installation import InstallationError, require_own_packages

ROOT = Path(__file__).parent.parent
SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "jackpot")]
MODULE = [sys.executable, "-m", "jackpot"]
SIMULATOR = [sys.executable, "-m", "hardware_sim"]
LIMIT_SECONDS = 120


def started(folder, *command, pythonpath=""):
    """The finished process of a command that was started in this folder."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(pythonpath)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )


def foreign_folder(folder, name):
    (folder / name).mkdir()


def foreign_package(folder, name):
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("print('foreign')\n")


def foreign_module(folder, name):
    (folder / f"{name}.py").write_text("print('foreign')\n")


FOREIGN = pytest.mark.parametrize("foreign", [foreign_folder, foreign_package, foreign_module])


def assert_one_sentence(done, *words):
    assert not done.stdout
    (sentence,) = done.stderr.splitlines()
    for word in words:
        assert word in sentence


@FOREIGN
@pytest.mark.parametrize("name", installation.PACKAGES)
def test_python_m_in_a_folder_with_a_foreign_package_ends_with_a_sentence(tmp_path, foreign, name):
    foreign(tmp_path, name)
    done = started(tmp_path, *MODULE, "rules")
    assert done.returncode == 1
    assert_one_sentence(
        done, f"jackpot: {tmp_path / name}", f"hides {ROOT / name}", "start the command in another folder"
    )


@FOREIGN
def test_the_simulator_in_a_folder_with_foreign_rules_ends_with_a_sentence(tmp_path, foreign):
    foreign(tmp_path, "rules")
    done = started(tmp_path, *SIMULATOR, "--seconds", "1")
    assert done.returncode == 2
    assert_one_sentence(done, str(tmp_path / "rules"), f"hides {ROOT / 'rules'}")


@FOREIGN
def test_the_installed_command_ignores_the_folder_it_is_started_in(tmp_path, foreign):
    for name in installation.PACKAGES:
        foreign(tmp_path, name)
    done = started(tmp_path, *SCRIPT, "hand", "As Ks Qs Js Ts", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "royal_flush" in done.stdout


@pytest.mark.parametrize(
    "command", [[*SCRIPT, "rules"], [*MODULE, "rules"], [*SCRIPT, "doctor"], [*SCRIPT, "--version"]]
)
def test_a_foreign_package_on_the_path_ends_every_command_with_a_sentence(tmp_path, command):
    path, folder = tmp_path / "path", tmp_path / "folder"
    path.mkdir()
    folder.mkdir()
    foreign_package(path, "rules")
    done = started(folder, *command, pythonpath=path)
    assert done.returncode == 1
    assert_one_sentence(done, f"jackpot: {path / 'rules'} hides {ROOT / 'rules'}", "remove it from PYTHONPATH")


def test_the_simulator_names_a_foreign_package_on_the_path(tmp_path, tmp_path_factory):
    foreign_package(tmp_path, "rules")
    done = started(tmp_path_factory.mktemp("folder"), *SIMULATOR, pythonpath=tmp_path)
    assert done.returncode == 2
    assert_one_sentence(done, f"{tmp_path / 'rules'} hides {ROOT / 'rules'}", "remove it from PYTHONPATH")


def test_importing_the_simulator_with_foreign_rules_is_an_import_error(tmp_path):
    foreign_package(tmp_path, "rules")
    done = started(tmp_path, sys.executable, "-c", "import hardware_sim", pythonpath=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: {tmp_path / 'rules'} hides")


def test_the_processes_of_a_demonstration_ignore_the_folder_it_is_started_in(tmp_path):
    for name in (*installation.PACKAGES, "jackpot"):
        foreign_package(tmp_path, name)
    done = started(tmp_path, *SCRIPT, "demo", "--seconds", "2", "--speed", "40", "--tables", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The audit trail verifies" in done.stdout
    assert "foreign" not in done.stdout


def test_every_python_process_that_the_program_starts_ignores_the_working_directory():
    starts = 0
    for path in [*(ROOT / "jackpot").rglob("*.py"), *(ROOT / "hardware_sim").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            arguments = getattr(node, "elts", None) or getattr(node, "args", None)
            if isinstance(arguments, list):
                words = [ast.unparse(argument) for argument in arguments]
                if "sys.executable" in words:
                    starts += 1
                    assert words[words.index("sys.executable") + 1] == "'-P'", f"{path}:{node.lineno}"
    assert starts >= 2


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(installation, "INSTALLED", tmp_path)
    with pytest.raises(InstallationError, match=f"{tmp_path / 'rules'} is missing: install jackpot-controller again"):
        require_own_packages()
