"""Draws the README's pictures from the running program: python docs/pictures.py"""

from __future__ import annotations

from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from jackpot import calculator
from jackpot.cli.demo import example
from jackpot.cli.settle import show

HERE = Path(__file__).parent


def main() -> None:
    """Draw each picture into this folder."""
    screen = Console(record=True, width=113, force_terminal=True, highlight=False)
    show(calculator.settle(calculator.read(example())), screen)
    (HERE / "settle.svg").write_text(screen.export_svg(title="jackpot settle", code_format=_own_fonts_only()))


def _own_fonts_only() -> str:
    """The template without its font downloads: the picture must not reach out to anywhere."""
    start, end = CONSOLE_SVG_FORMAT.index("@font-face"), CONSOLE_SVG_FORMAT.index(".{unique_id}-matrix")
    return CONSOLE_SVG_FORMAT[:start] + CONSOLE_SVG_FORMAT[end:]


if __name__ == "__main__":
    main()
