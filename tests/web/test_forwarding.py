"""Operators' acts and live pages on a controller that does not own the jackpot."""

import asyncio
import json
import re

import httpx
import pytest
from sqlalchemy import select

from jackpot.clock import now
from jackpot.core.site.commands import RevokeOperator
from jackpot.engine import controllers
from jackpot.engine.controllers import ControllerReport, report, withdraw
from jackpot.store import tables
from jackpot.store.signed_notes import Signer
from jackpot.web import forwarding, live_view, services
from jackpot.web.forwarding import HEADER, ForwardingClaim, ForwardingClaims, body_hash
from tests.support.two_controllers import LIMIT_SECONDS, MAX, SIGNER, TOKENS, open_with_wager, two_controllers


@pytest.fixture
def scene(postgres_url, monkeypatch):
    """Run a scene with an owner and a standby, with limits that a slow machine does not reach."""
    for module, name in (
        (forwarding, "FORWARD_SECONDS"),
        (forwarding, "ATTEMPT_SECONDS"),
        (forwarding, "VALID_SECONDS"),
        (controllers, "LIVE_SECONDS"),
        (services, "ACT_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 2.0 * LIMIT_SECONDS)

    def run(act):
        async def whole():
            async with asyncio.timeout(2 * LIMIT_SECONDS), two_controllers(postgres_url) as (owner, standby):
                await act(owner, standby)

        asyncio.run(whole())

    return run


async def events(controller, kind):
    def read():
        query = select(tables.events).where(tables.events.c.type == kind).order_by(tables.events.c.seq)
        with controller.database.reader() as connection:
            return connection.execute(query).all()

    return await asyncio.to_thread(read)


def signed(receiver, path, body=b"{}", *, signer=SIGNER, **changes):
    """Return the headers of a request that is forwarded to a controller."""
    claims = ForwardingClaims(signer, "host-b")
    claim = ForwardingClaim(
        receiver.name, "sue", "203.0.113.9", "POST", path, "k1", body_hash(body), claims.now_ms(), "id-1"
    )
    claim = claim._replace(**changes)
    return {HEADER: claims.sign(claim), "Idempotency-Key": "k1", "Content-Type": "application/json"}


def test_an_act_at_a_standby_is_carried_out_by_the_owner_in_the_operators_name(scene):
    async def act(owner, standby):
        await open_with_wager(owner)
        answer = await standby.act("rounds/t1/1/void", {"reason": "An exposed card"})
        assert (answer.status_code, answer.json()) == (200, {"returned_cents": 100}), answer.text
        (voided,) = await events(owner, "round_voided")
        assert voided.actor == "sue"
        assert json.loads(voided.data)["reason"] == "An exposed card"
        await standby.until(lambda: standby.services.state("main").tables["t1"].phase.value == "idle")

    scene(act)


def test_a_repeat_under_the_same_key_acts_once_whichever_controller_it_reaches(scene):
    async def act(owner, standby):
        body = {"source": "house", "target": "jackpot", "amount_cents": 5, "reason": "A gift"}
        answers = [
            await controller.act("adjustments", body, "max", **{"Idempotency-Key": "gift"})
            for controller in (standby, standby, owner)
        ]
        assert [answer.status_code for answer in answers] == [200] * 3
        assert answers[0].json() == answers[1].json() == answers[2].json()
        assert len(await events(owner, "adjustment_proposed")) == 1

    scene(act)


def test_an_attempt_whose_answer_is_lost_is_repeated_under_one_key_and_acts_once(scene, monkeypatch):
    sent = forwarding.send_request
    keys = []

    async def lossy(address, request, seconds):
        answer = await sent(address, request, seconds)
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            raise forwarding.HttpError("the connection was closed")
        return answer

    monkeypatch.setattr(forwarding, "send_request", lossy)

    async def act(owner, standby):
        await open_with_wager(owner)
        answer = await standby.act("rounds/t1/1/void", {"reason": "An exposed card"})
        assert (answer.status_code, answer.json()) == (200, {"returned_cents": 100}), answer.text
        assert len(await events(owner, "round_voided")) == 1

    scene(act)
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_refusals_and_problems_of_the_owner_are_passed_back(scene):
    async def act(owner, standby):
        for path, body, status, code in (
            ("rounds/t1/7/confirm", None, 409, "wrong_round"),
            ("tables/t9/resume", {}, 404, "unknown_table"),
            ("rounds/t1/1/void", {"reason": ""}, 422, "malformed"),
            ("adjustments", {"nonsense": 1}, 403, "forbidden"),
        ):
            mine, theirs = await standby.act(path, body), await owner.act(path, body)
            assert (mine.status_code, mine.json()["code"]) == (status, code), mine.text
            assert (mine.status_code, mine.json()) == (theirs.status_code, theirs.json())
            assert mine.headers["content-type"] == "application/problem+json"
            assert mine.headers["cache-control"] == "no-store"

    scene(act)


def test_a_table_is_linked_through_a_standby(scene):
    async def act(owner, standby):
        answer = await standby.act("tables", {"table": "t7", "jackpot": "main", "boxes": 5}, "max")
        assert (answer.status_code, answer.json()) == (200, {"table": "t7", "jackpot": "main"}), answer.text
        assert len(await events(owner, "table_added")) == 3
        await standby.until(lambda: "t7" in standby.services.state("main").tables)
        assert "card:t7" in standby.live.views["main"]._fragments["card"]

    scene(act)


def test_a_browser_acts_through_a_standby_with_its_session(scene):
    async def act(owner, standby):
        await open_with_wager(owner)
        async with httpx.AsyncClient(base_url=standby.address, timeout=LIMIT_SECONDS) as browser:
            own_page = {"Sec-Fetch-Site": "same-origin"}
            signed_in = await browser.post("/api/v1/session", json={"token": TOKENS["sue"]}, headers=own_page)
            own_page["X-CSRF-Token"] = signed_in.json()["csrf"]
            page = await browser.get("/devices")
            assert page.status_code == 200
            assert "This controller stands by" in page.text
            assert re.search(r'data-owned="main".*host-a.*host-b', page.text, re.DOTALL)
            voided = await browser.post("/api/v1/rounds/t1/1/void", json={"reason": "A card"}, headers=own_page)
            assert voided.status_code == 200, voided.text
            refused = await browser.post("/api/v1/rounds/t1/1/void", json={"reason": "A card"})
            assert refused.status_code == 403

    scene(act)


def test_without_an_owner_or_an_answer_the_act_is_refused_with_a_sentence(scene, monkeypatch):
    monkeypatch.setattr(forwarding, "FORWARD_SECONDS", 1.0)

    async def act(owner, standby):
        await owner.stop_serving()
        answer = await standby.act("tables/t1/resume")
        assert (answer.status_code, answer.json()["code"]) == (503, "owner_unreachable"), answer.text
        assert "host-a, which owns main, did not answer" in answer.json()["detail"]
        assert "retry-after" in answer.headers
        await asyncio.to_thread(withdraw, owner.database, "host-a")
        answer = await standby.act("tables/t1/resume")
        assert (answer.status_code, answer.json()["code"]) == (503, "no_owner"), answer.text

    scene(act)


def test_an_owner_that_does_not_answer_costs_no_more_than_the_limit(scene, monkeypatch):
    monkeypatch.setattr(forwarding, "FORWARD_SECONDS", 1.0)

    async def act(owner, standby):
        async def silent(reader, writer):
            await reader.read(-1)  # until the client ends the connection
            writer.close()
            await writer.wait_closed()
            ended.set()

        ended = asyncio.Event()

        hole = await asyncio.start_server(silent, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{hole.sockets[0].getsockname()[1]}"
        for task in owner.tasks:
            task.cancel()
        await asyncio.to_thread(
            report, owner.database, ControllerReport("host-a", address, True, "0.2.0", now(), {}, ())
        )
        began = asyncio.get_running_loop().time()
        answer = await standby.act("tables/t1/resume")
        assert (answer.status_code, answer.json()["code"]) == (503, "owner_unreachable"), answer.text
        assert asyncio.get_running_loop().time() - began < LIMIT_SECONDS / 2
        await ended.wait()
        hole.close()
        await hole.wait_closed()

    scene(act)


def test_an_act_at_an_ex_owner_reaches_the_new_owner(scene):
    async def act(owner, standby):
        await open_with_wager(owner)
        await standby.own()
        await owner.follow()
        answer = await owner.act("rounds/t1/1/void", {"reason": "A card"})
        assert (answer.status_code, answer.json()) == (200, {"returned_cents": 100}), answer.text
        assert len(await events(owner, "round_voided")) == 1

    scene(act)


def test_a_forwarded_request_is_never_forwarded_again(scene):
    async def act(owner, standby):
        target = "/api/v1/tables/t1/resume"
        answer = await standby.request("POST", target, None, {}, **signed(standby, target))
        assert (answer.status_code, answer.json()["code"]) == (503, "not_owner"), answer.text

    scene(act)


@pytest.mark.parametrize(
    "changes",
    [
        {"signer": Signer.new("casino")},
        {"to": "host-c"},
        {"method": "GET"},
        {"target": "/api/v1/tables/t2/resume"},
        {"key": "k2"},
        {"body_hash": body_hash(b"{} ")},
        {"at_ms": 0},
        {"operator": "nobody"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_claim_is_accepted_only_for_the_very_request_that_was_signed(scene, changes):
    async def act(owner, standby):
        target = "/api/v1/tables/t1/mode"
        headers = signed(owner, target, b'{"tournament":true}', **changes)
        body = {"tournament": True}
        answer = await owner.request("POST", target, None, body, **headers)
        assert answer.status_code == 401, answer.text
        assert await events(owner, "mode_set") == []

    scene(act)


def test_a_claim_is_accepted_once_with_the_role_that_the_owner_knows(scene):
    async def act(owner, standby):
        target = "/api/v1/rounds/t1/7/confirm"
        headers = signed(owner, target)
        first = await owner.request("POST", target, None, {}, **headers)
        assert (first.status_code, first.json()["code"]) == (409, "wrong_round"), first.text
        again = await owner.request("POST", target, None, {}, **headers)
        assert (again.status_code, again.json()["code"]) == (401, "forwarding_refused"), again.text
        as_auditor = signed(owner, target, operator="ada", id="id-2")
        assert (await owner.request("POST", target, None, {}, **as_auditor)).status_code == 403
        await asyncio.wrap_future(owner.site_writer.submit(RevokeOperator(now(), MAX, "sue", "left")))
        revoked = signed(owner, target, id="id-3")
        assert (await owner.request("POST", target, None, {}, **revoked)).status_code == 401

    scene(act)


def test_a_claim_that_cannot_be_read_is_refused(scene):
    async def act(owner, _standby):
        for header in ("", "nonsense", "bm9uc2Vuc2U=", "WzFd", "e30="):
            answer = await owner.request("POST", "/api/v1/tables/t1/resume", None, {}, **{HEADER: header})
            assert answer.status_code == 401, (header, answer.text)

    scene(act)


def test_old_claims_are_forgotten_and_new_ones_are_limited(monkeypatch):
    moment = [1_000.0]
    claims = ForwardingClaims(SIGNER, "host-a", lambda: moment[0])
    request = httpx.Request("POST", "http://host-a/api/v1/x", headers={"Idempotency-Key": "k"})
    request.scope = {"raw_path": b"/api/v1/x", "query_string": b""}

    def claim(number):
        return claims.sign(
            ForwardingClaim("host-a", "sue", "::1", "POST", "/api/v1/x", "k", "", claims.now_ms(), str(number))
        )

    monkeypatch.setattr(forwarding, "MAX_CLAIMS", 2)
    claims.open(claim(1), request)
    claims.open(claim(2), request)
    with pytest.raises(forwarding.Problem, match="too many"):
        claims.open(claim(3), request)
    moment[0] += 21
    claims.open(claim(4), request)
    assert list(claims._seen) == ["4"]


# Pages and feeds of a standby.


def test_live_pages_of_a_standby_show_what_the_owner_commits(scene):
    async def act(owner, standby):
        view = standby.live.views["main"]
        version, _ = view.changes_since(0, ("meter", "lamps"))
        await open_with_wager(owner)
        cents = owner.jackpots["main"].committed.jackpot.meter_cents
        shown = []

        def has_changed():
            _, changes = view.changes_since(version, ("meter", "lamps"))
            bodies = [json.loads(event.decode().split("data: ")[1])["body"] for event in changes]
            shown[:] = bodies
            return {"t1": [3], "t2": []} in bodies and any(body.get("amount_cents") == cents for body in bodies)

        await standby.until(has_changed)
        assert all(body.get("unavailable") is None for body in shown)
        meter = await standby.get("jackpots/main/meter")
        assert meter["amount_cents"] == cents
        page = await standby.request("GET", "/display/main", None)
        assert page.status_code == 200

    scene(act)


def test_a_view_goes_on_when_its_controller_takes_over_and_back(scene, monkeypatch):
    monkeypatch.setattr(live_view, "BETWEEN_RENDERS_SECONDS", 0.0)

    async def act(owner, standby):
        view = standby.live.views["main"]
        assert not view.owned
        await standby.own()
        assert view.owned
        assert (await standby.get("jackpots/main"))["epoch"] == 3
        await open_with_wager(standby)
        await standby.until(lambda: 3 in view.jackpot.tables["t1"].round.lit)
        assert view.changes_since(0, ("lamps",))[1]
        follower = await standby.follow()
        assert not view.owned
        assert view.position == follower.committed.position

    scene(act)


def test_prizes_that_a_view_has_missed_are_read_at_a_takeover(scene):
    async def act(owner, standby):
        standby.jackpots["main"].stop()  # it falls behind
        await open_with_wager(owner)
        for path, body in (
            ("rounds/t1/1/close", None),
            ("rounds/t1/1/declare", {"box": 3, "cards": ["Kh", "Jh", "4h", "3h", "2h"]}),
            ("rounds/t1/1/settle", None),
        ):
            answer = await owner.act(path, body)
            assert answer.status_code == 200, answer.text
        view = standby.live.views["main"]
        assert view.wins == []
        await standby.own()
        await standby.until(lambda: [win.hand for win in view.wins] == ["flush"])

    scene(act)


def test_both_are_ready_until_there_is_no_owner(scene):
    async def act(owner, standby):
        for controller in (owner, standby):
            answer = await controller.request("GET", "/readyz", None)
            assert answer.status_code == 200, answer.text
        await owner.stop_serving()
        await asyncio.to_thread(withdraw, owner.database, "host-a")
        await standby.until(lambda: not standby.jackpots["main"].has_owner)
        answer = await standby.request("GET", "/readyz", None)
        assert answer.status_code == 503
        assert answer.json()["parts"]["jackpot/main"]["says"] == "no controller owns it"
        meter = standby.live.views["main"]
        assert not meter.connected

    scene(act)


def test_each_controller_names_owner_epoch_standbys_and_lag(scene):
    async def act(owner, standby):
        async with asyncio.timeout(LIMIT_SECONDS):
            while not (found := await standby.get("controllers"))["jackpots"][0]["standbys"]:
                pass
        assert found["jackpots"][0] | {"renewed_seconds_ago": None} == {
            "jackpot": "main",
            "owner": "host-a",
            "epoch": 2,
            "seq": 3,
            "renewed_seconds_ago": None,
            "standbys": [{"controller": "host-b", "lag_events": 0}],
        }
        named = {one["name"]: one for one in found["controllers"]}
        assert (named["host-a"]["owns"], named["host-a"]["stands_by_for"]) == (["main"], [])
        assert (named["host-b"]["owns"], named["host-b"]["stands_by_for"]) == ([], ["main"])
        assert (named["host-a"]["answers_here"], named["host-b"]["answers_here"]) == (False, True)
        assert named["host-a"]["address"] == owner.address

    scene(act)
