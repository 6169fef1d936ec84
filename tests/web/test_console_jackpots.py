"""The console of a site with two jackpots on which nothing has happened yet, and the end of one of them."""

import pytest

from tests.support.browser import serious_findings
from tests.support.daemon import Client, Site
from tests.support.staged_site import Staged

EMPTY = {
    "/wins": ("No win awaits confirmation.", "Nobody has won anything yet."),
    "/rounds": ("No round has been played yet.",),
    "/tables/s1": ("No round has been played here yet.", "there is nothing to stand in for"),
    "/changes": ("Nothing waits for a second manager.", "No money has been moved by hand."),
}


@pytest.fixture(scope="module")
def staged(mosquitto_port, tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("two"), f"mqtt://127.0.0.1:{mosquitto_port}", tables=1)
    managers = ["--token", site.tokens[0], "--second-token", site.tokens[1]]
    site.answer("floor", "add-jackpot", "second", "--rules", "canberra-poker-1997", *managers)
    site.answer("floor", "add-table", "s1", "--jackpot", "second", "--boxes", "5", "--token", site.tokens[0])
    client = Client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    try:
        yield Staged(site, client)
    finally:
        client.close()
        site.kill()


@pytest.fixture
def look(staged, new_page):
    """Opens pages as an operator."""

    def opened(name, path):
        page = new_page(viewport={"width": 1280, "height": 900})
        page.context.add_cookies([staged.state(name)])
        page.goto(f"{staged.address}{path}")
        return page

    return opened


def test_pages_without_anything_to_show_say_so(staged, look):
    page = look("manager1", "/")
    for path, sentences in EMPTY.items():
        page.goto(f"{staged.address}{path}?jackpot=second")
        for sentence in sentences:
            assert sentence in page.locator("main").inner_text(), path
        assert serious_findings(page) == {}, path


def test_a_page_is_of_the_jackpot_that_is_looked_at_and_stays_there(staged, look):
    page = look("manager1", "/tables/s1")
    assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"
    assert page.locator("section[aria-labelledby=settings]").get_by_text("second").is_visible()
    page.get_by_role("link", name="Changes").click()
    page.wait_for_url("**/changes?jackpot=second")
    assert page.get_by_label("Dead man’s hand").is_visible()
    page.get_by_role("link", name="Audit").click()
    assert page.get_by_label("Chain").input_value() == "second"
    assert "began under canberra-poker-1997" in page.locator(".trail").inner_text()
    page.get_by_role("link", name="Reports").click()
    assert page.locator("table.report").count() == 2


def test_another_jackpot_is_looked_at_from_the_page_of_a_table_and_of_a_round(staged, look):
    dealer = staged.dealer("t1")
    dealer.open()
    dealer.ask("void_round", round=dealer.number, reason="a test")
    for path, leads_to in (
        ("/tables/t1", "/?jackpot=second"),
        (f"/rounds/t1/{dealer.number}", "/rounds?jackpot=second"),
    ):
        page = look("manager1", path)
        page.locator("nav.jackpots").get_by_role("link", name="second").click()
        page.wait_for_url(f"{staged.address}{leads_to}")
        assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"


def test_the_trail_of_a_jackpot_is_in_its_own_frame_and_the_sites_in_that_one_is_looked_at(staged, look):
    page = look("manager1", "/audit?chain=second")
    assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"
    assert page.locator(".bar .meter a").get_attribute("href") == "/pools?jackpot=second"
    page.get_by_label("Chain").select_option("site")
    page.get_by_label("Who").fill("init")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**chain=site**")
    assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"
    page.get_by_role("link", name="Clear").click()
    page.wait_for_url(f"{staged.address}/audit?chain=site&jackpot=second*")
    page.locator("nav.jackpots").get_by_role("link", name="main").click()
    page.wait_for_url(f"{staged.address}/audit?jackpot=main")
    assert page.get_by_label("Chain").input_value() == "main"


def test_managers_see_on_the_floor_who_waits_for_a_second_of_them(staged, look):
    staged.add("sol", "supervisor")
    page, other = look("manager2", "/"), look("sol", "/")
    page.get_by_text("Nothing waits for you.").wait_for()
    assert staged.site.act("operators/mia/propose")[0] == 200
    person = page.locator("#person-mia")
    person.wait_for()  # by itself, without a reload
    assert "mia becomes a manager" in person.inner_text()
    assert page.get_by_text("Nothing waits for you.").is_hidden()
    assert serious_findings(page) == {}
    other.reload()
    assert other.get_by_text("Nothing waits for you.").is_visible()
    assert "mia" not in other.locator("main").inner_text()
    person.get_by_role("link", name="Look at it").click()
    page.wait_for_url("**/operators?jackpot=main")
    page.locator("article.proposed", has_text="mia").get_by_role("button", name="Approve").wait_for()
    assert staged.site.act("operators/mia/withdraw", {"reason": "a test"})[0] == 200
    page.goto(staged.address)
    assert page.get_by_text("Nothing waits for you.").is_visible()


def test_a_jackpot_ends_by_two_managers_and_its_money_goes_on(staged, look):
    first = look("manager1", "/changes?jackpot=second")
    held = {row["jackpot"]: row for row in staged.get("jackpots", "manager1")}["second"]
    form = first.locator("#retirement-form")
    form.get_by_label("Reason").fill("The 1997 rules end")
    form.get_by_role("button", name="Propose the end").click()
    proposed = first.locator("article.proposed", has_text="The 1997 rules end")
    proposed.get_by_text("another manager must approve it").wait_for()
    second = look("manager2", "/changes?jackpot=second")
    second.get_by_role("button", name="Approve").click()
    second.get_by_role("button", name="Do it").click()
    second.get_by_text("This jackpot has ended").wait_for()
    assert second.locator("#config-form").count() == 0
    now = {row["jackpot"]: row for row in staged.get("jackpots", "manager1")}["second"]
    assert held["meter_cents"] > 0
    assert (now["retired"], now["meter_cents"], now["reserve_cents"]) == (True, 0, 0)
    assert now["balances"]["house"] == held["meter_cents"] + held["reserve_cents"]
