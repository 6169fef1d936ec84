"""The command line: one module per command group; each prints a table for people, or JSON with --json.

Errors are one sentence on stderr: exit 2 for bad input, exit 1 for anything else that went wrong.
"""

from __future__ import annotations

import sys

import typer

from jackpot.calculator import DocumentError
from jackpot.cli import demo, hand, odds, rules, settle
from rules.errors import RulesError

app = typer.Typer(
    name="jackpot",
    help="A progressive jackpot controller for casino table games.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("settle")(settle.settle)
app.command("hand")(hand.hand)
app.command("odds")(odds.odds)
app.command("rules")(rules.rules)


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run())


def run(arguments: list[str] | None = None) -> int:
    """Carry out one command; says its exit code."""
    try:
        outcome = app(arguments or sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.TyperException as error:
        return _refuse(error.format_message(), error.exit_code)
    except (RulesError, DocumentError) as error:
        return _refuse(str(error), 2)
    except (typer.Abort, KeyboardInterrupt):
        return _refuse("interrupted", 1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; nothing is left to say
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{error.strerror or error}", 1)
    return outcome if isinstance(outcome, int) else 0


def _refuse(sentence: str, code: int) -> int:
    one_line = " ".join(sentence.split())
    sys.stderr.write(f"jackpot: {one_line}\n")
    return code
