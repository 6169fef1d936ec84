"""Which software and which process this is, so that the audit trail and the lease can name them."""

from __future__ import annotations

import os
import socket
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jackpot
import migrations
import rules


def software_version() -> str:
    """The installed version."""
    try:
        return version("jackpot-controller")
    except PackageNotFoundError:
        return "unknown"


def software_digest() -> str:
    """The hash of all source files, with their names, in order."""
    digest = sha256()
    for package in (jackpot, migrations, rules):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*")):
            if path.suffix in (".py", ".toml", ".txt"):
                content = path.read_bytes()
                digest.update(f"{package.__name__}/{path.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def owner() -> str:
    """Who owns what this process writes."""
    return f"{socket.gethostname()}:{os.getpid()}"
