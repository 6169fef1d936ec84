"""The pools, odds, rules and devices pages in a real browser, compared with the API and the commands."""

import re

import pytest

from jackpot.web.formatting import hand_name, money
from rules import INSTRUMENTS
from rules.register import clauses
from tests.support.browser import serious_findings, wait_for
from tests.support.console_site import DESKTOP, TABLET
from tests.support.daemon import wait_until

PATHS = ("/pools", "/pools?hours=720", "/odds", "/rules", "/rules/canberra-poker-2016?q=11", "/devices")


@pytest.fixture
def page(console_site, new_page):
    """A page that is signed in as an auditor."""
    return console_site.signed_in(new_page(viewport=DESKTOP))


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


@pytest.mark.parametrize("path", [*PATHS, "/", "/sign-in", "/display/main"])
def test_every_page_is_accessible_and_fits_a_desktop_and_a_tablet(console_site, page, path):
    assert page.goto(console_site.address + path).status == 200
    assert page.locator("h1").inner_text()
    for details in page.locator("details").all()[:3]:
        details.locator("summary").press("Enter")
    for size in (DESKTOP, TABLET):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    assert serious_findings(page) == {}


def test_the_pools_page_matches_the_api(console_site, page):
    _, pools = console_site.api("jackpots/main")
    page.goto(f"{console_site.address}/pools")
    shown = dict(zip(texts(page, ".figures dt"), texts(page, ".figures dd"), strict=True))
    assert shown == {
        "Meter": money(pools["meter_cents"]),
        "Reserve": money(pools["reserve_cents"]),
        "Awaiting confirmation": money(pools["payable_cents"]),
        "Owed to the house": money(pools["advance_owed_cents"]),
    }
    rows = page.locator("[data-account]")
    balances = {row.get_attribute("data-account"): row.locator("td").inner_text() for row in rows.all()}
    assert balances == {account: money(cents) for account, cents in pools["balances"].items()}
    assert balances["house_advance"].startswith("-$")
    assert page.locator("#total").inner_text() == "$0.00"
    assert "sum to zero" in page.locator("main").inner_text()
    facts = page.locator(".facts").inner_text()
    assert all(part in facts for part in ("$2.00", "70%", "30%", "$10,000.00", "Royal flush, straight flush"))


def test_the_chart_and_its_table_match_the_history_of_the_api(console_site, page):
    page.goto(f"{console_site.address}/pools?hours=1")
    _, history = console_site.api("jackpots/main/history?hours=1")
    points = {point["at"]: (money(point["meter_cents"]), money(point["reserve_cents"])) for point in history["points"]}
    page.locator("#history-table summary").click()
    rows = [
        (row.locator("time").get_attribute("datetime"), tuple(row.locator("td").all_inner_texts()))
        for row in page.locator("#history-table tbody tr").all()
    ]
    now, *before = rows
    _, pools = console_site.api("jackpots/main")
    assert now[1] == (money(pools["meter_cents"]), money(pools["reserve_cents"]))
    assert before
    assert all(points[at] == shown for at, shown in before)
    assert {shown for _, shown in rows} == {held for held in points.values() if held != ("$0.00", "$0.00")}
    for which, cents in (("meter", pools["meter_cents"]), ("reserve", pools["reserve_cents"])):
        assert f"to {money(cents)} now" in page.locator(f"#chart-{which}-summary").text_content()
        assert page.locator(f"svg .{which}-line").count() == 1


def test_last_prizes_and_hits_are_shown_and_a_clause_links_to_its_rule(console_site, page):
    _, hits = console_site.api("jackpots/main/hits?hours=24")
    counts = {hit["hand"]: (hit["prizes"], hit["amount_cents"]) for hit in hits["hands"]}
    assert counts == {
        "royal_flush": (0, 0), "straight_flush": (0, 0), "four_of_a_kind": (0, 0),
        "full_house": (1, 15_000), "flush": (1, 10_000),
    }  # fmt: skip
    page.goto(f"{console_site.address}/pools?hours=24")
    rows = texts(page, "section[aria-labelledby=hits] tbody tr")
    assert [row.split("\t") for row in rows] == [
        [hand_name(hand), str(prizes), money(cents)] for hand, (prizes, cents) in counts.items()
    ]
    wins = page.locator("section[aria-labelledby=wins]")
    assert [row.splitlines()[0].split("\t")[1] for row in texts(wins, "tbody tr")] == ["Full house", "Flush"]
    wins.get_by_role("link", name="NI2016-268 r 11.1(e)").click()
    page.wait_for_url("**/rules/canberra-poker-2016#r11.1-e")
    assert page.evaluate("document.querySelector(':target h2').textContent") == "11.1(e)"
    assert "Flush: $100." in page.locator(".clause-entry:target").inner_text()


