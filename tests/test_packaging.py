"""The wheel holds every file, and its commands work in a fresh environment, from another folder, without the repo."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from jackpot.identity import software_digest

ROOT = Path(__file__).parent.parent
PACKAGES = ("jackpot", "rules", "migrations", "hardware_sim")
SOURCES = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")
LIMIT_SECONDS = 120
PYTHONS = ("3.11", "3.12", "3.13")
NO_COMPILED = shutil.ignore_patterns("__pycache__")


def run(*command, cwd, **environment):
    """The output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(("JACKPOT_", "PYTHON"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources: the repo is not touched."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "sources").mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "sources" / name, ignore=NO_COMPILED)
        else:
            shutil.copy(ROOT / name, folder / "sources")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, folder / "sources", cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


class Installed:
    """A fresh environment with the wheel; dependencies are those of the tests' own, which is not editable from here."""

    def __init__(self, folder, wheel):
        venv.create(folder, with_pip=False, symlinks=True)
        self.bin = folder / "bin"
        self.python = self.bin / "python"
        self.packages = Path(
            run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
        )
        (self.packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        with zipfile.ZipFile(wheel) as archive:
            self.names = archive.namelist()
        options = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet")
        run(sys.executable, "-m", "pip", "--python", self.python, "install", *options, wheel, cwd=folder)
        broker = Path(sysconfig.get_path("scripts")) / "nats-server"
        if broker.exists():
            (self.bin / broker.name).symlink_to(broker)
        self.folder = folder / "another folder"
        self.folder.mkdir()

    def jackpot(self, *arguments, **environment):
        return run(self.bin / "jackpot", *arguments, cwd=self.folder, **environment)


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel):
    return Installed(tmp_path_factory.mktemp("fresh"), wheel)


def test_the_wheel_holds_every_file_of_the_packages_and_the_licence(installed):
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = {name for name in installed.names if ".dist-info/" not in name}
    assert held == expected
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in installed.names)


def test_every_package_comes_from_the_wheel_and_has_the_same_identity(installed):
    code = f"import {', '.join(PACKAGES)}; print(*({', '.join(f'{name}.__file__' for name in PACKAGES)},), sep='\\n')"
    found = run(installed.python, "-c", code, cwd=installed.folder).splitlines()
    assert [Path(path).parent for path in found] == [installed.packages / name for name in PACKAGES]
    digest = "from jackpot.identity import software_digest; print(software_digest())"
    assert run(installed.python, "-c", digest, cwd=installed.folder).strip() == software_digest()


def test_the_version_and_the_calculator_work_from_another_folder(installed):
    assert installed.jackpot("--version").startswith("jackpot-controller ")
    assert '"royal_flush"' in installed.jackpot("hand", "As Ks Qs Js Ts", "--json")
    assert len(json.loads(installed.jackpot("rules", "--json"))["instruments"]) == 5
    assert "usage" in run(installed.python, "-m", "hardware_sim", "--help", cwd=installed.folder)


def test_a_site_is_made_and_served_until_sigterm(installed, tmp_path):
    port = free_port()
    ports = {"JACKPOT_HTTP": f"127.0.0.1:{port}", "JACKPOT_EMBEDDED_PORT": str(free_port())}
    run(installed.bin / "jackpot", "init", "--broker", "embedded", "--tables", "2", cwd=tmp_path)
    log = tmp_path / "serve.log"
    with log.open("wb") as output:
        serving = subprocess.Popen(
            [installed.bin / "jackpot", "serve"], cwd=tmp_path, env={**clean_environment(), **ports}, stderr=output
        )
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", serving, log)
        page = get(f"http://127.0.0.1:{port}/display/main")
        assert page.startswith(b"<!doctype html>")
        assert get(f"http://127.0.0.1:{port}/static/display.js")
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(LIMIT_SECONDS) == 0, log.read_text()
    finally:
        serving.kill()
        serving.wait()
    (pools,) = json.loads(run(installed.bin / "jackpot", "pools", "--json", cwd=tmp_path))
    assert pools["jackpot"] == "main"
    run(installed.bin / "jackpot", "audit", "verify", cwd=tmp_path)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def get(address):
    with urllib.request.urlopen(address, timeout=LIMIT_SECONDS) as reply:
        return reply.read()


def wait_until_ready(address, serving, log):
    until = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < until and serving.poll() is None:
        try:
            get(f"{address}/readyz")
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"not ready: {log.read_text()}")


def test_the_demonstration_works_from_another_folder(installed):
    output = installed.jackpot("demo", "--seconds", "2", "--speed", "40", "--tables", "2")
    assert "The audit trail verifies" in output


def test_a_package_of_the_same_name_installed_over_ours_is_named(installed):
    module = installed.packages / "rules" / "__init__.py"
    own = module.read_text()
    module.write_text("predicate = None\n")
    try:
        done = subprocess.run(
            [installed.bin / "jackpot", "rules"], cwd=installed.folder, capture_output=True, text=True, check=False
        )
    finally:
        module.write_text(own)
    assert done.returncode == 1
    assert done.stderr == (
        f"jackpot: {module} is not the controller's: uninstall the other package named rules, "
        "then install jackpot-controller again\n"
    )


def interpreters():
    """The supported interpreters that can be found, by version; at least the one that runs the tests."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in PYTHONS:
        candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
        for candidate in filter(None, candidates):
            code = "import sys; print('%d.%d' % sys.version_info[:2])"
            done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
            if done.stdout.strip() == version:
                found.setdefault(version, str(candidate))
    return found


@pytest.mark.parametrize(("version", "python"), sorted(interpreters().items()))
def test_the_sources_compile_and_the_rules_work_on_every_supported_python(wheel, tmp_path, version, python):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    run(python, "-W", "error", "-m", "compileall", "-q", *PACKAGES, cwd=tmp_path)
    code = (
        "import rules, jackpot.core.decide; print(rules.load('canberra-poker-2016').hand('As Ks Qs Js Ts').describe())"
    )
    assert run(python, "-W", "error", "-c", code, cwd=tmp_path) == "Royal flush\n"


def test_the_supported_versions_are_declared():
    text = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={PYTHONS[0]}"' in text
    assert all(f'"Programming Language :: Python :: {version}"' in text for version in PYTHONS)
