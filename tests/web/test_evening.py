"""A whole floor in a real browser: a lamp lights, a royal flush is won, confirmed and displayed.

The daemon, the broker, the simulated devices and the browser are real processes; the shoe is rigged.
"""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.browser import wait_for
from tests.support.daemon import REPO, wait_until

NAMES = ("supervisor", "auditor")


@pytest.fixture
def evening(mosquitto_port, new_site):
    """A running site with operators of each role, and a function that starts its simulated floor."""
    site = new_site(mosquitto_port, tables=2)
    tokens = dict(zip(("manager1", "manager2"), site.tokens, strict=True))
    for name in NAMES:
        added = site.answer("operator", "add", name, "--role", name, "--token", tokens["manager1"])
        tokens[name] = added["token"]
    site.start()
    processes = []

    def start_floor(*options):
        command = [
            sys.executable,
            "-m",
            "hardware_sim",
            "--broker",
            f"mqtt://127.0.0.1:{mosquitto_port}",
            "--site",
            site.id,
            "--tables",
            "2",
        ]
        processes.append(subprocess.Popen([*command, *options], cwd=REPO, env=os.environ, stdout=subprocess.DEVNULL))
        return processes[-1]

    yield site, tokens, start_floor
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait()


def signed_in(page, site, token):
    """Sign a page in with a sign-in link."""
    page.goto(f"{address(site)}/sign-in#token={token}")
    page.wait_for_url(f"{address(site)}/")
    return page


def address(site):
    return f"http://127.0.0.1:{site.http}"


def ledger(site):
    return site.answer("pools")[0]


def test_a_royal_flush_is_won_confirmed_and_displayed(evening, new_page):
    site, tokens, start_floor = evening
    console = signed_in(new_page(viewport={"width": 1280, "height": 900}), site, tokens["supervisor"])
    display = new_page()
    display.goto(f"{address(site)}/display/main")
    console.get_by_text("Nothing is waiting for you.").wait_for()
    assert console.locator(".box.lit").count() == 0

    start_floor("--speed", "15", "--seed", "3", "--rig", "t1:3:royal_flush@2")
    console.locator(".box.lit").first.wait_for()

    pending = console.locator("article.win")
    pending.wait_for()
    assert "Royal flush at table t1" in pending.inner_text()
    drawn = pending.locator("tbody .card").all_inner_texts()
    assert {card[:-1] for card in drawn} == {"A", "K", "Q", "J", "10"}
    assert len({card[-1] for card in drawn}) == 1
    assert "NI2016-268 r 11.1(a)" in pending.inner_text()
    wait_for(display, "document.getElementById('pending').textContent.includes('Royal flush')")
    before = ledger(site)
    prize = before["payable_cents"]
    assert prize > 0

    pending.get_by_role("button", name="Confirm").press("Enter")
    console.get_by_role("button", name="Do it").press("Enter")
    pending.wait_for(state="detached")
    wait_until(lambda: ledger(site)["payable_cents"] == 0, "the payment")
    confirmed = [event for event in site.events() if event.type.value == "payouts_confirmed"]
    assert [event.actor for event in confirmed] == ["supervisor"]
    wait_for(display, "document.getElementById('pending').textContent === ''")
    (win,) = [win for win in site.answer("wins") if win["hand"] == "royal_flush"]
    assert (win["status"], win["amount_cents"]) == ("paid", prize)


def test_a_suspended_table_is_resumed_from_the_console(evening, new_page, new_client, mosquitto_port):
    site, tokens, _ = evening
    client = new_client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    client.command("t2", "c1", "report_malfunction", equipment="shoe", note="it jams")
    console = signed_in(new_page(viewport={"width": 820, "height": 1180}), site, tokens["supervisor"])
    stopped = console.locator("#stopped-t2")
    assert "The dealer reported a malfunction" in stopped.inner_text()
    stopped.get_by_role("button", name="Resume").click()
    console.get_by_label("Note").fill("another shoe")
    console.keyboard.press("Enter")
    stopped.wait_for(state="detached")
    resumed = [event for event in site.events() if event.type.value == "table_resumed"]
    assert [(event.actor, event.data["note"]) for event in resumed] == [("supervisor", "another shoe")]


def test_an_auditor_sees_everything_but_cannot_act(evening, new_page, new_client, mosquitto_port, expected_errors):
    site, tokens, _ = evening
    client = new_client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    client.command("t2", "c1", "report_malfunction", equipment="shoe", note="it jams")
    console = signed_in(new_page(), site, tokens["auditor"])
    stopped = console.locator("#stopped-t2")
    stopped.wait_for()
    assert not stopped.get_by_role("button", name="Resume").is_visible()
    expected_errors.add("403")
    answer = console.evaluate(
        """async () => {
            const { act } = await import("/static/acts.js");
            try { return await act("/api/v1/tables/t2/resume", null, "POST", undefined, {}); }
            catch (problem) { return [problem.status, problem.code]; }
        }"""
    )
    assert answer == [403, "forbidden"]
    assert site.answer("tables")[1]["suspended"] == "dealer_report"


def test_a_page_without_a_session_leads_to_sign_in_and_back(evening, new_page):
    site, tokens, _ = evening
    page = new_page()
    page.goto(f"{address(site)}/?jackpot=main")
    page.wait_for_url("**/sign-in?next=*")
    page.get_by_label("Token").fill(tokens["auditor"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address(site)}/?jackpot=main")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    page.goto(f"{address(site)}/")
    page.wait_for_url("**/sign-in")


def test_a_console_page_shows_that_the_controller_is_lost(evening, new_page, expected_errors):
    site, tokens, _ = evening
    page = signed_in(new_page(), site, tokens["auditor"])
    expected_errors |= {"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "401"}
    page.get_by_text("Nothing is waiting for you.").wait_for()
    site.stop()
    page.get_by_text("Connection to the controller lost.").wait_for()
