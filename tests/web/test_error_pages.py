"""What goes wrong, as people see it: pages in their frame for browsers, problem documents for programs."""

import sqlite3
from contextlib import closing, contextmanager

import pytest

from jackpot.web.security_headers import POLICY
from tests.support.browser import serious_findings
from tests.support.console_site import DESK

HTML = "text/html,application/xhtml+xml"


@contextmanager
def damaged(house, harm, mend):
    """The site's database with something wrong in it that no controller foresees."""
    with closing(sqlite3.connect(house.site.database.removeprefix("sqlite:///"), isolation_level=None)) as store:
        store.execute(harm)
        try:
            yield
        finally:
            store.execute(mend)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/nowhere", (404, "There is no such page", "There is nothing at /nowhere.")),
        ("/pools?jackpot=other", (404, "Unknown jackpot", "The site has no jackpot 'other'.")),
        ("/rules/other", (404, "Unknown instrument", "There is no instrument 'other'.")),
        ("/pools?hours=0", (422, "This address is not understood", "greater than or equal to 1")),
    ],
)
def test_an_address_that_leads_nowhere_is_a_page_in_its_frame(house, new_page, forgiven, path, told):
    status, heading, sentence = told
    forgiven.add(str(status))
    page = house.signed_in(new_page(viewport=DESK))
    assert page.goto(house.address + path).status == status
    assert page.locator("h1").inner_text() == heading
    assert sentence in page.locator("main").inner_text()
    assert "auditor" in page.locator(".who").inner_text()
    assert page.get_by_role("navigation", name="Places").is_visible()
    assert page.locator("[data-live=bar] .meter dd").inner_text().startswith("$")
    assert serious_findings(page) == {}
    page.get_by_role("link", name="To the floor").click()
    page.wait_for_url(f"{house.address}/")


def test_a_store_that_does_not_answer_is_a_page_that_can_be_tried_again(house, new_page, forgiven):
    forgiven.add("503")
    page = house.signed_in(new_page(viewport=DESK))
    with damaged(house, "ALTER TABLE payouts RENAME TO gone", "ALTER TABLE gone RENAME TO payouts"):
        answer = page.goto(f"{house.address}/pools?hours=24")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert page.locator("h1").inner_text() == "The store does not answer"
        assert "payouts" not in page.content()  # what the store said is for the log
    page.get_by_role("link", name="Try again").click()
    page.locator("#chart-meter-title").wait_for(state="attached")
    assert page.url == f"{house.address}/pools?hours=24"


def test_a_mistake_of_the_controllers_own_is_a_page_too_and_the_log_says_what(house, new_page, forgiven):
    forgiven.add("500")
    page = house.signed_in(new_page(viewport=DESK))
    with damaged(house, "UPDATE payouts SET status = 'odd'", "UPDATE payouts SET status = 'paid'"):
        answer = page.goto(f"{house.address}/pools")
        assert answer.status == 500
        assert answer.headers["content-security-policy"] == POLICY
        assert page.locator("h1").inner_text() == "Something is wrong with the controller"
        assert "pydantic" not in page.content()
        status, told = house.api("wins")
        assert (status, told["code"]) == (500, "internal")
    assert '"request failed"' in house.site.log
    assert page.goto(f"{house.address}/pools").status == 200


def test_whoever_is_not_signed_in_is_sent_to_do_so_and_comes_back(house, new_page, forgiven):
    forgiven.add("404")
    page = new_page(viewport=DESK)
    page.goto(f"{house.address}/odds?meter=300000")
    assert page.url == f"{house.address}/sign-in?next=%2Fodds%3Fmeter%3D300000"
    page.get_by_label("Token").fill(house.tokens["auditor"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{house.address}/odds?meter=300000")
    other = new_page(viewport=DESK)
    other.goto(f"{house.address}/nowhere")  # strangers do not hear what there is and what not
    assert other.url == f"{house.address}/sign-in?next=%2Fnowhere"


def test_programs_are_told_problems_wherever_they_ask_and_the_api_tells_nothing_else(house):
    status, told = house.api("rounds/t1/99", Accept=HTML)
    assert (status, told["code"]) == (404, "unknown_round")
    status, told = house.api("nothing", Accept=HTML)
    assert (status, told["code"]) == (404, "not_found")
    status, told = house.get("/nowhere", Accept="*/*")
    assert (status, told["code"]) == (404, "not_found")
    status, told = house.get("/openapi.json", Accept=HTML)
    assert (status, told["code"]) == (401, "unauthenticated")
