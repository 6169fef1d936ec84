"""The command line: one module per command group; each prints a table for people, or JSON with --json.

Errors are one sentence on stderr: exit 2 for bad input, exit 1 for anything else that went wrong.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Final

import typer

from jackpot.cli.exit_codes import sentence_of
from jackpot.identity import DISTRIBUTION, software_version
from jackpot.installation import InstallationError, require_own_packages
from jackpot.wire.private_api import UnsupportedVersionError, require_supported

COMMANDS: Final = {
    "serve": ("serve", "serve"),
    "demo": ("demo", "demo"),
    "settle": ("settle", "settle"),
    "hand": ("hand", "hand"),
    "odds": ("odds", "odds"),
    "rules": ("rules", "rules"),
    "protocol": ("protocol", "protocol"),
    "init": ("setup", "init"),
    "migrate": ("setup", "migrate"),
    "doctor": ("doctor", "doctor"),
    "backup": ("setup", "backup"),
    "restore": ("setup", "restore"),
    "recover": ("recover", "recover"),
    "pools": ("queries", "pools"),
    "tables": ("queries", "tables"),
    "rounds": ("queries", "rounds"),
    "wins": ("queries", "wins"),
    "audit": ("audit", "app"),
    "report": ("audit", "report_app"),
    "floor": ("floor", "app"),
    "handover": ("handover", "handover"),
    "operator": ("operators", "operator_app"),
    "config": ("operators", "config_app"),
    "adjustment": ("operators", "adjustment_app"),
}
"""The module of each command and its function or group there; only the module of the given command is imported."""

VERSION: Final = "--version"
MQTT_COMMANDS: Final = {"serve", "demo", "doctor"}
"""Commands that use MQTT; the versions of the MQTT packages are checked before they are imported."""


def app_for(arguments: list[str]) -> typer.Typer:
    """Return the command line with the given command only, or with all commands."""
    app = typer.Typer(
        name="jackpot",
        help="A progressive jackpot controller for casino table games.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root_command)
    given = [name for name in arguments[:1] if name in COMMANDS]
    everything = () if arguments == [VERSION] else COMMANDS
    for name in given or everything:
        module, attribute = COMMANDS[name]
        found = getattr(import_module(f"jackpot.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"{DISTRIBUTION} {software_version()}")
        raise typer.Exit


def _root_command(
    *,
    _version: Annotated[
        bool, typer.Option(VERSION, callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A progressive jackpot controller for casino table games."""


def main() -> None:
    """Run the command line and exit with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        require_own_packages()
        if MQTT_COMMANDS.intersection(arguments[:1]):
            require_supported()
        outcome = app_for(arguments)(_with_help(arguments), standalone_mode=False)
    except typer.TyperException as error:
        return _refuse(error.format_message(), error.exit_code)
    except (InstallationError, UnsupportedVersionError) as error:
        return _refuse(str(error), 1)
    except (typer.Abort, KeyboardInterrupt):
        return _refuse("interrupted", 1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader is gone, so there is nothing to report to
        return 1
    except Exception as error:
        refusal = sentence_of(error)
        if refusal is None:
            raise
        return _refuse(*refusal)
    return outcome if isinstance(outcome, int) else 0


def _with_help(arguments: list[str]) -> list[str]:
    """Return the arguments, with --help added if there are none or only the name of a group."""
    group = len(arguments) == 1 and COMMANDS.get(arguments[0], ("", ""))[1].endswith("app")
    return [*arguments, "--help"] if group or not arguments else arguments


def _refuse(sentence: str, code: int) -> int:
    one_line = " ".join(sentence.split())
    sys.stderr.write(f"jackpot: {one_line}\n")
    return code
