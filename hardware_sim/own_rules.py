"""The check that `rules` is the package installed beside this one; it is made when this module is imported.

PyPI has another package named `rules`, and a folder in which the simulator is started may have that name.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

OWN: Final = Path(__file__).parent.parent / "rules"
_FAILED: Final = 2


def problem() -> str | None:
    """Return a sentence that names the package which hides the simulator's `rules`; None if it is not hidden."""
    spec = find_spec("rules")
    if spec is None:
        return f"{OWN} is missing: install jackpot-controller again"
    found = Path(next(iter(spec.submodule_search_locations or [str(spec.origin)])))
    if found.resolve() == OWN.resolve():
        return None
    return f"{found} hides {OWN}, which the simulator needs: start it in another folder, or remove it from PYTHONPATH"


def _require() -> None:
    sentence = problem()
    if sentence is None:
        return
    if sys.argv[:1] == ["-m"]:  # `python -m hardware_sim` is looking for its module: a command ends with a sentence
        sys.stderr.write(f"{sentence}\n")
        sys.exit(_FAILED)
    raise ImportError(sentence)


_require()
