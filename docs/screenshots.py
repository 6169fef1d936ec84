"""Take the README's screenshots from the running demonstration: python docs/screenshots.py

It needs Chromium (Debian's package) and the test dependencies. The demonstration deals a straight flush within its
first minute; the screenshots are taken while it awaits confirmation.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

HERE: Final = Path(__file__).parent
MAX_BYTES: Final = 250_000
WAIT_MS: Final = 90_000
SETTLED_MS: Final = 1_500


class Links(NamedTuple):
    """The addresses that the demonstration prints: the sign-in link of a supervisor, and the display."""

    console: str
    display: str


def main() -> None:
    """Take both screenshots."""
    with _demonstration() as links, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        console = _opened(browser, links.console, 1280, 860)
        display = _opened(browser, links.display, 1600, 900)
        console.locator("article.win").wait_for(timeout=WAIT_MS)
        display.locator("#winner-hand").wait_for(timeout=WAIT_MS)
        display.wait_for_timeout(SETTLED_MS)  # until nothing fades in any more
        _save("console.png", console.screenshot())
        _save("display.jpg", display.screenshot(type="jpeg", quality=85))
        browser.close()


@contextmanager
def _demonstration() -> Iterator[Links]:
    """Run `jackpot demo` for this block."""
    command = [sys.executable, "-m", "jackpot", "demo", "--tables", "6", "--seconds", str(WAIT_MS // 1_000)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        yield _links(running)
    finally:
        running.terminate()
        running.communicate()


def _links(running: subprocess.Popen[str]) -> Links:
    output = ""
    for line in running.stdout or ():
        output += line
        console = re.search(r"as a supervisor:\s+(\S+)", output)
        display = re.search(r"Meter display:\s+(\S+)", output)
        if console and display:
            return Links(console[1], display[1])
    raise SystemExit(f"the demonstration did not print its addresses:\n{output}")


def _opened(browser: Browser, address: str, width: int, height: int) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(address)
    return page


def _save(name: str, picture: bytes) -> None:
    if len(picture) > MAX_BYTES:
        raise SystemExit(f"{name} has {len(picture):,} bytes: a README's picture has at most {MAX_BYTES:,}")
    (HERE / name).write_bytes(picture)


if __name__ == "__main__":
    main()
