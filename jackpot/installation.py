"""The check that `rules`, `migrations` and `hardware_sim` are the controller's own packages.

Another package may have one of these names (PyPI has a `rules`), or a folder in the working directory. This module
imports none of them.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from jackpot.identity import DISTRIBUTION, INSTALLED

PACKAGES: Final = ("rules", "migrations", "hardware_sim")


class InstallationError(RuntimeError):
    """A package of the controller that is missing, hidden or replaced by another of the same name."""


def require_own_packages() -> None:
    """Raise InstallationError unless every package would be imported from where `jackpot` is installed."""
    for package in PACKAGES:
        own, found = INSTALLED / package, _location(package)
        if not (own / "__init__.py").is_file():
            raise InstallationError(f"{own} is missing: install {DISTRIBUTION} again")
        if found is None or found.resolve() != own.resolve():
            raise InstallationError(f"{found} hides {own}, which the controller needs: {_remedy(found)}")
    for path in _replaced():
        raise InstallationError(
            f"{path} is not the controller's: uninstall the other package named {path.parent.name}, "
            f"then install {DISTRIBUTION} again"
        )


def _location(package: str) -> Path | None:
    """Return the folder that an import of this package would use."""
    spec = find_spec(package)
    if spec is None:
        return None
    if spec.origin is not None and spec.has_location:
        path = Path(spec.origin)
        return path.parent if path.name == "__init__.py" else path
    return next((Path(folder) for folder in spec.submodule_search_locations or ()), None)


def _remedy(found: Path | None) -> str:
    if found is not None and found.parent.resolve() == Path.cwd():
        return "start the command in another folder, or as jackpot instead of python -m jackpot"
    return "remove it from PYTHONPATH, or uninstall it"


def _replaced() -> list[Path]:
    """Return the packages' `__init__.py` files that were changed since installation; none if it is editable."""
    try:
        installed = files(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    wanted = {f"{package}/__init__.py" for package in PACKAGES}
    own = [(INSTALLED / file, file.hash) for file in installed if file.as_posix() in wanted]
    return [path for path, recorded in own if recorded and recorded.mode == "sha256" and _hash(path) != recorded.value]


def _hash(path: Path) -> str:
    return urlsafe_b64encode(sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
