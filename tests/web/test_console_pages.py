"""The console's pages in a real browser: wins, rounds, tables, audit, reports, changes, operators."""

import json
import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import TimeoutError  # noqa: A004 - the browser's own

from jackpot.core.events import EventType
from jackpot.core.site.events import SiteEventType
from jackpot.web.api.audit import AuditEvent
from jackpot.web.console.sentences import _SENTENCES, event_name, sentence
from jackpot.web.formatting import money, signed_money
from tests.support.browser import LIMIT_SECONDS, serious_findings, wait_for
from tests.support.daemon import Client, Site, wait_until
from tests.support.staged_site import ALMOST_ROYAL, FLUSH, ROYAL, StagedSite, stage_events

PAGES = {
    "/wins": "Straight flush",
    "/rounds": "t2 · 2",
    "/rounds/t1/2": "NI2016-268 r 11.1(b)",
    "/rounds/t2/1": "The ace is of hearts",
    "/tables/t1": "Last rounds",
    "/tables/t4": "The dealer reported a malfunction",
    "/audit": "manager2",
    "/reports": "Ties to the cent",
    "/changes": "$9,000.00",
    "/operators": "supervisor",
}
"""Every page, with a text that it must show."""
ACTS = "button[data-act]:visible, form[data-act]:visible"
WIDE, TABLET = {"width": 1280, "height": 900}, {"width": 820, "height": 1180}