def test_the_figures_are_polled_and_open_details_stay_open(console_site, new_page):
    page = new_page(viewport=DESKTOP)
    page.clock.install()
    console_site.signed_in(page).goto(f"{console_site.address}/pools")
    page.locator("#history-table summary").click()
    page.locator("#history-table .scroll").focus()
    before = page.locator(".figures .gold dd").inner_text()
    requests = []
    page.on("request", lambda request: requests.append(request) if "/pools/figures" in request.url else None)
    _, pools = console_site.api("jackpots/main")
    console_site.play("t1", 2, b1=None)
    page.clock.run_for(16_000)
    after = money(pools["meter_cents"] + 140)
    wait_for(page, f"document.querySelector('.figures .gold dd').textContent === '{after}'")
    assert before != after
    assert page.locator("#history-table").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.className") == "scroll tall"
    assert {request.headers["x-unattended"] for request in requests} == {"1"}  # polling does not keep the session alive


def test_figures_that_cannot_be_polled_are_marked_stale(console_site, new_page, expected_errors):
    expected_errors.add("Failed to load resource")
    page = new_page(viewport=DESKTOP)
    page.clock.install()
    console_site.signed_in(page).goto(f"{console_site.address}/devices")
    page.route("**/devices/now*", lambda route: route.abort())
    page.clock.run_for(4_000)
    page.locator("[data-poll].stale").wait_for()
    page.unroute("**/devices/now*")
    page.clock.run_for(4_000)
    page.locator("[data-poll]:not(.stale)").wait_for()


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("meter=123456.78", ["--meter-cents", "12345678"]),
        (
            "meter=$2,000,000&wager=5&split=66.67&reset=25000.50&from=house",
            ["--meter-cents", "200000000", "--wager-cents", "500", "--jackpot-bps", "6667", "--reset-cents", "2500050",
             "--fixed-prizes-from", "house"],
        ),
    ],
)  # fmt: skip
def test_the_odds_page_matches_the_command(console_site, page, query, options):
    answer = console_site.site.answer("odds", *options)
    page.goto(f"{console_site.address}/odds?{query}")
    assert page.locator("#expected").inner_text() == f"${answer['expected_return']['decimal']}"
    assert page.locator("#break-even").inner_text() == money(answer["break_even_meter_cents"])
    assert page.locator("#drift").inner_text() == f"${answer['reserve_drift_per_wager_decimal']}"
    assert page.locator("#to-royal").inner_text() == f"{answer['mean_wagers_to_royal']:,}"
    exact = {
        row.get_attribute("data-figure"): row.locator("td").inner_text() for row in page.locator("[data-figure]").all()
    }
    assert exact.pop("expected_return") == answer["expected_return"]["fraction"]
    assert exact == {name: answer[name] for name in exact}
    assert set(exact) >= {"reserve_drift_per_wager", "fixed_cost_per_wager"}
    counts = {
        row.get_attribute("data-hand"): int(row.locator("td").first.inner_text().replace(",", ""))
        for row in page.locator("[data-hand]").all()
    }
    assert counts == answer["counts"]
    assert list(counts.values()) == sorted(counts.values())
    marks = set(page.locator("#main svg .mark-label").all_text_contents())
    assert f"Break-even {money(answer['break_even_meter_cents'])}" in marks
    assert f"Chosen meter {money(answer['expected_return']['meter_cents'])}" in marks
    assert any(mark.startswith("Meter now ") for mark in marks)


