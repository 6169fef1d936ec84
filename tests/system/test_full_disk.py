"""A start on a full disk waits until there is space; a file that is no database is refused at once."""

import contextlib
import json
import resource
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.support.daemon import LIMIT_SECONDS, Client, takes_connections, wait_until

UNLIMITED = resource.RLIM_INFINITY
FILE_BYTES = 24 * 1024
"""Less than SQLite's shared memory needs, and more than the daemon logs meanwhile."""


def store_part(site):
    """Return the status of /readyz, and what it says about the store."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{site.http}/readyz", timeout=LIMIT_SECONDS) as reply:
            return reply.status, json.load(reply)["parts"]["store"]["says"]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["parts"]["store"]["says"]


def waits_for_store(site, reason):
    wait_until(lambda: takes_connections(site.http), "HTTP")
    wait_until(lambda: site.log.count("database not reachable") >= 2, "two attempts in vain")
    status, says = store_part(site)
    assert (status, "the start waits for the store" in says, reason in says) == (503, True, True), says
    assert site.process.poll() is None


def plays(site, port):
    """Play a round, and verify the trail."""
    site.wait_ready()
    wait_until(lambda: store_part(site) == (200, "the store accepts writes"), "to be ready")
    client = Client(port, site.id, "#")
    client.play("t1", 1, ["Kh", "Jh", "4h", "3h", "2h"])
    client.close()
    assert site.stop() == 0
    assert site.verified()


@contextlib.contextmanager
def full_disk(site, folder):
    """Start the daemon on a full file system of its own, and yield the function that makes space."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=False).returncode == 0
    if not mounted:  # without the right to mount, files that cannot grow fail in nearly the same way
        start_with_small_files(site)
        yield lambda: allow_large_files(site)
        return
    try:
        move_store(site, folder)
        fill(folder)
        site.start(wait=False)
        yield (folder / "filler").unlink
    finally:
        site.process.kill()
        site.process.wait()
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=LIMIT_SECONDS)


def fill(folder):
    """Fill a file system to its last byte."""
    with (folder / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4_096))


def move_store(site, folder):
    for file in site.folder.glob("jackpot.db*"):
        (folder / file.name).write_bytes(file.read_bytes())
    site.database = f"sqlite:///{folder}/jackpot.db"
    site.settings = {**site.settings, "DATABASE": site.database}


def start_with_small_files(site):
    """Start the daemon as a process that cannot write large files, which any user may do."""
    site.starts += 1
    command = ["prlimit", f"--fsize={FILE_BYTES}:", sys.executable, "-P", "-m", "jackpot", "serve"]
    with site.log_file.open("a") as log:
        site.process = subprocess.Popen(command, cwd=site.folder, env=site.environment, stderr=log)


def allow_large_files(site):
    resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))


def test_a_start_on_a_full_disk_waits_and_reports_it_until_there_is_space(new_site, mosquitto_port, tmp_path):
    site, disk = new_site(mosquitto_port), tmp_path / "disk"
    disk.mkdir()
    with full_disk(site, disk) as make_space:
        waits_for_store(site, "disk")
        make_space()
        plays(site, mosquitto_port)


def test_a_daemon_that_waits_on_a_full_disk_ends_on_sigterm(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    start_with_small_files(site)
    waits_for_store(site, "jackpot.db")
    assert site.stop() == 0


def test_a_start_waits_for_a_file_system_that_fails(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    start_with_small_files(site)
    waits_for_store(site, "jackpot.db")
    allow_large_files(site)
    plays(site, mosquitto_port)


@pytest.mark.parametrize("content", [b"this is no database at all", bytes(8_192) + b"x"])
def test_a_file_that_is_no_database_is_refused_at_once(new_site, mosquitto_port, content):
    site = new_site(mosquitto_port)
    (site.folder / "jackpot.db").write_bytes(content)
    site.start(wait=False)
    assert site.process.wait(timeout=LIMIT_SECONDS) == 1
    assert "not a database" in site.log
    assert "database not reachable" not in site.log
