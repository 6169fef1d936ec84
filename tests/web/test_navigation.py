"""Open pages go to the sign-in page when the session ends; sign-in leads back to a page of this site."""

from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.support.browser import OTHER_HOST, serious_findings
from tests.support.console_site import DESKTOP, ConsoleSite

OTHER_ADDRESSES = (
    "//evil.example/x", "/\\evil.example/x", "\\\\evil.example/x", "/\t/evil.example/x", "/\n/evil.example/x",
    "/\r\\evil.example/x", "\t//evil.example/x", "/\x00/evil.example/x", "/\x7f/evil.example/x", "/a\\b",
    "https://evil.example/x", "javascript:alert(1)", "evil.example", "", " ",
)  # fmt: skip


@pytest.fixture
def newcomer(console_site):
    """A new operator."""
    return console_site.site.act("operators", {"name": f"newcomer-{uuid4().hex[:8]}", "role": "auditor"})[1]


@pytest.fixture
def own_site(mosquitto_port, tmp_path):
    made = ConsoleSite(tmp_path, mosquitto_port)
    yield made
    made.close()


def signed_in(console_site, page, token):
    page.goto(f"{console_site.address}/sign-in#token={token}")
    page.wait_for_url(f"{console_site.address}/")
    return page


def test_an_open_page_of_a_revoked_operator_goes_to_the_sign_in_page(console_site, newcomer, new_page):
    page = new_page(viewport=DESKTOP)
    with page.expect_response("**/console/feed*"):
        signed_in(console_site, page, newcomer["token"])
    assert console_site.site.act(f"operators/{newcomer['operator']}/revoke", {"reason": "left"})[0] == 200
    page.wait_for_url("**/sign-in*")
    assert page.get_by_label("Token").is_visible()


def test_an_open_page_goes_to_the_sign_in_page_after_the_controller_restarted(own_site, new_page, expected_errors):
    expected_errors |= {"401", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET"}
    page = new_page(viewport=DESKTOP)
    with page.expect_response("**/console/feed*"):
        signed_in(own_site, page, own_site.tokens["auditor"])
    own_site.site.kill()
    own_site.site.start()
    page.wait_for_url("**/sign-in*")


def test_the_feed_without_a_session_answers_a_problem(console_site):
    status, problem = console_site.get("/console/feed")
    assert (status, problem["code"]) == (401, "unauthenticated")


def test_a_sign_in_link_works_in_a_tab_with_the_sign_in_page_open(console_site, newcomer, new_page):
    page = new_page(viewport=DESKTOP)
    page.goto(f"{console_site.address}/sign-in")
    page.goto(f"{console_site.address}/sign-in#token={newcomer['token']}")
    page.wait_for_url(f"{console_site.address}/")
    assert newcomer["token"] not in page.evaluate("location.href")


@pytest.mark.parametrize("back", OTHER_ADDRESSES)
def test_sign_in_does_not_lead_back_to_another_site(console_site, back):
    status, text = console_site.get(f"/sign-in?next={quote(back, safe='')}")
    assert status == 200
    assert 'data-back="/"' in text


@pytest.mark.parametrize(
    "back", ["/", "/odds?meter=300000&wager=5", "/rules/canberra-poker-2016?q=a%20b#r11", "/wins/ä"]
)
def test_sign_in_leads_back_to_a_path_of_this_site(console_site, back):
    _, text = console_site.get(f"/sign-in?next={quote(back, safe='')}")
    assert f'data-back="{back.replace("&", "&amp;")}"' in text


@pytest.mark.parametrize("back", ["/\t/evil.example/x", "//evil.example/x", "https://evil.example/x", "//"])
def test_the_sign_in_script_never_goes_to_another_host(console_site, newcomer, new_page, back):
    page = new_page(viewport=DESKTOP)
    page.goto(f"{console_site.address}/sign-in?next={quote(back, safe='')}")
    page.evaluate("(back) => { document.getElementById('sign-in').dataset.back = back; }", back)
    page.get_by_label("Token").fill(newcomer["token"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{console_site.address}/")


def test_sign_in_over_plain_http_from_another_host_says_that_it_needs_https(
    console_site, newcomer, new_page, expected_errors
):
    expected_errors |= {"401", "Cross-Origin-Opener-Policy"}
    page = new_page(viewport=DESKTOP)
    page.goto(f"http://{OTHER_HOST}:{console_site.site.http}/sign-in")
    page.get_by_label("Token").fill(newcomer["token"])
    page.keyboard.press("Enter")
    page.get_by_text("This address needs https").wait_for()
    assert page.url.endswith("/sign-in")
    assert page.locator("form").get_attribute("aria-busy") is None
    assert serious_findings(page) == {}


def test_an_invalid_time_is_refused_with_a_valid_example(console_site, new_page, expected_errors):
    expected_errors |= {"422"}
    page = console_site.signed_in(new_page(viewport=DESKTOP))
    page.goto(f"{console_site.address}/audit?since=zzz")
    assert "write 2026-11-15T09:30:00Z" in page.get_by_role("alert").inner_text()
