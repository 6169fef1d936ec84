"""Errors: pages in the console's layout for browsers, problem documents for programs."""

import sqlite3
from contextlib import closing, contextmanager

import pytest

from jackpot.web.security_headers import POLICY
from tests.support.browser import serious_findings
from tests.support.console_site import DESKTOP

HTML = "text/html,application/xhtml+xml"


@contextmanager
def damaged(console_site, damage, repair):
    """Damage the site's database for this block."""
    with closing(sqlite3.connect(console_site.site.database.removeprefix("sqlite:///"), isolation_level=None)) as store:
        store.execute(damage)
        try:
            yield
        finally:
            store.execute(repair)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/nowhere", (404, "Page not found", "There is nothing at /nowhere.")),
        ("/pools?jackpot=other", (404, "Unknown jackpot", "The site has no jackpot 'other'.")),
        ("/rules/other", (404, "Unknown instrument", "There is no instrument 'other'.")),
        ("/pools?hours=0", (422, "Invalid address", "greater than or equal to 1")),
    ],
)
def test_an_invalid_address_shows_an_error_page_in_the_layout(console_site, new_page, expected_errors, path, expected):
    status, heading, sentence = expected
    expected_errors.add(str(status))
    page = console_site.signed_in(new_page(viewport=DESKTOP))
    assert page.goto(console_site.address + path).status == status
    assert page.locator("h1").inner_text() == heading
    assert sentence in page.locator("main").inner_text()
    assert "auditor" in page.locator(".who").inner_text()
    assert page.get_by_role("navigation", name="Main").is_visible()
    assert page.locator("[data-live=bar] .meter dd").inner_text().startswith("$")
    assert serious_findings(page) == {}
    page.get_by_role("link", name="Go to the floor").click()
    page.wait_for_url(f"{console_site.address}/")


def test_a_store_failure_shows_a_page_with_a_retry_link(console_site, new_page, expected_errors):
    expected_errors.add("503")
    page = console_site.signed_in(new_page(viewport=DESKTOP))
    with damaged(console_site, "ALTER TABLE payouts RENAME TO gone", "ALTER TABLE gone RENAME TO payouts"):
        answer = page.goto(f"{console_site.address}/pools?hours=24")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert page.locator("h1").inner_text() == "The store does not answer"
        assert "payouts" not in page.content()  # details of the store are only logged
    page.get_by_role("link", name="Try again").click()
    page.locator("#chart-meter-title").wait_for(state="attached")
    assert page.url == f"{console_site.address}/pools?hours=24"


def test_an_internal_error_shows_a_page_and_is_logged(console_site, new_page, expected_errors):
    expected_errors.add("500")
    page = console_site.signed_in(new_page(viewport=DESKTOP))
    with damaged(console_site, "UPDATE payouts SET status = 'odd'", "UPDATE payouts SET status = 'paid'"):
        answer = page.goto(f"{console_site.address}/pools")
        assert answer.status == 500
        assert answer.headers["content-security-policy"] == POLICY
        assert page.locator("h1").inner_text() == "Internal error"
        assert "pydantic" not in page.content()
        status, problem = console_site.api("wins")
        assert (status, problem["code"]) == (500, "internal")
    assert '"request failed"' in console_site.site.log
    assert page.goto(f"{console_site.address}/pools").status == 200


def test_a_page_without_a_session_redirects_to_sign_in_and_back(console_site, new_page, expected_errors):
    expected_errors.add("404")
    page = new_page(viewport=DESKTOP)
    page.goto(f"{console_site.address}/odds?meter=300000")
    assert page.url == f"{console_site.address}/sign-in?next=%2Fodds%3Fmeter%3D300000"
    page.get_by_label("Token").fill(console_site.tokens["auditor"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{console_site.address}/odds?meter=300000")
    other = new_page(viewport=DESKTOP)
    other.goto(f"{console_site.address}/nowhere")  # without a session, unknown paths look like known ones
    assert other.url == f"{console_site.address}/sign-in?next=%2Fnowhere"


def test_programs_and_the_api_always_get_problem_documents(console_site):
    status, problem = console_site.api("rounds/t1/99", Accept=HTML)
    assert (status, problem["code"]) == (404, "unknown_round")
    status, problem = console_site.api("nothing", Accept=HTML)
    assert (status, problem["code"]) == (404, "not_found")
    status, problem = console_site.get("/nowhere", Accept="*/*")
    assert (status, problem["code"]) == (404, "not_found")
    status, problem = console_site.get("/openapi.json", Accept=HTML)
    assert (status, problem["code"]) == (401, "unauthenticated")
