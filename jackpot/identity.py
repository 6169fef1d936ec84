"""The identity of the software and of the process, as the audit trail and the lease record them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "jackpot-controller"
PACKAGES: Final = ("jackpot", "migrations", "rules")
"""The packages of the controller; the simulator is not one of them."""
INSTALLED: Final = Path(__file__).parent.parent
"""The folder that holds the packages."""


def software_version() -> str:
    """Return the installed version."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def software_digest(root: Path = INSTALLED) -> str:
    """Return the hash of all files of the packages in this folder (sources, templates, scripts, styles and data)."""
    digest = sha256()
    for name, path in sorted(_files(root)):
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Return the packages' files by name, without compiled ones."""
    for package in PACKAGES:
        for path in (root / package).rglob("*"):
            if "__pycache__" not in path.parts and path.is_file():
                yield path.relative_to(root).as_posix(), path


def owner() -> str:
    """Return the name under which this process owns what it writes: machine, process, boot and namespace."""
    return f"{socket.gethostname()}:{os.getpid()}:{_boot()}.{_namespace()}"


def may_be_running(owned_by: str, *, on_this_machine: bool = False) -> bool:
    """Return False only if the owner was a process on this machine that has ended.

    With `on_this_machine`, the owner is known to be here, so that another boot of the same name has ended, too.
    """
    host, _, rest = owned_by.partition(":")
    process, _, machine = rest.partition(":")
    boot, _, namespace = machine.partition(".")
    if host != socket.gethostname() or not process.isdigit():
        return True
    if machine and boot != _boot():
        return not on_this_machine
    if machine and namespace != _namespace():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@cache
def _boot() -> str:
    """Return a mark of this boot: process numbers mean nothing outside of it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return sha256(boot.encode()).hexdigest()[:6]


@cache
def _namespace() -> str:
    """Return a mark of this process namespace, within which process numbers are counted."""
    try:
        return f"{Path('/proc/self/ns/pid').stat().st_ino & 0xFFFF:04x}"
    except OSError:
        return ""
