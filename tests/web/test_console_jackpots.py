"""The console of a new site with two jackpots, and the end of one of them."""

import pytest

from tests.support.browser import serious_findings
from tests.support.daemon import Client, Site
from tests.support.staged_site import StagedSite

EMPTY = {
    "/wins": ("No wins awaiting confirmation.", "No wins yet."),
    "/rounds": ("No rounds have been played yet.",),
    "/tables/s1": ("No rounds have been played here yet.", "No round is in play."),
    "/changes": ("Nothing is waiting for a second manager.", "No adjustments yet."),
}


@pytest.fixture(scope="module")
def staged_site(mosquitto_port, tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("two"), f"mqtt://127.0.0.1:{mosquitto_port}", tables=1)
    managers = ["--token", site.tokens[0], "--second-token", site.tokens[1]]
    site.answer("floor", "add-jackpot", "second", "--rules", "canberra-poker-1997", *managers)
    site.answer("floor", "add-table", "s1", "--jackpot", "second", "--boxes", "5", "--token", site.tokens[0])
    client = Client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    try:
        yield StagedSite(site, client)
    finally:
        client.close()
        site.kill()


@pytest.fixture
def open_page(staged_site, new_page):
    """Open pages as an operator."""

    def opened(name, path):
        page = new_page(viewport={"width": 1280, "height": 900})
        page.context.add_cookies([staged_site.cookie(name)])
        page.goto(f"{staged_site.address}{path}")
        return page

    return opened


def test_empty_pages_say_so(staged_site, open_page):
    page = open_page("manager1", "/")
    for path, sentences in EMPTY.items():
        page.goto(f"{staged_site.address}{path}?jackpot=second")
        for sentence in sentences:
            assert sentence in page.locator("main").inner_text(), path
        assert serious_findings(page) == {}, path


def test_navigation_keeps_the_selected_jackpot(staged_site, open_page):
    page = open_page("manager1", "/tables/s1")
    assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"
    assert page.locator("section[aria-labelledby=settings]").get_by_text("second").is_visible()
    page.get_by_role("link", name="Changes").click()
    page.wait_for_url("**/changes?jackpot=second")
    assert page.get_by_label("Dead man’s hand").is_visible()
    page.get_by_role("link", name="Audit").click()
    assert page.get_by_label("Chain").input_value() == "second"
    assert "created under canberra-poker-1997" in page.locator(".trail").inner_text()
    page.get_by_role("link", name="Reports").click()
    assert page.locator("table.report").count() == 2


def test_another_jackpot_can_be_selected_from_a_table_and_a_round(staged_site, open_page):
    dealer = staged_site.dealer("t1")
    dealer.open()
    dealer.command("void_round", round=dealer.number, reason="a test")
    for path, leads_to in (
        ("/tables/t1", "/?jackpot=second"),
        (f"/rounds/t1/{dealer.number}", "/rounds?jackpot=second"),
    ):
        page = open_page("manager1", path)
        page.locator("nav.jackpots").get_by_role("link", name="second").click()
        page.wait_for_url(f"{staged_site.address}{leads_to}")
        assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"


def test_a_jackpots_trail_selects_it_and_the_sites_trail_keeps_the_selection(staged_site, open_page):
    page = open_page("manager1", "/audit?chain=second")
    assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"
    assert page.locator(".bar .meter a").get_attribute("href") == "/pools?jackpot=second"
    page.get_by_label("Chain").select_option("site")
    page.get_by_label("Who").fill("init")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**chain=site**")
    assert page.locator("nav.jackpots [aria-current]").inner_text() == "second"
    page.get_by_role("link", name="Clear").click()
    page.wait_for_url(f"{staged_site.address}/audit?chain=site&jackpot=second*")
    page.locator("nav.jackpots").get_by_role("link", name="main").click()
    page.wait_for_url(f"{staged_site.address}/audit?jackpot=main")
    assert page.get_by_label("Chain").input_value() == "main"


def test_only_managers_see_proposed_managers_on_the_floor(staged_site, open_page):
    staged_site.add("sol", "supervisor")
    page, other = open_page("manager2", "/"), open_page("sol", "/")
    page.get_by_text("Nothing is waiting for you.").wait_for()
    assert staged_site.site.act("operators/mia/propose")[0] == 200
    person = page.locator("#person-mia")
    person.wait_for()  # without a reload
    assert "New manager proposed: mia" in person.inner_text()
    assert page.get_by_text("Nothing is waiting for you.").is_hidden()
    assert serious_findings(page) == {}
    other.reload()
    assert other.get_by_text("Nothing is waiting for you.").is_visible()
    assert "mia" not in other.locator("main").inner_text()
    person.get_by_role("link", name="Review").click()
    page.wait_for_url("**/operators?jackpot=main")
    page.locator("article.proposed", has_text="mia").get_by_role("button", name="Approve").wait_for()
    assert staged_site.site.act("operators/mia/withdraw", {"reason": "a test"})[0] == 200
    page.goto(staged_site.address)
    assert page.get_by_text("Nothing is waiting for you.").is_visible()


def test_two_managers_end_a_jackpot_and_its_money_moves_on(staged_site, open_page):
    first = open_page("manager1", "/changes?jackpot=second")
    held = {row["jackpot"]: row for row in staged_site.get("jackpots", "manager1")}["second"]
    form = first.locator("#retirement-form")
    form.get_by_label("Reason").fill("The 1997 rules end")
    form.get_by_role("button", name="Propose to end it").click()
    proposed = first.locator("article.proposed", has_text="The 1997 rules end")
    proposed.get_by_text("another manager must approve it").wait_for()
    second = open_page("manager2", "/changes?jackpot=second")
    second.get_by_role("button", name="Approve").click()
    second.get_by_role("button", name="Do it").click()
    second.get_by_text("This jackpot has ended").wait_for()
    assert second.locator("#config-form").count() == 0
    now = {row["jackpot"]: row for row in staged_site.get("jackpots", "manager1")}["second"]
    assert held["meter_cents"] > 0
    assert (now["retired"], now["meter_cents"], now["reserve_cents"]) == (True, 0, 0)
    assert now["balances"]["house"] == held["meter_cents"] + held["reserve_cents"]