def test_the_odds_form_shows_problems_beside_the_field_and_the_present_figures(console_site, page, expected_errors):
    expected_errors.add("422")
    page.goto(f"{console_site.address}/odds")
    present = texts(page, "[data-figure=reserve_drift_per_wager] td")
    page.get_by_label("Wager, $").fill("two dollars")
    page.get_by_label("To the jackpot pool").fill("101")
    page.keyboard.press("Enter")
    page.wait_for_url("**wager=two**")
    assert texts(page, "form .problem") == ["Write dollars like 1234.56.", "Enter 0 to 100 per cent."]
    assert page.get_by_label("Wager, $").get_attribute("aria-invalid") == "true"
    assert page.get_by_label("Wager, $").input_value() == "two dollars"
    assert texts(page, "[data-figure=reserve_drift_per_wager] td") == present
    page.get_by_role("link", name="Reset to current").click()
    page.wait_for_url(re.compile(r"/odds\?jackpot=main$"))


def test_every_clause_of_the_five_instruments_is_shown(console_site, page):
    page.goto(f"{console_site.address}/rules")
    assert texts(page, ".instrument h2") == [instrument.game for instrument in INSTRUMENTS.values()]
    assert "played here" in page.locator(".instrument").first.inner_text()
    for instrument in INSTRUMENTS.values():
        page.goto(f"{console_site.address}/rules/{instrument.id}")
        assert texts(page, ".clause-entry h2") == [clause.number for clause in clauses(instrument.id)]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


def test_clauses_are_found_by_their_words_and_by_who_handles_them(console_site, page):
    page.goto(f"{console_site.address}/rules/canberra-poker-2016")
    page.get_by_label("Words or number").fill("Straight FLUSH tenth")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=Straight**")
    found = texts(page, ".clause-entry h2")
    assert "11.1(b)" in found
    assert len(found) < 10
    assert f"{len(found)} of {len(clauses('canberra-poker-2016'))} clauses" in page.locator("main").inner_text()
    entry = page.locator(".clause-entry").filter(has=page.get_by_role("link", name="11.1(b)", exact=True))
    assert "rules.instruments.canberra_poker_2016:settle_jackpot" in entry.inner_text()
    entry.locator("summary").press("Enter")
    assert "tests/rules/" in entry.locator(".tests").inner_text()
    page.goto(f"{console_site.address}/rules/canberra-poker-2016?q=nonexistent")
    assert "No clauses match." in page.locator("main").inner_text()
    page.goto(f"{console_site.address}/rules/canberra-poker-2016?by=operator")
    assert page.locator(".clause-entry:not(.by-operator)").count() == 0


def test_devices_show_an_offline_pad_and_compare_displays_with_the_meter(console_site, page):
    for device, state in (("pads/1", "online"), ("pads/2", "offline"), ("dealer", "online")):
        console_site.client.publish(f"tables/t1/{device}/status", {"state": state}, retain=True)
    meter = console_site.client.last("jackpots/main/meter")
    shown_meter = {key: meter[key] for key in ("amount_cents", "epoch", "seq")}
    for name, wrong in (("east", 0), ("west", 5)):
        console_site.client.publish(f"displays/{name}/status", {"state": "online"}, retain=True)
        console_site.client.publish(
            f"displays/{name}/shown",
            {**shown_meter, "jackpot": "main", "amount_cents": shown_meter["amount_cents"] + wrong},
        )
    wait_until(lambda: len(console_site.api("devices")[1][0]["displays"]) == 2, "the displays")
    page.goto(f"{console_site.address}/devices")
    pads = page.locator("[data-table=t1]")
    assert "offline" in pads.locator("[data-box='2']").inner_text()
    assert pads.locator("[data-box='2']").get_attribute("class") == "pad is-offline"
    assert "online" in pads.locator("[data-box='1']").inner_text()
    assert "never seen" in pads.locator("[data-box='3']").inner_text()
    assert "1 pad offline" in page.locator("#pads").inner_text()
    right, wrong = money(shown_meter["amount_cents"]), money(shown_meter["amount_cents"] + 5)
    assert texts(page, "[data-display=east] td") == ["Online", right, "Correct"]
    assert texts(page, "[data-display=west] td") == ["Online", wrong, "Wrong amount"]


def test_an_unreadable_message_is_shown_as_it_was_received(console_site, page):
    evil = '<script>document.title = "taken"</script>'
    console_site.client.publish("tables/t2/pads/3/wager", evil)
    wait_until(lambda: evil in str(console_site.api("quarantine")[1]), "the quarantine")
    page.goto(f"{console_site.address}/devices")
    row = page.locator("tr.quarantined").filter(has_text="tables/t2/pads/3/wager")
    assert row.locator(".payload").inner_text() == evil
    assert page.title().startswith("Devices")
    assert serious_findings(page) == {}
