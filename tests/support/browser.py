"""A real browser: Debian's Chromium, driven by playwright; a page that complains in its console fails its test."""

import shutil
import time

import pytest
from playwright.sync_api import sync_playwright

ELSEWHERE = "elsewhere.example"
"""This machine under another name: what a browser takes for another machine."""


@pytest.fixture(scope="module")
def chromium():
    """The browser, for one module's tests: playwright keeps a loop in this thread as long as it runs."""
    program = shutil.which("chromium")
    assert program, "Chromium is not installed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
        )
        yield browser
        browser.close()


@pytest.fixture
def forgiven():
    """Parts of console errors that this test expects."""
    return set()


@pytest.fixture
def new_page(chromium, forgiven):
    """Makes pages, each of a visitor of its own; whatever they complain of, unless it is forgiven, fails the test."""
    made, complaints = [], []

    def make(**options):
        context = chromium.new_context(**{"viewport": {"width": 1920, "height": 1080}, **options})
        made.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        return page

    yield make
    for context in made:
        context.close()
    unforgiven = [told for told in complaints if not any(part in told for part in forgiven)]
    assert not unforgiven, unforgiven


def wait_for(page, expression, seconds=20):
    """Wait until an expression is true in the page; playwright's own waiting needs what our pages forbid."""
    until = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < until, f"{expression} did not come true within {seconds} s"
        page.wait_for_timeout(20)


def serious_findings(page):
    """What axe-core finds that is serious or critical, by rule, with where it is."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return {
        one["id"]: [node["target"] for node in one["nodes"]]
        for one in found
        if one["impact"] in ("serious", "critical")
    }