@pytest.fixture(scope="module")
def staged_site(mosquitto_port, tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged")
    site = Site(folder, f"mqtt://127.0.0.1:{mosquitto_port}", tables=5, timezone="Australia/Canberra")
    client = Client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    try:
        staged = StagedSite(site, client)
        stage_events(staged)
        yield staged
    finally:
        client.close()
        site.kill()


@pytest.fixture
def open_page(staged_site, new_page):
    """Open pages as an operator."""

    def opened(name, path, viewport=WIDE):
        page = new_page(viewport=viewport)
        page.context.add_cookies([staged_site.cookie(name)])
        response = page.goto(f"{staged_site.address}{path}")
        assert response.status == 200, response.text()
        return page

    return opened


def act_from_page(page, path, body):
    """Send an act from a page without its buttons, and return the API's answer."""
    return page.evaluate(
        """async ([path, body]) => {
            const { act } = await import("/static/acts.js");
            try { return await act(path, null, "POST", undefined, body); }
            catch (problem) { return [problem.status, problem.code]; }
        }""",
        [path, body],
    )


def submit_dialog(page, **fields):
    """Fill in the dialog and submit it with the keyboard."""
    for label, value in fields.items():
        page.get_by_role("dialog").get_by_label(label.replace("_", " ")).fill(value)
    page.get_by_role("dialog").get_by_role("button", name="Do it").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Do it").wait_for(state="detached")


# Every page, for every role.


@pytest.mark.parametrize("path", PAGES)
def test_every_page_shows_its_content_is_accessible_and_fits_a_tablet(path, open_page):
    page = open_page("manager1", path, TABLET)
    assert PAGES[path] in page.locator("main").inner_text()
    assert page.locator("h1").count() == 1
    assert serious_findings(page) == {}
    assert page.evaluate("document.documentElement.scrollWidth") == TABLET["width"]


@pytest.mark.parametrize("role", ["auditor", "supervisor"])
def test_every_role_sees_every_page_but_only_the_acts_it_may_do(role, staged_site, open_page):
    page = open_page(role, "/")
    for path, content in PAGES.items():
        page.goto(f"{staged_site.address}{path}")
        assert content in page.locator("main").inner_text(), path
        titles = {button.get_attribute("data-title") for button in page.locator(ACTS).all()}
        allowed = {"/operators": {"Renew your own token"}}.get(path, set())
        if role == "supervisor":
            allowed |= {"/tables/t4": {"Resume table t4"}}.get(path, set())
        assert titles == allowed, path


def test_the_api_refuses_acts_of_an_auditor(staged_site, open_page, expected_errors):
    expected_errors.add("403")
    page = open_page("auditor", "/wins")
    reason = {"reason": "x"}
    for path, body in [
        ("/api/v1/rounds/t1/2/confirm", {}),
        ("/api/v1/rounds/t1/2/void", reason),
        ("/api/v1/tables/t4/resume", {}),
        ("/api/v1/configs", reason),
        ("/api/v1/configs/main/1/approve", {}),
        ("/api/v1/operators", {"name": "x", "role": "auditor"}),
        ("/api/v1/operators/supervisor/revoke", reason),
    ]:
        assert act_from_page(page, path, body) == [403, "forbidden"], path
    assert staged_site.get("tables")[3]["suspended"] == "dealer_report"


# Wins.


def test_a_win_appears_without_reload_and_is_confirmed_with_the_keyboard(staged_site, open_page):
    page = open_page("supervisor", "/wins")
    page.get_by_text("No wins awaiting confirmation.").wait_for()
    number = staged_site.dealer("t1").play({2: ROYAL})
    pending = page.locator("article.win")
    pending.wait_for()
    assert pending.locator(".card").all_inner_texts() == ["A♠", "K♠", "Q♠", "J♠", "10♠"]
    row = page.locator("#wins tbody tr").first
    row.get_by_text("Awaiting confirmation").wait_for()
    (win,) = staged_site.get("wins?status=pending")["rows"]
    assert money(win["amount_cents"]) in pending.inner_text()

    page.locator("main").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Confirm":
            break
    page.keyboard.press("Enter")
    assert money(win["amount_cents"]) in page.get_by_role("dialog").inner_text()
    page.keyboard.press("Enter")
    pending.wait_for(state="detached")
    row.get_by_text("Paid").wait_for()
    (confirmed,) = staged_site.get("audit?type=payouts_confirmed&table=t1&limit=1&actor=supervisor")["rows"]
    assert confirmed["round"] == number


def test_wins_are_filtered_by_status_and_table(open_page):
    page = open_page("auditor", "/wins")
    page.get_by_label("Status").select_option("Corrected")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**status=corrected**")
    assert page.locator("#wins tbody tr").count() == 1
    assert "Royal flush" in page.locator("#wins tbody tr").inner_text()
    page.get_by_label("Table").select_option("t3")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("No prizes match.").wait_for()


# Rounds.


def test_a_round_shows_every_wager_transfer_and_event(staged_site, open_page):
    answer = staged_site.get("rounds/t1/2")
    page = open_page("auditor", "/rounds/t1/2")
    rows = {name: page.locator(f"section[aria-labelledby={name}] tbody tr") for name in ("wagers", "transfers")}
    assert rows["wagers"].count() == len(answer["wagers"]) == 3
    moved = [row.locator("td.number").first.inner_text() for row in rows["transfers"].all()]
    assert moved == [money(entry["amount_cents"]) for entry in answer["transfers"]]
    assert page.locator(".events li").count() == len(answer["events"])
    assert "Box 1 declared 8♦ 7♦ 6♦ 5♦ 4♦: straight flush." in page.locator(".events").inner_text()
    assert page.locator("section[aria-labelledby=declarations] .card").count() == 10


def test_an_open_round_page_follows_play_and_corrects_a_hand(staged_site, open_page, expected_errors):
    dealer = staged_site.dealer("t2")
    number = dealer.open(1)
    page = open_page("supervisor", f"/rounds/t2/{number}")
    wagers = page.locator("section[aria-labelledby=wagers] tbody tr")
    assert wagers.count() == 1
    dealer.wager(2)
    wagers.nth(1).wait_for()
    assert page.get_by_role("button", name="Void boxes").is_visible()
    dealer.command("close_wagers", round=number)
    dealer.command("declare", round=number, box=1, cards=ROYAL)
    dealer.command("settle", round=number)
    page.get_by_role("button", name="Correct hands").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("The ace is of hearts")
    expected_errors.add("422")
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    page.get_by_role("dialog").get_by_text("Name at least one hand to correct.").wait_for()
    page.get_by_role("dialog").get_by_label("Box 1").fill(" ".join(ALMOST_ROYAL))
    submit_dialog(page)
    page.locator("section[aria-label=Summary] .tag", has_text="Played").wait_for()
    assert "Corrected" in page.locator("section[aria-labelledby=payouts]").inner_text()
    assert staged_site.get(f"rounds/t2/{number}")["payouts"][0]["status"] == "corrected"


def test_boxes_and_whole_rounds_are_voided_from_the_round_page(staged_site, open_page):
    number = staged_site.dealer("t2").open(1, 2, 3)
    page = open_page("supervisor", f"/rounds/t2/{number}")
    page.get_by_role("button", name="Void boxes").click()
    submit_dialog(page, Boxes="1, 3", Reason="Two exposed cards")
    wait_for(page, "document.querySelectorAll('section[aria-labelledby=wagers] .tag.bad').length === 2")
    page.get_by_role("button", name="Void the round").click()
    submit_dialog(page, Reason="Misdeal")
    page.locator("section[aria-label=Summary] .tag", has_text="Void").wait_for()
    assert staged_site.get(f"rounds/t2/{number}")["outcome"] == "void"


def test_the_list_of_rounds_is_paged(staged_site, open_page):
    dealer = staged_site.dealer("t5")
    for _ in range(51):
        dealer.open()
        dealer.command("void_round", round=dealer.number, reason="practice")
    page = open_page("auditor", "/rounds?table=t5&outcome=void")
    assert page.locator("tbody tr").count() == 50
    page.get_by_role("link", name="Older").click()
    page.get_by_role("link", name="Newest").wait_for()
    assert page.locator("tbody th").all_inner_texts() == ["t5 · 1"]


# The floor.


def test_an_open_floor_page_follows_linked_and_unlinked_tables(staged_site, open_page):
    page = open_page("supervisor", "/")
    assert [card.get_attribute("id") for card in page.locator(".table-card").all()] == [
        f"table-t{n}" for n in range(1, 6)
    ]
    page.locator("#stopped-t4").get_by_role("button", name="Resume").click()
    page.get_by_label("Note").fill("half a sent")
    assert staged_site.site.act("tables", {"table": "t9", "boxes": 3})[0] == 200
    page.locator("#table-t9").wait_for()
    dealer = staged_site.dealer("t9")
    dealer.open(2)
    page.locator("#table-t9 .box.lit[data-box='2']").wait_for()
    dealer.command("void_round", round=dealer.number, reason="a test")
    assert staged_site.site.act("tables/t9/unlink", {"reason": "a test"})[0] == 200
    page.locator("[data-live='card:t9']").wait_for(state="detached")
    assert page.locator("#tables > *").count() == 5
    assert page.get_by_label("Note").input_value() == "half a sent", "a refresh must not discard input"


def test_a_refresh_never_shows_older_state_than_the_feed(staged_site, open_page):
    page, dealer = open_page("auditor", "/"), staged_site.dealer("t1")

    def answer(route):
        """Answer with the page as it was before the round was opened."""
        before = route.fetch()
        dealer.open(3)
        page.locator(f"#table-t1 a:text-is('Round {dealer.number}')").wait_for()
        page.locator("#table-t1 .box.lit[data-box='3']").wait_for()
        route.fulfill(response=before)

    page.route(f"{staged_site.address}/", answer, times=1)
    assert staged_site.site.act("tables", {"table": "t8"})[0] == 200
    page.locator("#table-t8").wait_for()
    assert page.locator("#table-t1 .round-number").inner_text() == f"Round {dealer.number}"
    assert page.locator("#table-t1 .box.lit").get_attribute("data-box") == "3"
    dealer.command("void_round", round=dealer.number, reason="a test")
    assert staged_site.site.act("tables/t8/unlink", {"reason": "a test"})[0] == 200


# One table.


def test_an_open_table_page_follows_unlinking_and_linking(staged_site, open_page):
    page = open_page("manager1", "/tables/t5")
    assert page.locator("section.stand-in").is_visible()
    assert staged_site.site.act("tables/t5/unlink", {"reason": "a test"})[0] == 200
    page.get_by_text("no longer linked").wait_for()
    assert page.locator("#table-t5, section.stand-in").count() == 0
    page = open_page("manager1", "/tables/t5")
    assert staged_site.site.act("tables", {"table": "t5"})[0] == 200
    page.locator("#table-t5").wait_for()
    assert page.locator("section.stand-in").is_visible()
    assert page.locator("#unlinked").count() == 0


def test_a_supervisor_stands_in_for_a_failed_terminal(staged_site, open_page):
    number = staged_site.dealer("t3").open(2, 5)
    page = open_page("supervisor", "/tables/t3")
    stand_in = page.locator("section.stand-in")
    stand_in.get_by_role("button", name="Close wagers").click()
    submit_dialog(page)
    row = stand_in.locator("tbody tr").filter(has_text="5")
    row.get_by_role("button", name="Fold").click()
    submit_dialog(page, Reason="The player folded")
    row.get_by_text("Folded").wait_for()
    stand_in.locator("tbody tr").first.get_by_role("button", name="Declare").click()
    assert page.get_by_role("dialog").get_by_label("Box").input_value() == "2"
    submit_dialog(page, Cards=" ".join(ROYAL))
    stand_in.locator(".card").first.wait_for()
    stand_in.get_by_role("button", name="Settle").click()
    submit_dialog(page)
    stand_in.get_by_role("link", name="Review").click()
    page.get_by_role("button", name="Confirm").click()
    submit_dialog(page)
    page.locator("section[aria-label=Summary] .tag", has_text="Played").wait_for()
    acts = [event for event in staged_site.get(f"rounds/t3/{number}")["events"] if event["actor"] == "supervisor"]
    types = ["wagers_closed", "hand_folded", "hand_declared", "round_settled", "payouts_confirmed"]
    assert [event["type"] for event in acts] == types


def test_a_manager_sets_the_mode_unlinks_a_table_and_links_it_again(staged_site, open_page):
    page = open_page("manager1", "/tables/t3")
    page.get_by_role("button", name="Tournament mode").click()
    page.get_by_role("dialog").get_by_label("Tournament").check()
    submit_dialog(page)
    page.locator("#mode").get_by_text("Tournament", exact=True).wait_for()
    page.get_by_role("button", name="Unlink").click()
    submit_dialog(page, Reason="To the workshop")
    page.get_by_text("no longer linked").wait_for()
    page.get_by_role("link", name="Link it again").click()
    page.locator("#table-form").get_by_label("Table").fill("t3")
    page.locator("#table-form").get_by_role("button", name="Link").click()
    page.wait_for_url(f"{staged_site.address}/")
    assert "t3" in [row["table"] for row in staged_site.get("tables")]


# The audit trail.


def test_the_trail_is_searched_by_type_actor_table_and_time(staged_site, open_page):
    page = open_page("auditor", "/audit")
    page.get_by_label("Type").select_option("Round corrected")
    page.locator("[name=table]").select_option("t2")
    page.get_by_label("Who").fill("manager1")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**type=round_corrected**")
    rows = page.locator(".trail tbody tr")
    (answer,) = staged_site.get("audit?type=round_corrected&table=t2&actor=manager1")["rows"]
    assert rows.count() == 1
    assert "box 1 is A♥ K♠ Q♠ J♠ 10♠" in rows.inner_text()
    assert not page.get_by_text(answer["hash"]).is_visible()
    rows.locator("summary").press("Enter")
    assert page.get_by_text(answer["hash"]).is_visible()
    shown = json.loads(rows.locator("pre").inner_text())
    assert shown == json.loads(answer["data"])

    clocks = rows.locator("time").inner_text().replace(" ", "T")
    page.goto(f"{staged_site.address}/audit?until={clocks}&type=round_corrected")
    page.get_by_text("No events match.").wait_for()
    page.goto(f"{staged_site.address}/audit?since={clocks}&type=round_corrected")
    assert str(answer["seq"]) in rows.locator("th").all_inner_texts()
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Chain").select_option("site")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("supervisor added as supervisor").wait_for()


def test_an_invalid_time_is_reported_on_the_page(staged_site, new_page, expected_errors):
    expected_errors.add("422")
    page = new_page()
    page.context.add_cookies([staged_site.cookie("auditor")])
    assert page.goto(f"{staged_site.address}/audit?since=yesterday").status == 422
    assert "'yesterday' is not a time" in page.get_by_role("alert").filter(visible=True).inner_text()


@pytest.mark.parametrize("moment", ["since=0001-01-01T00:00:00%2B14:00", "until=9999-12-31T23:59:59-12:00"])
def test_a_time_outside_the_calendar_is_reported_on_the_page(staged_site, new_page, expected_errors, moment):
    expected_errors.add("422")
    page = new_page()
    page.context.add_cookies([staged_site.cookie("auditor")])
    assert page.goto(f"{staged_site.address}/audit?{moment}").status == 422
    assert "is not a time" in page.get_by_role("alert").filter(visible=True).inner_text()


def test_the_trail_is_paged_back_to_its_first_event(staged_site, open_page):
    page = open_page("auditor", "/audit")
    seen = []
    while True:
        seen += [int(text) for text in page.locator(".trail tbody th").all_inner_texts()]
        older = page.get_by_role("link", name="Older")
        if not older.count():
            break
        older.click()
        page.wait_for_url(f"**before={seen[-1]}**")
    assert seen == list(range(seen[0], 0, -1))


def test_the_trail_is_verified_while_the_floor_plays(staged_site, open_page):
    page = open_page("auditor", "/audit")
    page.get_by_role("button", name="Verify now").press("Enter")
    staged_site.dealer("t1").play({1: FLUSH})
    page.get_by_text("No errors: every chain is unchanged since it was written.").wait_for()
    for row in page.locator("#verified tbody tr").all():
        assert "No errors" in row.inner_text()
    page.reload()
    assert page.locator("#verified").get_by_text("No errors").count() == 2


def test_errors_in_the_trail_are_shown_and_a_running_verification_is_waited_for(open_page, expected_errors):
    expected_errors.add("409")
    page = open_page("auditor", "/audit")
    busy = {"code": "verification_running", "status": 409, "detail": "a verification is running"}
    wrong = {"chain": "main", "events": 7, "head": "", "checkpoints": 1, "wrong_seq": 7, "problem": "the hash is wrong"}
    responses = [
        (409, busy),
        (200, {"at": "", "ok": False, "chains": [wrong]}),
        (200, {"at": "", "ok": True, "chains": [wrong]}),
    ]

    def fulfil(route):
        status, body = responses.pop(0)
        route.fulfill(status=status, json=body)

    page.route("**/api/v1/audit/verify*", fulfil)
    page.get_by_role("button", name="Verify now").click()
    page.get_by_text("Another verification is running. This one starts after it.").wait_for()
    page.get_by_text("Wrong from event 7: the hash is wrong").wait_for()
    page.get_by_text("Errors found in 1 of 2 chains.").wait_for()


# Reports.


def test_the_report_ties_and_matches_the_api(staged_site, open_page):
    page = open_page("auditor", "/reports")
    rows = staged_site.get("reports/daily")
    assert all(row["ties"] for row in rows)
    lines = page.locator("table.report tbody tr")
    for name, label in [("contribution_cents", "Contributions"), ("prize_cents", "Prizes"), ("void_cents", "Voids")]:
        answer = lines.filter(has=page.get_by_text(re.compile(f"^{label}"))).locator("td").all_inner_texts()
        assert answer[:2] == [signed_money(row[name]) for row in rows], label
    closing = lines.filter(has_text="Closing").locator("td").all_inner_texts()
    assert closing[:2] == [money(row["closing_cents"]) for row in rows]
    assert closing[0] == money(staged_site.get("jackpots")[0]["meter_cents"])
    assert "Ties to the cent" in page.locator("tfoot").inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text() == staged_site.get("reports/daily?format=csv")


def test_another_day_can_be_chosen_and_an_invalid_day_is_reported(staged_site, open_page, new_page, expected_errors):
    page = open_page("auditor", "/reports?day=2020-02-29")
    assert page.get_by_label("Day", exact=True).input_value() == "2020-02-29"
    assert page.locator("tbody tr").first.locator("td").all_inner_texts() == ["$0.00"] * 3
    page.get_by_role("link", name="2020-03-01").click()
    page.wait_for_url("**day=2020-03-01")
    expected_errors.add("422")
    for wrong in ("soon", "2026-1-5", "20260105"):
        page.goto(f"{staged_site.address}/reports?day={wrong}")
        page.get_by_text(f"'{wrong}' is not a day: write 2026-11-15.").wait_for()


# Changes by two managers.


def test_a_configuration_needs_two_managers(staged_site, open_page, expected_errors):
    first, second = open_page("manager1", "/changes"), open_page("manager2", "/changes")
    form = first.locator("#config-form")
    form.get_by_label("Wager, dollars").fill("5")
    form.get_by_label("To the jackpot pool, %").fill("97.5")
    assert form.locator("[data-figure=break_even]").inner_text() != ""
    form.get_by_text("The reserve would lose").wait_for()
    assert form.get_by_label("To the reserve pool, %").input_value() == "2.5"
    answer = staged_site.get("odds?wager_cents=500&jackpot_bps=9750")
    assert form.locator("[data-figure=break_even]").inner_text() == money(answer["break_even_meter_cents"])
    form.get_by_label("Reason").fill("Busy Fridays")
    form.get_by_role("button", name="Propose").click()

    proposed = first.locator("article.proposed", has_text="Busy Fridays")
    proposed.get_by_text("another manager must approve it").wait_for()
    assert proposed.get_by_role("button", name="Approve").count() == 0
    assert "97.5%" in proposed.inner_text()
    assert "Warning" in proposed.inner_text()
    (proposal,) = staged_site.get("configs")["proposals"]
    expected_errors.add("403")
    assert act_from_page(first, f"/api/v1/configs/main/{proposal['number']}/approve", {}) == [403, "same_person"]

    form.get_by_label("Reason").fill("The next proposal")
    theirs = second.locator("article.proposed", has_text="Busy Fridays")  # without a reload
    theirs.get_by_role("button", name="Approve").click()
    submit_dialog(second)
    theirs.wait_for(state="detached")
    first.locator("#config > dl").get_by_text("$5.00").wait_for()
    assert form.get_by_label("Reason").input_value() == "The next proposal", "a refresh must not discard input"
    approved = staged_site.get("configs")
    newest = approved["versions"][-1]
    assert (newest["version"], newest["jackpot_bps"]) == (approved["in_force"], 9750)


def test_a_change_made_and_approved_between_two_renders_is_shown(staged_site, open_page):
    page = open_page("auditor", "/changes")
    page.get_by_text("Live").first.wait_for()
    before = staged_site.get("configs")["versions"][-1]["reset_cents"]
    proposed = staged_site.site.act("configs", {"reset_cents": before + 4_200, "reason": "between two renders"})[1]
    assert staged_site.site.act(f"configs/main/{proposed['proposal']}/approve", token=1)[0] == 200
    page.locator("#config > dl").get_by_text(money(before + 4_200)).wait_for()


def test_an_adjustment_is_proposed_in_dollars_approved_and_another_withdrawn(staged_site, open_page):
    first, second = open_page("manager1", "/changes"), open_page("manager2", "/changes")
    before = staged_site.get("jackpots")[0]["meter_cents"]
    for amount, reason in (("1,234.56", "A promotion"), ("1", "A mistake")):
        form = first.locator("#adjustment-form")
        form.get_by_label("Amount, dollars").fill(amount)
        form.get_by_label("Reason").fill(reason)
        form.get_by_role("button", name="Propose").click()
        first.locator("article.proposed", has_text=reason).wait_for()
    second.locator("article.proposed", has_text="A promotion").get_by_role("button", name="Approve").click()
    submit_dialog(second)
    mistake = second.locator("article.proposed", has_text="A mistake")
    mistake.get_by_role("button", name="Withdraw").click()
    submit_dialog(second, Reason="Typed wrongly")
    mistake.wait_for(state="detached")
    assert staged_site.get("jackpots")[0]["meter_cents"] == before + 123_456
    second.locator("#adjusted").get_by_text("$1,234.56").wait_for()
    (withdrawn,) = staged_site.get("audit?type=proposal_withdrawn")["rows"]
    assert sentence(AuditEvent(**withdrawn)).endswith("withdrawn: Typed wrongly.")


def test_a_form_shows_problems_and_a_lost_connection(open_page, expected_errors):
    page = open_page("manager1", "/changes")
    form = page.locator("#adjustment-form")
    form.get_by_label("Amount, dollars").fill("a lot")
    form.get_by_label("Reason").fill("x")
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("A lot is not an amount: write it like 12.34.").wait_for()
    form.get_by_label("Amount, dollars").fill("99999999")
    form.get_by_label("From").select_option("Jackpot pool")
    form.locator("[name=target]").select_option("House")
    expected_errors |= {"409", "ERR_INTERNET_DISCONNECTED"}
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("The account jackpot holds").wait_for()
    page.context.set_offline(True)
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("The controller cannot be reached.").wait_for()


def test_a_form_sent_again_after_an_unknown_outcome_acts_once(staged_site, open_page, expected_errors):
    expected_errors.add("ERR_FAILED")
    page = open_page("manager2", "/changes")
    form = page.locator("#adjustment-form")
    form.get_by_label("Amount, dollars").fill("7")
    form.get_by_label("Reason").fill("Sent twice")

    def lose_the_answer(route):
        route.fetch()
        route.abort()

    page.route("**/api/v1/adjustments", lose_the_answer)
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("it will be done only once").wait_for()
    page.unroute("**/api/v1/adjustments")
    form.get_by_role("button", name="Propose").click()
    page.get_by_text("Done: adjustment proposed.").wait_for()
    waiting = staged_site.get("adjustments")["proposals"]
    assert [answer["body"]["amount_cents"] for answer in waiting if answer["reason"] == "Sent twice"] == [700]


# Operators.


def test_an_operator_is_added_renewed_and_revoked(staged_site, open_page):
    page = open_page("manager1", "/operators")
    page.get_by_role("button", name="Add an auditor or a supervisor").click()
    page.get_by_role("dialog").get_by_label("Name").fill("sasha")
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token = page.get_by_role("dialog").get_by_label("Token", exact=True)
    token.wait_for()
    staged_site.tokens["sasha"] = token.input_value()
    assert staged_site.get("session", "sasha")["role"] == "supervisor"
    close_token(page)
    row = page.locator("tbody tr", has_text="sasha")
    row.get_by_role("button", name="Renew").click()
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token.wait_for()
    assert token.input_value() != staged_site.tokens["sasha"]
    close_token(page)
    row.get_by_role("button", name="Revoke").click()
    submit_dialog(page, Reason="Left")
    row.get_by_text("Revoked").wait_for()


def test_adding_a_manager_needs_two_managers(staged_site, open_page, expected_errors):
    first = open_page("manager1", "/operators")
    first.get_by_role("button", name="Propose a manager").click()
    submit_dialog(first, Name="mia")
    halves = [copy_half(first)]
    first.locator("article.proposed", has_text="mia").get_by_text("another manager must approve it").wait_for()
    expected_errors.add("403")
    assert act_from_page(first, "/api/v1/operators/mia/approve", {}) == [403, "same_person"]
    second = open_page("manager2", "/operators")
    second.locator("article.proposed", has_text="mia").get_by_role("button", name="Approve").click()
    second.get_by_role("dialog").get_by_role("button", name="Do it").click()
    halves.append(copy_half(second))
    staged_site.tokens["mia"] = ".".join(halves)
    assert staged_site.get("session", "mia")["role"] == "manager"


def close_token(page):
    """Close the dialog with the token and wait until the page has reloaded."""
    with page.expect_navigation():
        page.get_by_role("button", name="I have copied it").click()


def copy_half(page):
    """Return the half of a token that the dialog shows, and close it."""
    half = page.get_by_role("dialog").get_by_label("Half of a token")
    half.wait_for()
    answer = half.input_value()
    close_token(page)
    return answer


def test_operators_renew_their_own_token_and_sign_in_again(staged_site, open_page):
    staged_site.add("ari", "auditor")
    page = open_page("ari", "/operators")
    page.get_by_role("button", name="Renew your token").click()
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token = page.get_by_role("dialog").get_by_label("Token", exact=True)
    token.wait_for()
    renewed = token.input_value()
    close_token(page)
    page.wait_for_url("**/sign-in?ended=1**")
    page.get_by_label("Token").fill(renewed)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{staged_site.address}/operators")


def session_end_noticed(page):
    """Wait, at the end of this block, until the page has noticed that its session has ended."""
    return page.expect_response(lambda response: "/sign-in?" in response.url, timeout=1_000 * LIMIT_SECONDS)


@contextmanager
def held_back(page, path):
    """Send requests to a path at once, but hold back their answers until the end of this block."""
    held = []
    page.route(f"**{path}", lambda route: held.append((route, route.fetch())))
    yield
    for route, answer in held:
        route.fulfill(response=answer)


def test_a_new_token_stays_on_screen_after_the_session_has_ended(staged_site, open_page, expected_errors):
    """The page notices the end of its session before it has the token, and again while it shows the token."""
    expected_errors.add("401")
    staged_site.add("ann", "auditor")
    page = open_page("ann", "/operators")
    page.get_by_role("button", name="Renew your token").click()
    with held_back(page, "/renew"), session_end_noticed(page):
        page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token = page.get_by_role("dialog").get_by_label("Token", exact=True)
    with session_end_noticed(page):
        assert len(token.input_value()) > 40
    assert len(token.input_value()) > 40
    close_token(page)
    page.wait_for_url("**/sign-in?ended=1**")


def test_signing_out_does_not_show_that_the_session_has_ended(staged_site, open_page, expected_errors):
    """Even if the page notices the end of the session before the answer to signing out."""
    expected_errors.add("401")
    staged_site.add("una", "auditor")
    page = open_page("una", "/wins")
    with held_back(page, "/api/v1/session"), session_end_noticed(page):
        page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")


def test_a_page_navigates_only_once(staged_site, open_page):
    page = open_page("auditor", "/")
    requests = []
    page.on("request", lambda request: requests.append(request.url) if request.is_navigation_request() else None)
    page.evaluate("""async () => {
        const { navigate, reloadSignedOut } = await import("/static/navigation.js");
        navigate("/wins"); reloadSignedOut(); navigate("/devices"); navigate();
    }""")
    page.wait_for_url("**/wins")
    assert requests == [f"{staged_site.address}/wins"]


# Before a page's scripts have loaded.


@contextmanager
def blocked_script(page, name):
    """Hold back a script of the page until the end of this block."""
    requests = []
    page.route(f"**/static/{name}", lambda route: requests.append(route.request))
    yield
    wait_until(lambda: page.wait_for_timeout(20) or requests, "a request for the script")
    page.unroute(f"**/static/{name}")  # lets it load


def test_buttons_cannot_be_pressed_before_the_scripts_have_loaded(staged_site, open_page):
    page = open_page("manager1", "/")
    with blocked_script(page, "console.js"):
        page.goto(f"{staged_site.address}/operators", wait_until="commit")
        button = page.get_by_role("button", name="Add an auditor or a supervisor")
        with pytest.raises(TimeoutError, match="intercepts pointer events"):
            button.click(timeout=3_000)
    button.click()
    page.get_by_role("dialog").get_by_label("Name").wait_for()


def test_a_form_sent_before_its_script_has_loaded_keeps_its_input(staged_site, open_page):
    page = open_page("manager1", "/")
    with blocked_script(page, "console.js"):
        page.goto(f"{staged_site.address}/changes", wait_until="commit")
        table = page.locator("#table-form").get_by_label("Table")
        table.fill("t9")
        table.press("Enter")
    wait_for(page, "'ready' in document.body.dataset")
    assert page.url == f"{staged_site.address}/changes"
    assert table.input_value() == "t9"


def test_a_token_never_appears_in_an_address(staged_site, new_page):
    page = new_page(viewport=WIDE)
    with blocked_script(page, "sign_in.js"):
        page.goto(f"{staged_site.address}/sign-in", wait_until="commit")
        page.get_by_label("Token").fill(staged_site.tokens["auditor"])
        page.keyboard.press("Enter")
    wait_for(page, "'ready' in document.body.dataset")
    assert page.url == f"{staged_site.address}/sign-in"
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{staged_site.address}/")


# Requests and sentences.


def test_refreshes_of_a_page_do_not_keep_its_session_alive(staged_site, open_page):
    page = open_page("supervisor", "/wins")
    requests = []
    page.on("request", lambda request: requests.append(request) if request.url.endswith("/wins") else None)
    staged_site.dealer("t1").play({3: FLUSH})
    wait_until(lambda: page.wait_for_timeout(20) or requests, "a refresh of the page")
    assert all(request.headers.get("x-unattended") == "1" for request in requests)


def test_every_event_has_a_sentence(staged_site):
    assert set(_SENTENCES) == {*EventType, *SiteEventType}
    answer = {}
    for chain in ("main", "site"):
        for row in staged_site.get(f"audit?chain={chain}&limit=1000")["rows"]:
            answer[row["type"]] = sentence(AuditEvent(**row))
    by_name = {kind: text for kind, text in answer.items() if text == f"{event_name(kind)}."}
    assert by_name == {}, "these events have no sentence of their own"
    assert len(answer) >= 20
    unknown = AuditEvent(
        chain="main", seq=1, at="", actor="pad", type="wager_accepted", table_id=None, round=None, data="{}",
        transfers="[]", hash="",
    )  # fmt: skip
    assert sentence(unknown) == "Wager accepted."


@pytest.mark.parametrize("width", [820, 1024, 1180, 1280, 1440])
def test_the_operator_is_at_the_right_of_the_first_row_at_every_width(width, open_page):
    page = open_page("supervisor", "/", {"width": width, "height": 820})
    out = page.get_by_role("button", name="Sign out").bounding_box()
    brand = page.locator(".brand").bounding_box()
    assert out["x"] + out["width"] > width - 40
    assert out["y"] < brand["y"] + brand["height"]
