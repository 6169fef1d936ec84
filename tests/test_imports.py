"""The import graph is exactly the stated one, the rules and the core are pure, and each module states its job."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOP_LEVEL = ("rules", "jackpot", "hardware_sim", "migrations")

IMPORTS = {
    "rules": set(),
    "migrations": set(),
    "jackpot.core": {"rules"},
    "jackpot.store": {"rules", "jackpot.core", "migrations"},
    "jackpot.engine": {"jackpot.core", "jackpot.store", "jackpot.clock", "jackpot.metrics"},
    "jackpot.wire": {"jackpot.core", "jackpot.store", "jackpot.engine", "jackpot.clock", "jackpot.metrics"},
    "jackpot.web": {
        "rules",
        "jackpot.core",
        "jackpot.store",
        "jackpot.engine",
        "jackpot.verification",
        "jackpot.clock",
        "jackpot.metrics",
        "jackpot.tokens",
    },
    "jackpot.notify": {"jackpot.core", "jackpot.store", "jackpot.clock", "jackpot.metrics"},
    "jackpot.verification": {"jackpot.store", "jackpot.clock", "jackpot.metrics"},
    "jackpot.calculator": {"rules"},
    "jackpot.cli": {
        "rules",
        "hardware_sim",
        "jackpot.app",
        "jackpot.calculator",
        "jackpot.clock",
        "jackpot.core",
        "jackpot.engine",
        "jackpot.identity",
        "jackpot.installation",
        "jackpot.logs",
        "jackpot.notify",
        "jackpot.settings",
        "jackpot.store",
        "jackpot.tokens",
        "jackpot.wire",
    },
    "jackpot.jackpot_runner": {"jackpot.engine", "jackpot.identity", "jackpot.store", "jackpot.wire"},
    "jackpot.app": {
        "jackpot.clock",
        "jackpot.core",
        "jackpot.engine",
        "jackpot.identity",
        "jackpot.jackpot_runner",
        "jackpot.metrics",
        "jackpot.notify",
        "jackpot.settings",
        "jackpot.store",
        "jackpot.systemd",
        "jackpot.verification",
        "jackpot.web",
        "jackpot.wire",
    },
    "jackpot.__main__": {"jackpot.cli"},
    "jackpot.identity": set(),
    "jackpot.installation": {"jackpot.identity"},
    "jackpot.settings": {"jackpot.core"},
    "jackpot.tokens": {"jackpot.core"},
    "jackpot.clock": set(),
    "jackpot.logs": set(),
    "jackpot.metrics": set(),
    "jackpot.systemd": set(),
    "hardware_sim": {"rules"},
}
"""All that each package, or module of jackpot, imports of the others: nothing more, and nothing less."""

PURE = ("rules", "jackpot.core")
IMPURE_MODULES = {
    "asyncio", "datetime", "io", "logging", "os", "pathlib", "random", "secrets", "shutil", "socket",
    "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip


def modules():
    for top in TOP_LEVEL:
        for path in sorted((ROOT / top).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield name, path


def each_module():
    return [pytest.param(name, path, id=name) for name, path in modules()]


def package_of(name):
    """The package of a module as `IMPORTS` names it; "jackpot" itself holds nothing."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "jackpot" else parts[0]


def imported_modules(path):
    """The full names of all modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            if node.module in TOP_LEVEL:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module


def imported_packages(path):
    return {package_of(name) for name in imported_modules(path) if name.split(".")[0] in TOP_LEVEL}


def graph():
    """What each package imports of the others."""
    found = {}
    for name, path in modules():
        package = package_of(name)
        if package != "jackpot":
            found.setdefault(package, set()).update(imported_packages(path) - {package, "jackpot"})
    return found


@pytest.mark.parametrize(("name", "path"), each_module())
def test_a_module_imports_only_what_its_package_may(name, path):
    package = package_of(name)
    allowed = {package, "jackpot", *IMPORTS.get(package, set())}
    assert imported_packages(path) <= allowed, f"{name} imports {imported_packages(path) - allowed}"


def test_the_stated_graph_is_the_whole_graph():
    assert graph() == IMPORTS


def test_the_graph_has_no_cycle():
    assert list(TopologicalSorter(IMPORTS).static_order())


def test_wire_and_web_do_not_reach_through_each_others_objects():
    """No attribute or name of one side's classes appears in the other."""
    foreign = {
        "jackpot/web": {"adapter", "publisher", "inbound", "mqtt_session", "throttle"},
        "jackpot/wire": {"authenticator", "live_view", "services", "sse"},
        "jackpot/engine": {"adapter", "publisher", "inbound", "mqtt_session", "authenticator", "live_view"},
    }
    for folder, names in foreign.items():
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text())
            used = {node.attr.lstrip("_") for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not used & names, path


@pytest.mark.parametrize(("name", "path"), each_module())
def test_the_rules_and_the_core_are_pure(name, path):
    if package_of(name) in PURE:
        impure = {imported for imported in imported_modules(path) if imported.split(".")[0] in IMPURE_MODULES}
        assert not impure
        calls = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not calls & {"open", "print", "input"}


@pytest.mark.parametrize(("name", "path"), each_module())
def test_each_module_states_its_job(name, path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert docstring[0].isupper() or docstring[0] == "`"


def test_no_two_classes_share_a_name():
    found = {}
    for name, path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name)
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_money_is_never_a_float():
    for top in ("rules", "jackpot"):
        for path in (ROOT / top).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    in_cents = node.target.id.endswith(("_cents", "_bps"))
                    assert not (in_cents and "float" in ast.unparse(node.annotation)), f"{path}: {node.target.id}"
