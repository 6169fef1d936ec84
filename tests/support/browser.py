"""Fixtures for a real browser: Debian's Chromium, driven by Playwright; an error in a page's console fails its test."""

import shutil
import time

import pytest
from playwright.sync_api import sync_playwright

OTHER_HOST = "elsewhere.example"
"""Another host name for this machine: a browser treats it as another host."""


LIMIT_SECONDS = 60
"""Limit of every wait in a page: only a failing test waits this long, even on a slow machine."""


@pytest.fixture(scope="module")
def chromium():
    """The browser, one per module: Playwright keeps an event loop in this thread while it runs."""
    program = shutil.which("chromium")
    assert program, "Chromium is not installed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", f"--host-resolver-rules=MAP {OTHER_HOST} 127.0.0.1"]
        )
        yield browser
        browser.close()


@pytest.fixture
def expected_errors():
    """Texts of console errors that this test expects; a test adds to it."""
    return set()


@pytest.fixture
def new_page(chromium, expected_errors):
    """Make pages, each in its own browser context; an unexpected console error or warning fails the test."""
    contexts, errors = [], []

    def make(**options):
        context = chromium.new_context(**{"viewport": {"width": 1920, "height": 1080}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1_000 * LIMIT_SECONDS)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None
        )
        return page

    yield make
    for context in contexts:
        context.close()
    unexpected = [error for error in errors if not any(text in error for text in expected_errors)]
    assert not unexpected, unexpected


def wait_for(page, expression, seconds=LIMIT_SECONDS):
    """Wait until an expression is true in the page; Playwright's own wait needs eval, which the pages forbid."""
    until = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < until, f"{expression} was not true within {seconds} s"
        page.wait_for_timeout(20)


def serious_findings(page):
    """Return the serious and critical findings of axe-core, by rule, with their elements."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return {
        one["id"]: [node["target"] for node in one["nodes"]]
        for one in found
        if one["impact"] in ("serious", "critical")
    }
