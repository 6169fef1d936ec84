"""The console's pages in a real browser, against a running daemon: wins, rounds, tables, audit, reports, changes."""

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
from tests.support.browser import serious_findings, wait_for
from tests.support.daemon import Client, Site, wait_until
from tests.support.staged_site import FLUSH, NEARLY, ROYAL, Staged, set_the_stage

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
"""Every page, and something that it must show."""
ACTS = "button[data-act]:visible, form[data-act]:visible"
WIDE, TABLET = {"width": 1280, "height": 900}, {"width": 820, "height": 1180}


@pytest.fixture(scope="module")
def staged(mosquitto_port, tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged")
    site = Site(folder, f"mqtt://127.0.0.1:{mosquitto_port}", tables=5, timezone="Australia/Canberra")
    client = Client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    try:
        stage = Staged(site, client)
        set_the_stage(stage)
        yield stage
    finally:
        client.close()
        site.kill()


@pytest.fixture
def look(staged, new_page):
    """Opens pages as an operator."""

    def opened(name, path, viewport=WIDE):
        page = new_page(viewport=viewport)
        page.context.add_cookies([staged.state(name)])
        answer = page.goto(f"{staged.address}{path}")
        assert answer.status == 200, answer.text()
        return page

    return opened


def answer_of(page, path, body):
    """What the API answers to a page that acts past its buttons."""
    return page.evaluate(
        """async ([path, body]) => {
            const { act } = await import("/static/acts.js");
            try { return await act(path, null, "POST", undefined, body); }
            catch (problem) { return [problem.status, problem.code]; }
        }""",
        [path, body],
    )


def do_it(page, **fields):
    """Fill the dialog in, and do it by the keyboard."""
    for label, value in fields.items():
        page.get_by_role("dialog").get_by_label(label.replace("_", " ")).fill(value)
    page.get_by_role("dialog").get_by_role("button", name="Do it").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Do it").wait_for(state="detached")


# Every page, for every role.


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_its_content_accessibly_and_fits_a_tablet(path, look):
    page = look("manager1", path, TABLET)
    assert PAGES[path] in page.locator("main").inner_text()
    assert page.locator("h1").count() == 1
    assert serious_findings(page) == {}
    assert page.evaluate("document.documentElement.scrollWidth") == TABLET["width"]


@pytest.mark.parametrize("role", ["auditor", "supervisor"])
def test_pages_are_for_every_role_and_acts_for_those_who_may(role, staged, look):
    page = look(role, "/")
    for path, content in PAGES.items():
        page.goto(f"{staged.address}{path}")
        assert content in page.locator("main").inner_text(), path
        titles = {button.get_attribute("data-title") for button in page.locator(ACTS).all()}
        allowed = {"/operators": {"Renew your own token"}}.get(path, set())
        if role == "supervisor":
            allowed |= {"/tables/t4": {"Resume table t4"}}.get(path, set())
        assert titles == allowed, path


def test_an_auditor_is_refused_whatever_the_page_sends(staged, look, forgiven):
    forgiven.add("403")
    page = look("auditor", "/wins")
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
        assert answer_of(page, path, body) == [403, "forbidden"], path
    assert staged.get("tables")[3]["suspended"] == "dealer_report"


# Wins.


def test_a_win_comes_by_itself_and_is_confirmed_with_the_keyboard(staged, look):
    page = look("supervisor", "/wins")
    page.get_by_text("No win awaits confirmation.").wait_for()
    number = staged.dealer("t1").play({2: ROYAL})
    pending = page.locator("article.win")
    pending.wait_for()
    assert pending.locator(".card").all_inner_texts() == ["A♠", "K♠", "Q♠", "J♠", "10♠"]
    row = page.locator("#wins tbody tr").first
    row.get_by_text("Awaiting confirmation").wait_for()
    (win,) = staged.get("wins?status=pending")["rows"]
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
    (confirmed,) = staged.get("audit?type=payouts_confirmed&table=t1&limit=1&actor=supervisor")["rows"]
    assert confirmed["round"] == number


def test_wins_are_found_by_status_and_table(look):
    page = look("auditor", "/wins")
    page.get_by_label("Status").select_option("Corrected")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**status=corrected**")
    assert page.locator("#wins tbody tr").count() == 1
    assert "Royal flush" in page.locator("#wins tbody tr").inner_text()
    page.get_by_label("Table").select_option("t3")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("No prize fits this.").wait_for()


# Rounds.


def test_a_round_is_told_down_to_each_cent(staged, look):
    told = staged.get("rounds/t1/2")
    page = look("auditor", "/rounds/t1/2")
    rows = {name: page.locator(f"section[aria-labelledby={name}] tbody tr") for name in ("wagers", "transfers")}
    assert rows["wagers"].count() == len(told["wagers"]) == 3
    moved = [row.locator("td.number").first.inner_text() for row in rows["transfers"].all()]
    assert moved == [money(entry["amount_cents"]) for entry in told["transfers"]]
    assert page.locator(".events li").count() == len(told["events"])
    assert "Box 1 declared 8♦ 7♦ 6♦ 5♦ 4♦: straight flush." in page.locator(".events").inner_text()
    assert page.locator("section[aria-labelledby=declarations] .card").count() == 10


def test_a_round_that_is_looked_at_follows_the_play_and_is_corrected(staged, look, forgiven):
    dealer = staged.dealer("t2")
    number = dealer.open(1)
    page = look("supervisor", f"/rounds/t2/{number}")
    wagers = page.locator("section[aria-labelledby=wagers] tbody tr")
    assert wagers.count() == 1
    dealer.wager(2)
    wagers.nth(1).wait_for()
    assert page.get_by_role("button", name="Void boxes").is_visible()
    dealer.ask("close_wagers", round=number)
    dealer.ask("declare", round=number, box=1, cards=ROYAL)
    dealer.ask("settle", round=number)
    page.get_by_role("button", name="Correct hands").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("The ace is of hearts")
    forgiven.add("422")
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    page.get_by_role("dialog").get_by_text("Name at least one hand to correct.").wait_for()
    page.get_by_role("dialog").get_by_label("Box 1").fill(" ".join(NEARLY))
    do_it(page)
    page.locator("section[aria-label=Summary] .tag", has_text="Played").wait_for()
    assert "Corrected" in page.locator("section[aria-labelledby=payouts]").inner_text()
    assert staged.get(f"rounds/t2/{number}")["payouts"][0]["status"] == "corrected"


def test_boxes_and_whole_rounds_are_voided_from_the_rounds_page(staged, look):
    number = staged.dealer("t2").open(1, 2, 3)
    page = look("supervisor", f"/rounds/t2/{number}")
    page.get_by_role("button", name="Void boxes").click()
    do_it(page, Boxes="1, 3", Reason="Two exposed cards")
    wait_for(page, "document.querySelectorAll('section[aria-labelledby=wagers] .tag.bad').length === 2")
    page.get_by_role("button", name="Void the round").click()
    do_it(page, Reason="Misdeal")
    page.locator("section[aria-label=Summary] .tag", has_text="Void").wait_for()
    assert staged.get(f"rounds/t2/{number}")["outcome"] == "void"


def test_rounds_are_paged_by_key(staged, look):
    dealer = staged.dealer("t5")
    for _ in range(51):
        dealer.open()
        dealer.ask("void_round", round=dealer.number, reason="practice")
    page = look("auditor", "/rounds?table=t5&outcome=void")
    assert page.locator("tbody tr").count() == 50
    page.get_by_role("link", name="Older").click()
    page.get_by_role("link", name="Newest").wait_for()
    assert page.locator("tbody th").all_inner_texts() == ["t5 · 1"]


# The floor.


def test_an_open_floor_follows_tables_that_are_linked_and_unlinked(staged, look):
    page = look("supervisor", "/")
    assert [card.get_attribute("id") for card in page.locator(".table-card").all()] == [
        f"table-t{n}" for n in range(1, 6)
    ]
    page.locator("#stopped-t4").get_by_role("button", name="Resume").click()
    page.get_by_label("Note").fill("half a sent")
    assert staged.site.act("tables", {"table": "t9", "boxes": 3})[0] == 200
    page.locator("#table-t9").wait_for()
    dealer = staged.dealer("t9")
    dealer.open(2)
    page.locator("#table-t9 .box.lit[data-box='2']").wait_for()
    dealer.ask("void_round", round=dealer.number, reason="a test")
    assert staged.site.act("tables/t9/unlink", {"reason": "a test"})[0] == 200
    page.locator("[data-live='card:t9']").wait_for(state="detached")
    assert page.locator("#tables > *").count() == 5
    assert page.get_by_label("Note").input_value() == "half a sent", "nobody loses what they are writing"


def test_what_a_page_catches_up_with_is_never_older_than_what_it_was_told(staged, look):
    page, dealer = look("auditor", "/"), staged.dealer("t1")

    def answer(route):
        """The page as it was before a round was opened, when the round is open."""
        before = route.fetch()
        dealer.open(3)
        page.locator(f"#table-t1 a:text-is('Round {dealer.number}')").wait_for()
        page.locator("#table-t1 .box.lit[data-box='3']").wait_for()
        route.fulfill(response=before)

    page.route(f"{staged.address}/", answer, times=1)
    assert staged.site.act("tables", {"table": "t8"})[0] == 200
    page.locator("#table-t8").wait_for()
    assert page.locator("#table-t1 .round-number").inner_text() == f"Round {dealer.number}"
    assert page.locator("#table-t1 .box.lit").get_attribute("data-box") == "3"
    dealer.ask("void_round", round=dealer.number, reason="a test")
    assert staged.site.act("tables/t8/unlink", {"reason": "a test"})[0] == 200


# One table.


def test_an_open_page_of_a_table_follows_that_it_is_unlinked_and_linked_again(staged, look):
    page = look("manager1", "/tables/t5")
    assert page.locator("section.stand-in").is_visible()
    assert staged.site.act("tables/t5/unlink", {"reason": "a test"})[0] == 200
    page.get_by_text("is linked to it no more").wait_for()
    assert page.locator("#table-t5, section.stand-in").count() == 0
    page = look("manager1", "/tables/t5")
    assert staged.site.act("tables", {"table": "t5"})[0] == 200
    page.locator("#table-t5").wait_for()
    assert page.locator("section.stand-in").is_visible()
    assert page.locator("#unlinked").count() == 0


def test_a_supervisor_stands_in_for_a_dead_terminal(staged, look):
    number = staged.dealer("t3").open(2, 5)
    page = look("supervisor", "/tables/t3")
    stand_in = page.locator("section.stand-in")
    stand_in.get_by_role("button", name="Close wagers").click()
    do_it(page)
    row = stand_in.locator("tbody tr").filter(has_text="5")
    row.get_by_role("button", name="Fold").click()
    do_it(page, Reason="The player folded")
    row.get_by_text("Folded").wait_for()
    stand_in.locator("tbody tr").first.get_by_role("button", name="Declare").click()
    assert page.get_by_role("dialog").get_by_label("Box").input_value() == "2"
    do_it(page, Cards=" ".join(ROYAL))
    stand_in.locator(".card").first.wait_for()
    stand_in.get_by_role("button", name="Settle").click()
    do_it(page)
    stand_in.get_by_role("link", name="Look at it").click()
    page.get_by_role("button", name="Confirm").click()
    do_it(page)
    page.locator("section[aria-label=Summary] .tag", has_text="Played").wait_for()
    acts = [event for event in staged.get(f"rounds/t3/{number}")["events"] if event["actor"] == "supervisor"]
    types = ["wagers_closed", "hand_folded", "hand_declared", "round_settled", "payouts_confirmed"]
    assert [event["type"] for event in acts] == types


def test_a_manager_sets_the_mode_unlinks_a_table_and_links_it_again(staged, look):
    page = look("manager1", "/tables/t3")
    page.get_by_role("button", name="Tournament mode").click()
    page.get_by_role("dialog").get_by_label("Tournament").check()
    do_it(page)
    page.locator("#mode").get_by_text("Tournament", exact=True).wait_for()
    page.get_by_role("button", name="Unlink").click()
    do_it(page, Reason="To the workshop")
    page.get_by_text("is linked to it no more").wait_for()
    page.get_by_role("link", name="Link it again").click()
    page.locator("#table-form").get_by_label("Table").fill("t3")
    page.locator("#table-form").get_by_role("button", name="Link").click()
    page.wait_for_url(f"{staged.address}/")
    assert "t3" in [row["table"] for row in staged.get("tables")]


# The audit trail.


def test_the_trail_is_searched_by_type_actor_table_and_time(staged, look):
    page = look("auditor", "/audit")
    page.get_by_label("Type").select_option("Round corrected")
    page.locator("[name=table]").select_option("t2")
    page.get_by_label("Who").fill("manager1")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**type=round_corrected**")
    rows = page.locator(".trail tbody tr")
    (told,) = staged.get("audit?type=round_corrected&table=t2&actor=manager1")["rows"]
    assert rows.count() == 1
    assert "box 1 is A♥ K♠ Q♠ J♠ 10♠" in rows.inner_text()
    assert not page.get_by_text(told["hash"]).is_visible()
    rows.locator("summary").press("Enter")
    assert page.get_by_text(told["hash"]).is_visible()
    shown = json.loads(rows.locator("pre").inner_text())
    assert shown == json.loads(told["data"])

    clocks = rows.locator("time").inner_text().replace(" ", "T")
    page.goto(f"{staged.address}/audit?until={clocks}&type=round_corrected")
    page.get_by_text("No event fits this.").wait_for()
    page.goto(f"{staged.address}/audit?since={clocks}&type=round_corrected")
    assert str(told["seq"]) in rows.locator("th").all_inner_texts()
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Chain").select_option("site")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("supervisor added as supervisor").wait_for()


def test_a_wrong_moment_is_told_on_the_page(staged, new_page, forgiven):
    forgiven.add("422")
    page = new_page()
    page.context.add_cookies([staged.state("auditor")])
    assert page.goto(f"{staged.address}/audit?since=yesterday").status == 422
    assert "'yesterday' is not a moment" in page.get_by_role("alert").filter(visible=True).inner_text()


@pytest.mark.parametrize("moment", ["since=0001-01-01T00:00:00%2B14:00", "until=9999-12-31T23:59:59-12:00"])
def test_so_is_a_moment_beyond_the_calendar(staged, new_page, forgiven, moment):
    forgiven.add("422")
    page = new_page()
    page.context.add_cookies([staged.state("auditor")])
    assert page.goto(f"{staged.address}/audit?{moment}").status == 422
    assert "is not a moment" in page.get_by_role("alert").filter(visible=True).inner_text()


def test_the_trail_is_paged_to_its_beginning(staged, look):
    page = look("auditor", "/audit")
    seen = []
    while True:
        seen += [int(text) for text in page.locator(".trail tbody th").all_inner_texts()]
        older = page.get_by_role("link", name="Older")
        if not older.count():
            break
        older.click()
        page.wait_for_url(f"**before={seen[-1]}**")
    assert seen == list(range(seen[0], 0, -1))


def test_the_trail_is_verified_while_the_floor_plays(staged, look):
    page = look("auditor", "/audit")
    page.get_by_role("button", name="Verify now").press("Enter")
    staged.dealer("t1").play({1: FLUSH})
    page.get_by_text("Nothing is wrong: every chain is as it was written.").wait_for()
    for row in page.locator("#verified tbody tr").all():
        assert "Nothing wrong" in row.inner_text()
    page.reload()
    assert page.locator("#verified").get_by_text("Nothing wrong").count() == 2


def test_what_is_wrong_with_the_trail_is_told_and_a_busy_verification_waited_for(look, forgiven):
    forgiven.add("409")
    page = look("auditor", "/audit")
    busy = {"code": "verification_running", "status": 409, "detail": "a verification is running"}
    wrong = {"chain": "main", "events": 7, "head": "", "checkpoints": 1, "wrong_seq": 7, "problem": "the hash is wrong"}
    answers = [
        (409, busy),
        (200, {"at": "", "ok": False, "chains": [wrong]}),
        (200, {"at": "", "ok": True, "chains": [wrong]}),
    ]

    def fulfil(route):
        status, body = answers.pop(0)
        route.fulfill(status=status, json=body)

    page.route("**/api/v1/audit/verify*", fulfil)
    page.get_by_role("button", name="Verify now").click()
    page.get_by_text("Another verification is running. This one waits for it.").wait_for()
    page.get_by_text("Wrong from event 7: the hash is wrong").wait_for()
    page.get_by_text("1 of 2 chains are not as they were written.").wait_for()


# Reports.


def test_the_report_ties_and_is_the_apis(staged, look):
    page = look("auditor", "/reports")
    rows = staged.get("reports/daily")
    assert all(row["ties"] for row in rows)
    lines = page.locator("table.report tbody tr")
    for name, label in [("contribution_cents", "Contributions"), ("prize_cents", "Prizes"), ("void_cents", "Voids")]:
        told = lines.filter(has=page.get_by_text(re.compile(f"^{label}"))).locator("td").all_inner_texts()
        assert told[:2] == [signed_money(row[name]) for row in rows], label
    closing = lines.filter(has_text="Closing").locator("td").all_inner_texts()
    assert closing[:2] == [money(row["closing_cents"]) for row in rows]
    assert closing[0] == money(staged.get("jackpots")[0]["meter_cents"])
    assert "Ties to the cent" in page.locator("tfoot").inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text() == staged.get("reports/daily?format=csv")


def test_another_day_is_chosen_and_a_wrong_one_is_told(staged, look, new_page, forgiven):
    page = look("auditor", "/reports?day=2020-02-29")
    assert page.get_by_label("Day", exact=True).input_value() == "2020-02-29"
    assert page.locator("tbody tr").first.locator("td").all_inner_texts() == ["$0.00"] * 3
    page.get_by_role("link", name="2020-03-01").click()
    page.wait_for_url("**day=2020-03-01")
    forgiven.add("422")
    for wrong in ("soon", "2026-1-5", "20260105"):
        page.goto(f"{staged.address}/reports?day={wrong}")
        page.get_by_text(f"'{wrong}' is not a day: write 2026-11-15.").wait_for()


# Changes by two managers.


def test_a_configuration_takes_two_managers(staged, look, forgiven):
    first, second = look("manager1", "/changes"), look("manager2", "/changes")
    form = first.locator("#config-form")
    form.get_by_label("Wager, dollars").fill("5")
    form.get_by_label("To the jackpot pool, %").fill("97.5")
    assert form.locator("[data-figure=break_even]").inner_text() != ""
    form.get_by_text("The reserve would lose").wait_for()
    assert form.get_by_label("To the reserve pool, %").input_value() == "2.5"
    told = staged.get("odds?wager_cents=500&jackpot_bps=9750")
    assert form.locator("[data-figure=break_even]").inner_text() == money(told["break_even_meter_cents"])
    form.get_by_label("Reason").fill("Busy Fridays")
    form.get_by_role("button", name="Propose").click()

    proposed = first.locator("article.proposed", has_text="Busy Fridays")
    proposed.get_by_text("another manager must approve it").wait_for()
    assert proposed.get_by_role("button", name="Approve").count() == 0
    assert "97.5%" in proposed.inner_text()
    assert "Warning" in proposed.inner_text()
    (proposal,) = staged.get("configs")["proposals"]
    forgiven.add("403")
    assert answer_of(first, f"/api/v1/configs/main/{proposal['number']}/approve", {}) == [403, "same_person"]

    form.get_by_label("Reason").fill("The next wish")
    theirs = second.locator("article.proposed", has_text="Busy Fridays")  # by itself, without a reload
    theirs.get_by_role("button", name="Approve").click()
    do_it(second)
    theirs.wait_for(state="detached")
    first.locator("#config > dl").get_by_text("$5.00").wait_for()
    assert form.get_by_label("Reason").input_value() == "The next wish", "nobody loses what they are writing"
    approved = staged.get("configs")
    newest = approved["versions"][-1]
    assert (newest["version"], newest["jackpot_bps"]) == (approved["in_force"], 9750)


def test_a_change_that_two_managers_make_between_two_looks_is_seen(staged, look):
    page = look("auditor", "/changes")
    page.get_by_text("Live").first.wait_for()
    before = staged.get("configs")["versions"][-1]["reset_cents"]
    proposed = staged.site.act("configs", {"reset_cents": before + 4_200, "reason": "between two looks"})[1]
    assert staged.site.act(f"configs/main/{proposed['proposal']}/approve", token=1)[0] == 200
    page.locator("#config > dl").get_by_text(money(before + 4_200)).wait_for()


def test_an_adjustment_is_proposed_in_dollars_approved_and_another_withdrawn(staged, look):
    first, second = look("manager1", "/changes"), look("manager2", "/changes")
    before = staged.get("jackpots")[0]["meter_cents"]
    for amount, reason in (("1,234.56", "A promotion"), ("1", "A mistake")):
        form = first.locator("#adjustment-form")
        form.get_by_label("Amount, dollars").fill(amount)
        form.get_by_label("Reason").fill(reason)
        form.get_by_role("button", name="Propose").click()
        first.locator("article.proposed", has_text=reason).wait_for()
    second.locator("article.proposed", has_text="A promotion").get_by_role("button", name="Approve").click()
    do_it(second)
    mistake = second.locator("article.proposed", has_text="A mistake")
    mistake.get_by_role("button", name="Withdraw").click()
    do_it(second, Reason="Typed wrongly")
    mistake.wait_for(state="detached")
    assert staged.get("jackpots")[0]["meter_cents"] == before + 123_456
    second.locator("#adjusted").get_by_text("$1,234.56").wait_for()
    (withdrawn,) = staged.get("audit?type=proposal_withdrawn")["rows"]
    assert sentence(AuditEvent(**withdrawn)).endswith("withdrawn: Typed wrongly.")


def test_a_form_says_what_is_wrong_and_what_is_not_reached(look, forgiven):
    page = look("manager1", "/changes")
    form = page.locator("#adjustment-form")
    form.get_by_label("Amount, dollars").fill("a lot")
    form.get_by_label("Reason").fill("x")
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("A lot is not an amount: write 12.34.").wait_for()
    form.get_by_label("Amount, dollars").fill("99999999")
    form.get_by_label("From").select_option("Jackpot pool")
    form.locator("[name=target]").select_option("House")
    forgiven |= {"409", "ERR_INTERNET_DISCONNECTED"}
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("The account jackpot holds").wait_for()
    page.context.set_offline(True)
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("The controller is not reached.").wait_for()


def test_a_form_that_is_sent_again_because_nobody_knows_acts_once(staged, look, forgiven):
    forgiven.add("ERR_FAILED")
    page = look("manager2", "/changes")
    form = page.locator("#adjustment-form")
    form.get_by_label("Amount, dollars").fill("7")
    form.get_by_label("Reason").fill("Sent twice")

    def lose_the_answer(route):
        route.fetch()
        route.abort()

    page.route("**/api/v1/adjustments", lose_the_answer)
    form.get_by_role("button", name="Propose").click()
    form.get_by_text("Try again: it acts once.").wait_for()
    page.unroute("**/api/v1/adjustments")
    form.get_by_role("button", name="Propose").click()
    page.get_by_text("Done: an adjustment is proposed.").wait_for()
    waiting = staged.get("adjustments")["proposals"]
    assert [told["body"]["amount_cents"] for told in waiting if told["reason"] == "Sent twice"] == [700]


# Operators.


def test_an_operator_is_added_renewed_and_revoked(staged, look):
    page = look("manager1", "/operators")
    page.get_by_role("button", name="Add an auditor or a supervisor").click()
    page.get_by_role("dialog").get_by_label("Name").fill("sasha")
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token = page.get_by_role("dialog").get_by_label("Token", exact=True)
    token.wait_for()
    staged.tokens["sasha"] = token.input_value()
    assert staged.get("session", "sasha")["role"] == "supervisor"
    take_it_down(page)
    row = page.locator("tbody tr", has_text="sasha")
    row.get_by_role("button", name="Renew").click()
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token.wait_for()
    assert token.input_value() != staged.tokens["sasha"]
    take_it_down(page)
    row.get_by_role("button", name="Revoke").click()
    do_it(page, Reason="Left")
    row.get_by_text("Revoked").wait_for()


def test_a_manager_takes_two_managers(staged, look, forgiven):
    first = look("manager1", "/operators")
    first.get_by_role("button", name="Propose a manager").click()
    do_it(first, Name="mia")
    halves = [half_of(first)]
    first.locator("article.proposed", has_text="mia").get_by_text("another manager must approve it").wait_for()
    forgiven.add("403")
    assert answer_of(first, "/api/v1/operators/mia/approve", {}) == [403, "same_person"]
    second = look("manager2", "/operators")
    second.locator("article.proposed", has_text="mia").get_by_role("button", name="Approve").click()
    second.get_by_role("dialog").get_by_role("button", name="Do it").click()
    halves.append(half_of(second))
    staged.tokens["mia"] = ".".join(halves)
    assert staged.get("session", "mia")["role"] == "manager"


def take_it_down(page):
    """Close the dialog with a token; the page is loaded anew then, and nothing can be clicked before it is."""
    with page.expect_navigation():
        page.get_by_role("button", name="I have taken it down").click()


def half_of(page):
    """The half of a token that a manager is shown, taken down."""
    half = page.get_by_role("dialog").get_by_label("Half of a token")
    half.wait_for()
    told = half.input_value()
    take_it_down(page)
    return told


def test_everybody_renews_their_own_token_and_signs_in_again(staged, look):
    staged.add("ari", "auditor")
    page = look("ari", "/operators")
    page.get_by_role("button", name="Renew your token").click()
    page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token = page.get_by_role("dialog").get_by_label("Token", exact=True)
    token.wait_for()
    fresh = token.input_value()
    take_it_down(page)
    page.wait_for_url("**/sign-in?ended=1**")
    page.get_by_label("Token").fill(fresh)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{staged.address}/operators")


def told_that_it_ended(page):
    """While this is open, the page hears that its session has ended, and asks the controller where to go."""
    return page.expect_response(lambda response: "/sign-in?" in response.url, timeout=20_000)


@contextmanager
def held_back(page, path):
    """What is asked of a path is done at once, and its answer comes when this is left."""
    held = []
    page.route(f"**{path}", lambda route: held.append((route, route.fetch())))
    yield
    for route, answer in held:
        route.fulfill(response=answer)


def test_a_token_that_is_told_once_stays_although_its_session_has_ended(staged, look, forgiven):
    """The page hears that its session has ended before the token has come, and before anybody has taken it down."""
    forgiven.add("401")
    staged.add("ann", "auditor")
    page = look("ann", "/operators")
    page.get_by_role("button", name="Renew your token").click()
    with held_back(page, "/renew"), told_that_it_ended(page):
        page.get_by_role("dialog").get_by_role("button", name="Do it").click()
    token = page.get_by_role("dialog").get_by_label("Token", exact=True)
    with told_that_it_ended(page):
        assert len(token.input_value()) > 40
    assert len(token.input_value()) > 40
    take_it_down(page)
    page.wait_for_url("**/sign-in?ended=1**")


def test_whoever_signs_out_is_not_told_that_their_session_has_ended(staged, look, forgiven):
    """Although the page hears so before it hears that they are signed out."""
    forgiven.add("401")
    staged.add("una", "auditor")
    page = look("una", "/wins")
    with held_back(page, "/api/v1/session"), told_that_it_ended(page):
        page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")


def test_a_page_leaves_in_one_way_however_many_are_heard(staged, look):
    page = look("auditor", "/")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.is_navigation_request() else None)
    page.evaluate("""async () => {
        const { go, leave } = await import("/static/leave.js");
        go("/wins"); leave(); go("/devices"); go();
    }""")
    page.wait_for_url("**/wins")
    assert asked == [f"{staged.address}/wins"]


