"""Imports point one way, the law is pure, and each room says its one job."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("rules", "jackpot", "hardware_sim")

MAY_IMPORT = {
    "rules": {"rules"},
    "jackpot.core": {"rules", "jackpot.core"},
    "jackpot.store": {"rules", "jackpot.core", "jackpot.store"},
    "jackpot.clock": set(),
    "jackpot.metrics": set(),
    "jackpot.wire": {"jackpot.core", "jackpot.store", "jackpot.wire", "jackpot.clock", "jackpot.metrics"},
    "jackpot.tokens": {"jackpot.core"},
    "jackpot.notify": {"jackpot.core", "jackpot.store", "jackpot.notify", "jackpot.clock", "jackpot.metrics"},
    "jackpot.watch": {"jackpot.store", "jackpot.watch", "jackpot.clock", "jackpot.metrics"},
    "jackpot.web": {
        "rules",
        "jackpot.core",
        "jackpot.store",
        "jackpot.wire",
        "jackpot.watch",
        "jackpot.web",
        "jackpot.clock",
        "jackpot.metrics",
        "jackpot.tokens",
    },
    "jackpot.calculator": {"rules", "jackpot.calculator"},
    "jackpot.cli": {
        "rules",
        "jackpot.core",
        "jackpot.store",
        "jackpot.wire",
        "jackpot.notify",
        "jackpot.calculator",
        "jackpot.cli",
        "jackpot.clock",
        "jackpot.tokens",
        "jackpot",
        "hardware_sim",
    },
    "jackpot": {
        "rules",
        "jackpot.core",
        "jackpot.store",
        "jackpot.wire",
        "jackpot.notify",
        "jackpot.watch",
        "jackpot.web",
        "jackpot.cli",
        "jackpot.clock",
        "jackpot.metrics",
        "jackpot.tokens",
        "jackpot",
    },
    "hardware_sim": {"rules", "hardware_sim"},
}
"""A room, longest name first, and the rooms it may import from."""

PURE_ROOMS = ("rules", "jackpot.core")
IMPURE_MODULES = {
    "asyncio", "datetime", "io", "logging", "os", "pathlib", "random", "secrets", "shutil", "socket",
    "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip


def modules():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield pytest.param(name, path, id=name)


def room_of(name):
    return next(room for room in sorted(MAY_IMPORT, key=len, reverse=True) if f"{name}.".startswith(f"{room}."))


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            yield node.module
            if node.module in ROOMS:
                yield from (
                    f"{node.module}.{alias.name}" for alias in node.names if (ROOT / node.module / alias.name).is_dir()
                )


@pytest.mark.parametrize(("name", "path"), list(modules()))
def test_imports_point_one_way(name, path):
    allowed = MAY_IMPORT[room_of(name)]
    for imported in imports(path):
        if imported.split(".")[0] in ROOMS and imported != "jackpot":
            assert room_of(imported) in allowed, f"{name} imports {imported}"


@pytest.mark.parametrize(("name", "path"), list(modules()))
def test_the_law_and_the_core_are_pure(name, path):
    if room_of(name) in PURE_ROOMS:
        impure = {imported for imported in imports(path) if imported.split(".")[0] in IMPURE_MODULES}
        assert not impure
        calls = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not calls & {"open", "print", "input"}


@pytest.mark.parametrize(("name", "path"), list(modules()))
def test_each_module_says_its_job(name, path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert docstring[0].isupper() or docstring[0] == "`"


def test_money_is_never_a_float():
    for room in ("rules", "jackpot"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    in_cents = node.target.id.endswith(("_cents", "_bps"))
                    assert not (in_cents and "float" in ast.unparse(node.annotation)), f"{path}: {node.target.id}"
