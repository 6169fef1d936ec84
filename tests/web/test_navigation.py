"""Who is signed in no longer is told so by every open page; who signs in comes to a page of ours, or hears why not."""

from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.support.browser import ELSEWHERE, serious_findings
from tests.support.console_site import DESK, House

NOT_OURS = (
    "//evil.example/x", "/\\evil.example/x", "\\\\evil.example/x", "/\t/evil.example/x", "/\n/evil.example/x",
    "/\r\\evil.example/x", "\t//evil.example/x", "/\x00/evil.example/x", "/\x7f/evil.example/x", "/a\\b",
    "https://evil.example/x", "javascript:alert(1)", "evil.example", "", " ",
)  # fmt: skip


@pytest.fixture
def newcomer(house):
    """An operator of this test's own."""
    return house.site.act("operators", {"name": f"newcomer-{uuid4().hex[:8]}", "role": "auditor"})[1]


@pytest.fixture
def own_house(mosquitto_port, tmp_path):
    made = House(tmp_path, mosquitto_port)
    yield made
    made.close()


def signed_in(house, page, token):
    page.goto(f"{house.address}/sign-in#token={token}")
    page.wait_for_url(f"{house.address}/")
    return page


def test_an_open_page_of_whoever_was_revoked_asks_to_sign_in(house, newcomer, new_page):
    page = signed_in(house, new_page(viewport=DESK), newcomer["token"])
    page.get_by_text("Live").first.wait_for()
    assert house.site.act(f"operators/{newcomer['operator']}/revoke", {"reason": "left"})[0] == 200
    page.wait_for_url("**/sign-in*")
    assert page.get_by_label("Token").is_visible()


def test_an_open_page_whose_session_went_with_its_controller_asks_to_sign_in(own_house, new_page, forgiven):
    forgiven |= {"401", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET"}
    page = signed_in(own_house, new_page(viewport=DESK), own_house.tokens["auditor"])
    page.get_by_text("Live").first.wait_for()
    own_house.site.kill()
    own_house.site.start()
    page.wait_for_url("**/sign-in*")


def test_the_feed_of_nobody_is_a_problem_and_no_page(house):
    status, problem = house.get("/console/feed")
    assert (status, problem["code"]) == (401, "unauthenticated")


def test_a_sign_in_link_works_in_a_tab_that_shows_the_sign_in_page_already(house, newcomer, new_page):
    page = new_page(viewport=DESK)
    page.goto(f"{house.address}/sign-in")
    page.goto(f"{house.address}/sign-in#token={newcomer['token']}")
    page.wait_for_url(f"{house.address}/")
    assert newcomer["token"] not in page.evaluate("location.href")


@pytest.mark.parametrize("back", NOT_OURS)
def test_only_a_path_of_this_site_is_gone_back_to(house, back):
    status, text = house.get(f"/sign-in?next={quote(back, safe='')}")
    assert status == 200
    assert 'data-back="/"' in text


@pytest.mark.parametrize(
    "back", ["/", "/odds?meter=300000&wager=5", "/rules/canberra-poker-2016?q=a%20b#r11", "/wins/ä"]
)
def test_a_path_of_this_site_is(house, back):
    _, text = house.get(f"/sign-in?next={quote(back, safe='')}")
    assert f'data-back="{back.replace("&", "&amp;")}"' in text


@pytest.mark.parametrize("back", ["/\t/evil.example/x", "//evil.example/x", "https://evil.example/x", "//"])
def test_nobody_who_signs_in_is_led_to_another_host_whatever_the_page_says(house, newcomer, new_page, back):
    page = new_page(viewport=DESK)
    page.goto(f"{house.address}/sign-in?next={quote(back, safe='')}")
    page.evaluate("(back) => { document.getElementById('sign-in').dataset.back = back; }", back)
    page.get_by_label("Token").fill(newcomer["token"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{house.address}/")


def test_whoever_signs_in_by_plain_http_from_elsewhere_is_told_that_it_needs_https(house, newcomer, new_page, forgiven):
    forgiven |= {"401", "Cross-Origin-Opener-Policy"}
    page = new_page(viewport=DESK)
    page.goto(f"http://{ELSEWHERE}:{house.site.http}/sign-in")
    page.get_by_label("Token").fill(newcomer["token"])
    page.keyboard.press("Enter")
    page.get_by_text("This address needs https").wait_for()
    assert page.url.endswith("/sign-in")
    assert page.locator("form").get_attribute("aria-busy") is None
    assert serious_findings(page) == {}


def test_a_moment_that_is_none_is_refused_with_an_example_that_is_one(house, new_page, forgiven):
    forgiven |= {"422"}
    page = house.signed_in(new_page(viewport=DESK))
    page.goto(f"{house.address}/audit?since=zzz")
    assert "write 2026-11-15T09:30:00Z" in page.get_by_role("alert").inner_text()