# Before a page's programs have come.


@contextmanager
def slow_programs(page, name):
    """Meanwhile a page's program is asked for, and does not come."""
    asked = []
    page.route(f"**/static/{name}", lambda route: asked.append(route.request))
    yield
    wait_until(lambda: page.wait_for_timeout(20) or asked, "somebody who asks for the program")
    page.unroute(f"**/static/{name}")  # which lets it come


def test_what_is_pressed_before_the_programs_have_come_is_not_pressed_in_vain(staged, look):
    page = look("manager1", "/")
    with slow_programs(page, "console.js"):
        page.goto(f"{staged.address}/operators", wait_until="commit")
        button = page.get_by_role("button", name="Add an auditor or a supervisor")
        with pytest.raises(TimeoutError, match="intercepts pointer events"):
            button.click(timeout=500)
    button.click()
    page.get_by_role("dialog").get_by_label("Name").wait_for()


def test_a_form_that_is_sent_before_its_program_has_come_keeps_what_it_says(staged, look):
    page = look("manager1", "/")
    with slow_programs(page, "console.js"):
        page.goto(f"{staged.address}/changes", wait_until="commit")
        table = page.locator("#table-form").get_by_label("Table")
        table.fill("t9")
        table.press("Enter")
    wait_for(page, "'ready' in document.body.dataset")
    assert page.url == f"{staged.address}/changes"
    assert table.input_value() == "t9"


