"""Who is signed in no longer is told so by every open page; who opens a sign-in link is signed in wherever it opens."""

from uuid import uuid4

import pytest
from visiting import DESK, House


@pytest.fixture
def newcomer(house):
    """An operator of this test's own."""
    return house.site.act("operators", {"name": f"newcomer-{uuid4().hex[:8]}", "role": "auditor"})[1]


@pytest.fixture
def own_house(broker_port, tmp_path):
    made = House(tmp_path, broker_port)
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


def test_a_moment_that_is_none_is_refused_with_an_example_that_is_one(house, new_page, forgiven):
    forgiven |= {"422"}
    page = house.signed_in(new_page(viewport=DESK))
    page.goto(f"{house.address}/audit?since=zzz")
    assert "write 2026-11-15T09:30:00Z" in page.get_by_role("alert").inner_text()