def test_a_token_never_comes_into_an_address(staged, new_page):
    page = new_page(viewport=WIDE)
    with slow_programs(page, "sign_in.js"):
        page.goto(f"{staged.address}/sign-in", wait_until="commit")
        page.get_by_label("Token").fill(staged.tokens["auditor"])
        page.keyboard.press("Enter")
    wait_for(page, "'ready' in document.body.dataset")
    assert page.url == f"{staged.address}/sign-in"
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{staged.address}/")


# Behind the pages.


def test_what_a_page_asks_by_itself_does_not_keep_its_session_alive(staged, look):
    page = look("supervisor", "/wins")
    asked = []
    page.on("request", lambda request: asked.append(request) if request.url.endswith("/wins") else None)
    staged.dealer("t1").play({3: FLUSH})
    wait_until(lambda: page.wait_for_timeout(20) or asked, "a page that follows the floor")
    assert all(request.headers.get("x-unattended") == "1" for request in asked)


def test_every_event_has_a_sentence(staged):
    assert set(_SENTENCES) == {*EventType, *SiteEventType}
    told = {}
    for chain in ("main", "site"):
        for row in staged.get(f"audit?chain={chain}&limit=1000")["rows"]:
            told[row["type"]] = sentence(AuditEvent(**row))
    by_name = {kind: text for kind, text in told.items() if text == f"{event_name(kind)}."}
    assert by_name == {}, "an event that is told by its type alone"
    assert len(told) >= 20
    strange = AuditEvent(
        chain="main", seq=1, at="", actor="pad", type="wager_accepted", table_id=None, round=None, data="{}",
        transfers="[]", hash="",
    )  # fmt: skip
    assert sentence(strange) == "Wager accepted."


@pytest.mark.parametrize("width", [820, 1024, 1180, 1280, 1440])
def test_whoever_is_signed_in_stands_at_the_right_of_the_first_row_at_every_width(width, look):
    page = look("supervisor", "/", {"width": width, "height": 820})
    out = page.get_by_role("button", name="Sign out").bounding_box()
    brand = page.locator(".brand").bounding_box()
    assert out["x"] + out["width"] > width - 40
    assert out["y"] < brand["y"] + brand["height"]
